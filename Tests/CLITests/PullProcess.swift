import Foundation
import Testing

/// `lifecycle pull` as a process of its own.
final class PullProcess: Sendable {
    let folder: URL
    private let process = Process()

    /// - Parameters:
    ///   - output: where standard output goes, unless to a file in the folder.
    ///   - written: what that file ends with already; it is then appended to, as a shell's `>>` does.
    init(_ arguments: [String], in folder: URL, output: String? = nil, behind written: String? = nil) throws {
        self.folder = folder
        process.executableURL = try CommandLineRun.executable()
        process.arguments = ["pull"] + arguments
        try Data().write(to: folder.appendingPathComponent("errors"))
        try Data((written ?? "").utf8).write(to: folder.appendingPathComponent("output"))
        process.standardInput = FileHandle.nullDevice
        let handle = FileHandle(forWritingAtPath: output ?? folder.appendingPathComponent("output").path)
        let destination: FileHandle = try #require(handle)
        if written != nil { _ = fcntl(destination.fileDescriptor, F_SETFL, O_WRONLY | O_APPEND) }
        process.standardOutput = destination
        process.standardError = try FileHandle(forWritingTo: folder.appendingPathComponent("errors"))
        try process.run()
    }

    var isRunning: Bool { process.isRunning }

    func end(_ signal: Int32) { kill(process.processIdentifier, signal) }

    func status() -> Int32 {
        process.waitUntilExit()
        return process.terminationStatus
    }

    var errors: String { (try? text("errors")) ?? "" }

    func text(_ name: String) throws -> String {
        String(decoding: try Data(contentsOf: folder.appendingPathComponent(name)), as: UTF8.self)
    }
}
