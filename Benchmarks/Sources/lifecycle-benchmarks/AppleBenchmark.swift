import AppleJWS
import Foundation
import NotificationSimulator
import Normalizer
import RawOpenSSL

/// One full App Store notification: outer JWS, transaction and renewal info, each with its chain of three.
struct AppleBenchmark {
    private static let start = Date(timeIntervalSince1970: 1_767_225_600)

    private let simulator: AppleSimulator
    private let delivery: Delivery

    init() throws {
        simulator = try AppleSimulator(seed: "benchmark")
        delivery = try Self.delivery(simulator)
    }

    private static func delivery(_ simulator: AppleSimulator) throws -> Delivery {
        let story = try simulator.deliveries(.demo, from: start)
        guard let largest = story.max(by: { $0.body.count < $1.body.count }) else {
            throw BenchmarkError("the story has no notifications")
        }
        return largest
    }

    private func adapter(roots: [[UInt8]], cacheCapacity: Int = 32) throws -> AppleAdapter {
        var configuration = AppleConfiguration(
            apps: [.init(bundleID: simulator.bundleId, appAppleID: simulator.appAppleId)],
            environments: [.production],
            trustAnchors: try AppleTrustAnchors(der: roots)
        )
        configuration.chainCacheCapacity = cacheCapacity
        return try AppleAdapter(configuration)
    }

    @Sendable
    private func process(_ adapter: AppleAdapter, _ delivery: Delivery) throws {
        let result = try adapter.normalize(try adapter.authenticate(delivery))
        guard result.events.count == 1 else { throw BenchmarkError("expected one event") }
    }

    func run() throws {
        report("Apple notification", "\(delivery.body.count) bytes")
        let adapter = try adapter(roots: [simulator.rootCertificate])
        let floor = try RawFloor(lengths: try signedLengths())

        let warm = try Measurement(iterations: 40) { try process(adapter, delivery) } against: { try floor.verify() }
        report("  three raw EVP_DigestVerify P-256, same lengths", microseconds(warm.second))
        report("  verified, decoded, normalised; warm chain", "\(microseconds(warm.first))  \(times(warm.ratio)) raw", "≤ 1.50×")

        let (coldAdapter, deliveries) = try coldChains()
        var next = 0
        let cold = try Measurement(rounds: 15, iterations: 6) {
            try process(coldAdapter, deliveries[next % deliveries.count])
            next += 1
        } against: {
            try floor.verify()
        }
        report("  the same; another chain each time", "\(microseconds(cold.first))  \(times(cold.ratio)) raw", "≤ 12×")

        try threads(adapter, floor)
    }

    /// More chains than the cache holds, each met in turn.
    private func coldChains() throws -> (AppleAdapter, [Delivery]) {
        let simulators = try (0..<8).map { try AppleSimulator(seed: "cold \($0)") }
        let adapter = try adapter(roots: simulators.map(\.rootCertificate), cacheCapacity: 1)
        return (adapter, try simulators.map(Self.delivery))
    }

    /// The lengths of what the three signatures are over.
    private func signedLengths() throws -> [Int] {
        func signedLength(_ jws: some Collection<UInt8>) -> Int {
            let signature = jws.reversed().firstIndex(of: UInt8(ascii: ".")).map { jws.reversed().distance(from: jws.reversed().startIndex, to: $0) }
            return jws.count - (signature ?? 0) - 1
        }
        let notification = try adapter(roots: [simulator.rootCertificate]).authenticate(delivery).value
        guard case .data(let data) = notification.content, let transaction = data.transaction,
            let renewalInfo = data.renewalInfo
        else { throw BenchmarkError("the notification carries too little") }
        let outer = delivery.body.dropFirst(#"{"signedPayload":""#.utf8.count).dropLast(2)
        // All three have one header; a payload of n bytes takes ⌈4n/3⌉ characters.
        let header = outer.prefix { $0 != UInt8(ascii: ".") }.count
        return [
            signedLength(outer), header + 1 + (transaction.payload.count * 4 + 2) / 3,
            header + 1 + (renewalInfo.payload.count * 4 + 2) / 3,
        ]
    }

    /// Two threads do twice the work of one in the same time, or nearly. What the machine itself gives, two threads of raw
    /// verification show in the same rounds.
    private func threads(_ adapter: AppleAdapter, _ floor: RawFloor) throws {
        let perThread = 200
        func seconds(threads: Int, _ work: @Sendable () throws -> Void) -> Double {
            ContinuousClock().measure {
                DispatchQueue.concurrentPerform(iterations: threads) { _ in
                    for _ in 0..<perThread { try? work() }
                }
            }.seconds
        }
        func gain(_ work: @Sendable () throws -> Void) -> Double {
            2 * seconds(threads: 1, work) / seconds(threads: 2, work)
        }
        let (delivery, process) = (delivery, process)
        var gains: [(ours: Double, raw: Double)] = []
        for _ in 0..<15 {
            gains.append((gain { try process(adapter, delivery) }, gain { try floor.verify() }))
        }
        report("  two threads of raw verification against one", times(gains.map(\.raw).median))
        report("  two threads against one", times(gains.map(\.ours).median), "≥ 1.85×")
    }

    /// What a process that verifies `count` notifications takes in memory, at its peak.
    func runMemory(count: Int) throws {
        let adapter = try adapter(roots: [simulator.rootCertificate])
        try process(adapter, delivery)
        let before = try peakMemory()
        for _ in 0..<count / 10 { try process(adapter, delivery) }
        let early = try peakMemory()
        for _ in 0..<count - count / 10 { try process(adapter, delivery) }
        let after = try peakMemory()
        report(
            "  peak memory after 1, \(count / 10), \(count) notifications",
            "\(before / 1024), \(early / 1024), \(after / 1024) MiB",
            "flat, < 40 MiB"
        )
    }

    private func peakMemory() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") }),
            let kibibytes = Int(line.filter(\.isNumber))
        else { throw BenchmarkError("the kernel does not tell peak memory") }
        return kibibytes
    }
}

struct BenchmarkError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// Raw signatures over messages of given lengths.
final class RawFloor: @unchecked Sendable {
    // Written once; verification only reads them.
    private let signatures: [OpaquePointer]

    init(lengths: [Int]) throws {
        signatures = try lengths.map {
            guard let signature = raw_signature_new($0) else { throw BenchmarkError("libcrypto made no signature") }
            return signature
        }
    }

    func verify() throws {
        for signature in signatures where raw_signature_verify(signature) != 1 {
            throw BenchmarkError("a raw signature does not hold")
        }
    }

    deinit {
        for signature in signatures { raw_signature_free(signature) }
    }
}
