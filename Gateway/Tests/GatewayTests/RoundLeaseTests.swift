import Foundation
@testable import Gateway
import LifecycleJournal
import Logging
import Normalizer
import NormalizerTesting
import Synchronization
import Testing

/// A time of day that tests move.
final class TimeOfDay: Sendable {
    private let time = Mutex(Bench.now)
    var now: Date { time.withLock { $0 } }
    func advance(by seconds: TimeInterval) { time.withLock { $0 += seconds } }
}

@Suite("Rounds", .timeLimit(.minutes(5))) struct RoundLeaseTests {
    private struct Trouble: Error {}

    private let time = TimeOfDay()
    private let storage = MemoryJournal()
    private let interval: Duration = .seconds(600)

    private func lease() -> RoundLease {
        RoundLease("test", in: Journal(storage, now: { time.now }), now: { time.now })
    }

    @Test("are done by one process at a time, and once in an interval")
    func once() async throws {
        let (first, second) = (lease(), lease())
        let outcome = try await first.run(every: interval) { last in
            #expect(last.finished == nil)
            let other = try await second.run(every: interval, atOnce: true) { _ in false }
            #expect(other == .busy)
            return false
        }
        #expect(outcome == .done(leftWork: false))
        time.advance(by: 599)
        #expect(try await first.run(every: interval) { _ in false } == .early)
        #expect(try await second.run(every: interval) { _ in false } == .early)
        // A process that starts does a round, and learns when the last one was.
        let began = Bench.now
        #expect(try await second.run(every: interval, atOnce: true) { $0.finished != began } == .done(leftWork: false))
        time.advance(by: 600)
        #expect(try await first.run(every: interval) { _ in false } == .done(leftWork: false))
    }

    @Test("follow at once where one left work or failed")
    func again() async throws {
        let lease = lease()
        #expect(try await lease.run(every: interval) { _ in true } == .done(leftWork: true))
        #expect(try await lease.run(every: interval) { $0.leftWork } == .done(leftWork: true))
        await #expect(throws: Trouble.self) { try await lease.run(every: interval) { _ in throw Trouble() } }
        #expect(try await lease.run(every: interval) { _ in false } == .done(leftWork: false))
        #expect(try await lease.run(every: interval) { _ in false } == .early)
    }

    @Test("are taken over from a process that was killed, and from a clock that was ahead")
    func killed() async throws {
        let journal = Journal(storage, now: { time.now })
        func mark(until: TimeInterval) async throws {
            let stored = try await journal.checkpoint(of: "gateway/test")
            let end = try CanonicalJSON.bytes(EventTime(wrappedValue: time.now.addingTimeInterval(until)))
            let text = #"{"holder":"killed","leftWork":false,"until":\#(String(decoding: end, as: UTF8.self))}"#
            #expect(try await journal.setCheckpoint(text, of: "gateway/test", after: stored))
        }
        try await mark(until: 100)
        #expect(try await lease().run(every: interval) { _ in false } == .busy)
        time.advance(by: 100)
        #expect(try await lease().run(every: interval) { _ in false } == .done(leftWork: false))
        try await mark(until: 86_400)
        #expect(try await lease().run(every: interval) { _ in false } == .done(leftWork: false))
    }

    @Test("end where the process is asked to stop, and another process goes on")
    func stop() async throws {
        let (first, second) = (lease(), lease())
        let began = AsyncStream.makeStream(of: Void.self)
        let running = Task {
            try await first.run(every: interval) { _ in
                began.continuation.yield()
                try await Task.sleep(for: .seconds(3600))
                return false
            }
        }
        for await _ in began.stream { break }
        running.cancel()
        _ = await running.result
        #expect(try await second.run(every: interval) { _ in false } == .done(leftWork: false))
    }
}
