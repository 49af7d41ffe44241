import Foundation
import Normalizer
import VectorGenerator

// Writes TestVectors/ again from fixed seeds. `Scripts/vectors` runs it.
guard CommandLine.arguments.count == 2 else {
    FileHandle.standardError.write(Data("usage: generate-vectors FOLDER\n".utf8))
    exit(64)
}
let folder = URL(fileURLWithPath: CommandLine.arguments[1])
do {
    for provider in Provider.adapted {
        for (path, lines) in try await VectorFiles.all(of: provider) {
            let file = folder.appendingPathComponent(path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: file)
            print("\(path): \(lines.count) lines")
        }
    }
} catch {
    FileHandle.standardError.write(Data("\(error)\n".utf8))
    exit(1)
}
