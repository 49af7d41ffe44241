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
    let file = try opened(path)
    // Unlike `Data(contentsOf:)`, this reads pipes too, such as a shell's `<(…)`.
    guard let bytes = try? file.readToEnd() ?? Data() else { throw unreadable(path) }
    return Array(bytes)
}

/// A file, or standard input for `-`.
func opened(_ path: String) throws(ValidationError) -> FileHandle {
    if path == "-" { return FileHandle.standardInput }
    guard let file = FileHandle(forReadingAtPath: path) else { throw unreadable(path) }
    return file
}

/// The next piece of a file; nil at its end.
func chunk(of file: FileHandle, at path: String) throws(ValidationError) -> [UInt8]? {
    do {
        guard let data = try file.read(upToCount: 1 << 16), !data.isEmpty else { return nil }
        return Array(data)
    } catch {
        throw unreadable(path)
    }
}

private func unreadable(_ path: String) -> ValidationError {
    if path == "-" { return ValidationError("standard input cannot be read") }
    return ValidationError("\(path) cannot be read: \(obstacle(to: path))")
}

/// What stands in the way of reading a file.
private func obstacle(to path: String) -> String {
    let manager = FileManager.default
    guard manager.fileExists(atPath: path) else { return "there is no such file" }
    // A link is followed, as when the file is opened.
    let isFolder = URL(fileURLWithPath: path).resolvingSymlinksInPath().hasDirectoryPath
    if isFolder { return "it is a folder" }
    return manager.isReadableFile(atPath: path) ? "reading failed" : "permission denied"
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
