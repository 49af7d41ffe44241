import Foundation

/// Another program that does the same work: it runs one round for every line that it reads, and answers with the
/// nanoseconds of processor time that one run of it took.
final class Peer {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var rest = Data()

    static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// Nil where the program is not there or cannot do the work.
    init?(_ program: String, _ arguments: [String]) {
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [program] + arguments
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return nil }
        // The first rounds run before a compiler has seen the code often enough.
        for _ in 0..<20 { guard (try? round()) != nil else { return nil } }
    }

    static func node(_ script: String, _ arguments: [String]) -> Peer? {
        Peer("node", [folder.appendingPathComponent("node/\(script)").path] + arguments)
    }

    static func python(_ script: String, _ arguments: [String]) -> Peer? {
        let interpreter = folder.appendingPathComponent(".venv/bin/python").path
        guard FileManager.default.isExecutableFile(atPath: interpreter) else { return nil }
        return Peer(interpreter, [folder.appendingPathComponent("python/\(script)").path] + arguments)
    }

    /// Seconds for one run.
    func round() throws -> Double {
        guard process.isRunning else { throw BenchmarkError("a peer has ended") }
        try input.fileHandleForWriting.write(contentsOf: Data("\n".utf8))
        while true {
            if let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: rest[rest.startIndex..<end], as: UTF8.self)
                rest = Data(rest[(end + 1)...])
                guard let nanoseconds = Double(line) else { throw BenchmarkError("a peer answers no number") }
                return nanoseconds * 1e-9
            }
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else { throw BenchmarkError("a peer has ended") }
            rest.append(data)
        }
    }

    deinit {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }
}

/// Files that a peer reads.
enum Scratch {
    private static let folder = FileManager.default.temporaryDirectory
        .appendingPathComponent("lifecycle-benchmarks-\(ProcessInfo.processInfo.processIdentifier)")

    static func file(_ name: String, _ octets: [UInt8]) throws -> String {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let url = folder.appendingPathComponent(name)
        try Data(octets).write(to: url)
        return url.path
    }

    static func remove() { try? FileManager.default.removeItem(at: folder) }
}
