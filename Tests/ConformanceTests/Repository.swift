import Foundation

/// Files of the repository that tests look at.
enum Repository {
    static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    /// The paths of all files below `folder` that end in `suffix`, sorted.
    static func files(_ folder: String, suffix: String) throws -> [String] {
        let base = root.appendingPathComponent(folder)
        return try FileManager.default.subpathsOfDirectory(atPath: base.path).sorted()
            .filter { $0.hasSuffix(suffix) }.map { "\(folder)/\($0)" }
    }
}
