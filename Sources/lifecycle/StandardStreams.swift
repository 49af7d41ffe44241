#if CommandLineTool
import ArgumentParser
import Foundation

/// Whole lines, so that output from several tasks cannot mix.
enum StandardOutput {
    /// - Throws: ``ArgumentParser/ExitCode/cannotWrite`` where the line cannot be written, as on a full disk.
    static func write(line: some Sequence<UInt8>) throws(ExitCode) {
        do {
            try FileHandle.standardOutput.write(contentsOf: Data(line) + Data([0x0A]))
        } catch {
            StandardError.write("standard output cannot be written")
            throw .cannotWrite
        }
    }

    static func write(_ line: String) throws(ExitCode) {
        try write(line: line.utf8)
    }
}

enum StandardError {
    static func write(_ line: String) {
        // There is no other place to say that nobody reads this one.
        try? FileHandle.standardError.write(contentsOf: Data(line.utf8) + Data([0x0A]))
    }
}

/// Reads a file, or standard input for `-`.
func contents(of path: String) throws(ValidationError) -> [UInt8] {
    let file = path == "-" ? FileHandle.standardInput : FileHandle(forReadingAtPath: path)
    // Unlike `Data(contentsOf:)`, this reads pipes too, such as a shell's `<(…)`.
    guard let file, let bytes = try? file.readToEnd() ?? Data() else {
        throw ValidationError("\(path == "-" ? "standard input" : path) cannot be read")
    }
    return Array(bytes)
}

/// Writes a file, and makes its folder where that is missing.
///
/// - Throws: ``ArgumentParser/ExitCode/cannotWrite`` where it cannot be written.
func writeFile(_ bytes: some Sequence<UInt8>, to file: URL) throws(ExitCode) {
    do {
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(),
            withIntermediateDirectories: true
        )
        try Data(bytes).write(to: file)
    } catch {
        StandardError.write("\(file.path) cannot be written")
        throw .cannotWrite
    }
}
#endif
