import CurlTransport
import Foundation
package import HTTPTransport
import LoopbackServer

/// Google's own Pub/Sub emulator, for as long as one test runs.
package final class Emulator: Sendable {
    package enum Failure: Error {
        case notInstalled
        /// It ended first. With its output.
        case notStarted(String)
        case refused(status: Int, String)
    }

    private static let directory = "/usr/lib/google-cloud-sdk/platform/pubsub-emulator/lib"
    private static let java = "/usr/bin/java"

    private static var archive: String? {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return files.first { $0.hasSuffix("-all.jar") }.map { "\(directory)/\($0)" }
    }

    package static var isInstalled: Bool { archive != nil && FileManager.default.isExecutableFile(atPath: java) }

    /// Why a test is skipped where it is not installed.
    package static let absence = "Google's Pub/Sub emulator, or Java for it, is not installed"

    /// The full name of the one subscription.
    package static let subscription = "projects/project-one/subscriptions/play-events"

    package let port: Int
    private let curl: CurlHTTPTransport

    /// Reaches the emulator.
    package var transport: any HTTPTransportProtocol { curl }

    private init(port: Int) throws {
        self.port = port
        curl = try CurlHTTPTransport()
    }

    package static func run(_ body: (Emulator) async throws -> Void) async throws {
        guard let archive else { throw Failure.notInstalled }
        // The emulator takes no port of its own choice.
        let placeholder = try LoopbackServer(nil) { $0.close() }
        let port = placeholder.port
        placeholder.stop()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: java)
        process.arguments = ["-jar", archive, "--host=127.0.0.1", "--port=\(port)"]
        let output = Pipe()
        process.standardOutput = FileHandle.nullDevice
        process.standardError = output
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        output.fileHandleForReading.readabilityHandler = { handle in
            let data = handle.availableData
            if data.isEmpty { continuation.finish() } else { continuation.yield(String(decoding: data, as: UTF8.self)) }
        }
        try process.run()
        defer {
            output.fileHandleForReading.readabilityHandler = nil
            process.terminate()
            process.waitUntilExit()
        }
        var text = ""
        for await part in lines {
            text += part
            if text.contains("Server started") { break }
        }
        guard text.contains("Server started") else { throw Failure.notStarted(text) }
        let emulator = try Emulator(port: port)
        try await body(emulator)
        await emulator.curl.shutdown()
    }

    private func request(
        _ method: HTTPTransportRequest.Method,
        _ path: [HTTPSURL.PathSegment],
        body: String
    ) async throws {
        let url = try HTTPSURL.emulator(host: "127.0.0.1", port: port, path: ["v1", "projects", "project-one"] + path)
        let request = try HTTPTransportRequest(
            method,
            url,
            headers: ["Content-Type": "application/json"],
            body: Array(body.utf8),
            timeout: .seconds(60)
        )
        let response = try await curl.send(request)
        guard response.isSuccess else {
            throw Failure.refused(status: response.status, String(decoding: response.body, as: UTF8.self))
        }
    }

    package func createTopic() async throws {
        try await request(.put, ["topics", "play"], body: "{}")
    }

    /// - Parameter members: more members of the subscription in JSON, each after a comma.
    package func createSubscription(_ members: String = "") async throws {
        try await request(
            .put,
            ["subscriptions", "play-events"],
            body: #"{"topic":"projects/project-one/topics/play","ackDeadlineSeconds":10\#(members)}"#
        )
    }

    /// Publishes a message for each text.
    package func publish(_ texts: some Sequence<String>) async throws {
        let messages = texts.map { #"{"data":"\#(Data($0.utf8).base64EncodedString())"}"# }
        try await request(
            .post,
            ["topics", .init("play", verb: "publish")],
            body: "{\"messages\":[\(messages.joined(separator: ","))]}"
        )
    }
}
