#if CommandLineTool
import ArgumentParser
import Foundation
import Synchronization

/// Whole lines, so that output from several tasks cannot mix.
enum StandardOutput {
    /// - Throws: ``ArgumentParser/ExitCode/cannotWrite`` if the line cannot be written, as on a full disk.
    static func write(line: some Sequence<UInt8>) throws(ExitCode) {
        StandardError.clearProgress()
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

    /// Rows in columns; the first one holds the headings.
    static func write(table rows: [[String]]) throws(ExitCode) {
        let columns = Columns(fitting: rows)
        for row in rows { try write(columns.line(row)) }
    }
}

enum StandardError {
    static let isTerminal = isatty(STDERR_FILENO) == 1

    private static let isShowingProgress = Mutex(false)
    /// Back to the first column, and whatever stands in the line is gone (ECMA-48, EL).
    private static let clear = "\r\u{1B}[K"

    static func write(_ line: String) {
        clearProgress()
        put(line + "\n")
    }

    /// Puts a line in the place of the one before, until something else is written.
    static func showProgress(_ line: String) {
        isShowingProgress.withLock { isShowing in
            put(clear + line)
            isShowing = true
        }
    }

    static func clearProgress() {
        isShowingProgress.withLock { isShowing in
            if isShowing { put(clear) }
            isShowing = false
        }
    }

    private static func put(_ text: String) {
        // A failure has no other place to be reported.
        try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
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

/// The error of a file or a folder that cannot be read.
func unreadable(_ path: String) -> ValidationError {
    if path == "-" { return ValidationError("standard input cannot be read") }
    return ValidationError("\(path) cannot be read: \(obstacle(to: path))")
}

/// The reason why a file cannot be read.
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
/// - Throws: ``ArgumentParser/ExitCode/cannotWrite`` if it cannot be written.
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
