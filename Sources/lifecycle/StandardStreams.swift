#if CommandLineTool
import ArgumentParser
import Foundation

/// Whole lines, so that output from several tasks cannot mix.
enum StandardOutput {
    static func write(line: some Sequence<UInt8>) {
        FileHandle.standardOutput.write(Data(line) + Data([0x0A]))
    }

    static func write(_ line: String) {
        write(line: line.utf8)
    }
}

enum StandardError {
    static func write(_ line: String) {
        FileHandle.standardError.write(Data(line.utf8) + Data([0x0A]))
    }
}

/// Reads a file, or standard input for `-`.
func contents(of path: String) throws(ValidationError) -> [UInt8] {
    if path == "-" { return Array(FileHandle.standardInput.readDataToEndOfFile()) }
    do {
        return Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    } catch {
        throw ValidationError("\(path) cannot be read")
    }
}
#endif
