import AppleJWS
import Foundation
import NotificationSimulator
import Normalizer

// certificates-benchmark [ROUNDS]
let rounds = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 15
let simulator = try AppleSimulator(seed: "benchmark")
let story = try simulator.deliveries(.demo, from: Date(timeIntervalSince1970: 1_767_225_600))
guard let delivery = story.max(by: { $0.body.count < $1.body.count }) else { throw Failure("no notification") }
let body = Data(delivery.body)

let adapter = try AppleAdapter(
    AppleAdapter.Configuration(
        apps: [.init(bundleID: simulator.bundleId, appAppleID: simulator.appAppleId)],
        environments: [.production],
        trustAnchors: try AppleTrustAnchors(der: [simulator.rootCertificate])
    )
)
let plain = try SwiftStack(root: simulator.rootCertificate, remembersChains: false)
let remembering = try SwiftStack(root: simulator.rootCertificate, remembersChains: true)

let works: [(name: String, iterations: Int, work: () async throws -> Void)] = [
    ("ours, verified, decoded and normalised", 30, { _ = try adapter.normalize(adapter.authenticate(delivery)) }),
    ("the same certificates again, remembered", 10, { try await remembering.verify(body) }),
    ("every chain validated", 5, { try await plain.verify(body) }),
]

/// Of this process, so that what else the machine does counts little.
func processorTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
}

func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    return sorted.isEmpty ? .nan : sorted[sorted.count / 2]
}

var seconds: [[Double]] = works.map { _ in [] }
for round in 0...rounds {
    for (index, work) in works.enumerated() {
        let start = processorTime()
        for _ in 0..<work.iterations { try await work.work() }
        // The first round fills caches.
        if round > 0 { seconds[index].append((processorTime() - start) / Double(work.iterations)) }
    }
}

print("Apple, notification with transaction and renewal info, \(body.count) bytes;")
print("peer: swift-certificates, swift-crypto and JWTKit, put together as in Apple's library for Swift")
for (index, work) in works.enumerated() {
    let ratios = zip(seconds[index], seconds[0]).map { $0 / $1 }
    let time = String(format: "%8.0f µs   × ours %6.2f", median(seconds[index]) * 1e6, median(ratios))
    print("  " + work.name.padding(toLength: 44, withPad: " ", startingAt: 0) + time + (index == 1 ? "   (≥ 15)" : ""))
}
