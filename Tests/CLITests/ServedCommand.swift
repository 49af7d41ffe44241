import Foundation
import Testing

/// The command line in the background, until it is stopped.
struct ServedCommand {
    private let process = Process()
    private let pipe = Pipe()

    init(_ arguments: [String]) throws {
        process.executableURL = try CommandLineRun.executable()
        process.arguments = arguments
        process.standardOutput = pipe
        process.standardInput = FileHandle.nullDevice
        try process.run()
    }

    /// Blocks until there is a line, or the process has ended.
    func firstLine() throws -> String {
        var read = Data()
        while !read.contains(0x0A) {
            let more = pipe.fileHandleForReading.availableData
            if more.isEmpty { break }
            read += more
        }
        return try #require(String(decoding: read, as: UTF8.self).split(separator: "\n").first.map(String.init))
    }

    func stop() {
        process.terminate()
        process.waitUntilExit()
    }
}
