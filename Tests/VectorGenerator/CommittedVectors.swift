package import ConformanceVectors
import Foundation
package import Normalizer

/// The files of `TestVectors/` as they are in the repository.
package enum CommittedVectors {
    private static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("TestVectors")

    /// The text of a file, by its path under `TestVectors/`.
    package static func text(_ path: String) throws -> String {
        String(decoding: try Data(contentsOf: folder.appendingPathComponent(path)), as: UTF8.self)
    }

    /// The cases of a file, by its path under `TestVectors/`.
    package static func vectors(_ path: String) throws -> [Vector] {
        try VectorReader.vectors(in: Array(try text(path).utf8))
    }

    /// The paths of a provider's files.
    package static func paths(of provider: Provider) throws -> [String] {
        let folder = folder.appendingPathComponent(provider.rawValue)
        return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
            .filter { $0.hasSuffix(".jsonl") }.map { "\(provider.rawValue)/\($0)" }
    }
}
