import Foundation
import Synchronization

let concurrency = 64

/// Gives out numbers in order.
private final class Counter: Sendable {
    private let value = Atomic(0)
    func next() -> Int { value.wrappingAdd(1, ordering: .relaxed).oldValue }
}

/// Asks for so many purchases, 64 at a time.
func load(_ client: some RefetchClient, requests: Int) async throws {
    let counter = Counter()
    try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<concurrency {
            group.addTask {
                while true {
                    let number = counter.next()
                    guard number < requests else { return }
                    guard try await client.refetch(number) > 500 else { throw Failure(description: "a short answer") }
                }
            }
        }
        try await group.waitForAll()
    }
}

/// One round: requests a second, and microseconds of processor time a request, of this process alone.
struct Round {
    let throughput: Double
    let processorTime: Double

    static func of(_ client: some RefetchClient, requests: Int) async throws -> Round {
        let before = ProcessUsage.now
        let elapsed = try await ContinuousClock().measure { try await load(client, requests: requests) }
        let seconds = Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) * 1e-18
        return Round(
            throughput: Double(requests) / seconds,
            processorTime: (ProcessUsage.now.processorTime - before.processorTime) / Double(requests) * 1e6
        )
    }
}

extension [Double] {
    var median: Double {
        let sorted = sorted()
        guard !sorted.isEmpty else { return .nan }
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }
}

/// Both clients in turn, so that both meet the same machine.
func compare(_ target: Target, requests: Int, rounds: Int) async throws {
    let (curl, other) = (try Curl(target), try AsyncHTTP(target))
    try await load(curl, requests: requests / 2)
    try await load(other, requests: requests / 2)
    var pairs: [(curl: Round, other: Round)] = []
    for round in 0..<rounds {
        if round.isMultiple(of: 2) {
            let first = try await Round.of(curl, requests: requests)
            pairs.append((first, try await Round.of(other, requests: requests)))
        } else {
            let first = try await Round.of(other, requests: requests)
            pairs.append((try await Round.of(curl, requests: requests), first))
        }
    }
    try await curl.shutdown()
    try await other.shutdown()

    func row(_ name: String, throughput: Double, time: Double) {
        let columns = [
            name.padding(toLength: 20, withPad: " ", startingAt: 0), String(format: "%10.0f", throughput),
            String(format: "%14.1f", time),
        ]
        print(columns.joined(separator: " "))
    }
    print("client               requests/s  CPU µs/request")
    row(Curl.name, throughput: pairs.map(\.curl.throughput).median, time: pairs.map(\.curl.processorTime).median)
    row(AsyncHTTP.name, throughput: pairs.map(\.other.throughput).median, time: pairs.map(\.other.processorTime).median)
    print(
        String(
            format: "ratio, median of %d rounds of %d: throughput %.2f, CPU %.2f",
            rounds,
            requests,
            pairs.map { $0.curl.throughput / $0.other.throughput }.median,
            pairs.map { $0.curl.processorTime / $0.other.processorTime }.median
        )
    )
}

/// Fails if descriptors or memory grow with the number of requests.
func growth(_ target: Target, requests: Int) async throws {
    let client = try Curl(target)
    // Connections, caches and threads are kept for later, and are all there after a while.
    try await load(client, requests: max(requests / 5, 5000))
    let before = ProcessUsage.now
    try await load(client, requests: requests)
    let after = ProcessUsage.now
    try await client.shutdown()
    let grown = after.resident - before.resident
    print(
        "\(requests) requests: descriptors \(before.descriptors) → \(after.descriptors), "
            + "memory \(before.resident >> 10) → \(after.resident >> 10) KiB"
    )
    guard after.descriptors <= before.descriptors + 4 else { throw Failure(description: "descriptors are left open") }
    // Less than 42 bytes for each of 100 000 requests; the allocator's own ups and downs are smaller.
    guard grown <= 4 << 20 else { throw Failure(description: "memory grows: \(grown) bytes") }
}
