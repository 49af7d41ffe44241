import Foundation

/// A program that ran to its end. No thread waits for it, so that other tests go on.
struct CommandRun {
    let status: Int32
    let output: String

    /// - Parameter limit: in seconds; a program that takes longer is killed, and its status is not 0.
    init(_ program: String, _ arguments: [String] = [], limit: Int = 30) async throws {
        let folder = TemporaryFolder()
        let file = URL(fileURLWithPath: folder.path("output"))
        try Data().write(to: file)
        let handle = try FileHandle(forWritingTo: file)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["timeout", "--kill-after=1", "\(limit)", program] + arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = handle
        process.standardError = handle
        status = try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do { try process.run() } catch { continuation.resume(throwing: error) }
        }
        try handle.close()
        output = String(decoding: try Data(contentsOf: file), as: UTF8.self)
    }
}

/// A folder that goes with its owner.
final class TemporaryFolder: Sendable {
    let url: URL

    init() {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("lifecycle-journal-\(UUID())")
        try? FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func path(_ name: String) -> String { url.appendingPathComponent(name).path }
}
