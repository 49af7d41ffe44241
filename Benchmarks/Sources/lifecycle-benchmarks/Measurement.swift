import AllocationCount
import Foundation

/// Measured work: so many runs, one after the other.
struct Work {
    let run: (_ times: Int) async throws -> Void

    init(_ once: @escaping () throws -> Void) {
        run = { times in for _ in 0..<times { try once() } }
    }

    /// Work that may wait costs an allocation and a few runtime calls for each run, even if it never waits.
    init(waiting once: @escaping () async throws -> Void) {
        run = { times in for _ in 0..<times { try await once() } }
    }
}

/// Times pieces of work in turn, A B C A B C …, so that all meet the same machine.
///
/// It takes the processor time of this process, so that the rest of the machine matters little.
struct Measurement {
    /// Seconds for one run of each piece, by piece and round.
    private(set) var seconds: [[Double]]

    /// - Parameter peer: nanoseconds for one run by another program, a round at a time, in turn with the others.
    init(rounds: Int = 31, iterations: Int, _ works: [Work], peer: Peer? = nil) async throws {
        seconds = Array(repeating: [], count: works.count + (peer == nil ? 0 : 1))
        for work in works { try await work.run(iterations) }
        for _ in 0..<rounds {
            for (index, work) in works.enumerated() {
                let start = Self.processorTime
                try await work.run(iterations)
                seconds[index].append((Self.processorTime - start) / Double(iterations))
            }
            if let peer { seconds[works.count].append(try peer.round()) }
        }
    }

    func median(_ index: Int) -> Double { seconds[index].median }

    /// The median of the rounds' own ratios, which a machine that slows down for a while does not move.
    func ratio(_ index: Int, to other: Int) -> Double {
        zip(seconds[index], seconds[other]).map { $0 / $1 }.median
    }

    private static var processorTime: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }

    /// How many blocks of memory one run asks for.
    static func allocations(_ work: Work) async throws -> UInt {
        try await work.run(3)
        let before = allocation_count()
        try await work.run(10)
        return (allocation_count() - before) / 10
    }
}

extension Duration {
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}

extension [Double] {
    var median: Double {
        let sorted = sorted()
        guard !sorted.isEmpty else { return .nan }
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }
}

struct BenchmarkError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
