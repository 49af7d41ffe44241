import Foundation
import NotificationSimulator
import Normalizer
import RawOpenSSL
import Stripe

/// One `customer.subscription.updated`, verified, decoded and normalised.
struct StripeBenchmark {
    private static let secret = "whsec_benchmark_0123456789abcdef"
    private static let file = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Fixtures/customer.subscription.updated.json")

    func run() throws {
        let body = Array(try Data(contentsOf: Self.file))
        let secret = Secret(Self.secret)
        let simulator = StripeSimulator(signingSecret: secret)
        let delivery = try simulator.delivery(body, receivedAt: Date(timeIntervalSince1970: 1_772_300_001))
        let adapter = try StripeAdapter(.init(signingSecrets: [secret]))
        report("Stripe customer.subscription.updated", "\(body.count) bytes")
        let measured = try Measurement(rounds: 61, iterations: 200) {
            let result = try adapter.normalize(try adapter.authenticate(delivery))
            guard !result.events.isEmpty else { throw BenchmarkError("expected an event") }
        } against: {
            guard raw_hmac(body, body.count) == 1 else { throw BenchmarkError("no MAC") }
        }
        report("  raw HMAC-SHA-256 of the body", microseconds(measured.second))
        report("  verified, decoded, normalised", "\(microseconds(measured.first))  \(times(measured.ratio)) raw")
        guard let node = try nodeSeconds() else {
            report("  Node's createHmac + timingSafeEqual + JSON.parse", "Node is not installed")
            return
        }
        report("  Node's createHmac + timingSafeEqual + JSON.parse", microseconds(node))
        report("  as fast as Node, times", times(node / measured.first), "≥ 1.50×")
    }

    /// Nil where there is no Node.
    private func nodeSeconds() throws -> Double? {
        let script = Self.file.deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("node/stripe.js")
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["node", script.path, Self.file.path, Self.secret, "400", "200"]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return Double(text.trimmingCharacters(in: .whitespacesAndNewlines)).map { $0 * 1e-9 }
    }
}
