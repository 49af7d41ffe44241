import Foundation
import Testing

/// The command line as a process of its own: what it prints, and how it exits.
struct CommandLineRun {
    let status: Int32
    let output: String
    let errors: String

    init(_ arguments: [String], input: Data = Data()) throws {
        try self.init(try Self.executable(), arguments, input: input)
    }

    /// Runs a script, in which `"$0"` is the command line.
    init(shell script: String, input: Data = Data()) throws {
        try self.init(URL(fileURLWithPath: "/bin/sh"), ["-c", script, try Self.executable().path], input: input)
    }

    private init(_ executable: URL, _ arguments: [String], input: Data) throws {
        let process = Process()
        process.executableURL = executable
        process.arguments = arguments
        // Files rather than pipes: a full pipe without a reader would stop the process.
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("run-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let files = ["input", "output", "errors"].map(folder.appendingPathComponent)
        for (file, content) in zip(files, [input, Data(), Data()]) { try content.write(to: file) }
        process.standardInput = try FileHandle(forReadingFrom: files[0])
        process.standardOutput = try FileHandle(forWritingTo: files[1])
        process.standardError = try FileHandle(forWritingTo: files[2])
        try process.run()
        process.waitUntilExit()
        status = process.terminationStatus
        output = String(decoding: try Data(contentsOf: files[1]), as: UTF8.self)
        errors = String(decoding: try Data(contentsOf: files[2]), as: UTF8.self)
    }

    /// Stands beside the test bundle.
    static func executable() throws -> URL {
        let candidates = CommandLine.arguments.map { URL(fileURLWithPath: $0).deletingLastPathComponent() }
        let found = candidates.map { $0.appendingPathComponent("lifecycle") }
            .first { FileManager.default.isExecutableFile(atPath: $0.path) }
        return try #require(found, "the executable is built with --traits CommandLineTool")
    }
}
