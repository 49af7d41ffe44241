import Foundation
import LifecycleJournal
import NormalizerTesting
import Synchronization
import Testing

extension ErasureTests {
    @Test(
        "A purchase that moves while its owner is erased stays with the other, at whichever read it moves",
        .enabled(if: PostgresServer.isInstalled, "\(PostgresServer.absence)"),
        arguments: [Way.transfer, .purchase, .handover, .naming]
    )
    func moving(way: Way) async throws {
        let results = results(way)
        var number = 1
        while true {
            let storages = try await TestedStorage.postgres.open(in: folder)
            let other = Journal(storages[1], now: { Self.start })
            try await other.apply(results[0])
            let left = Mutex(number)
            let isTooLate = Mutex(false)
            let interrupted = RebuildTests.Interrupted(storage: storages[0]) {
                let isNow = left.withLock { left in
                    left -= 1
                    return left == 0
                }
                guard isNow else { return }
                if try await other.state(of: Self.lineage) == nil { return isTooLate.withLock { $0 = true } }
                for result in results.dropFirst() { try await other.apply(result) }
            }
            try await Journal(interrupted, now: { Self.start }).erase(ada)
            if left.withLock({ $0 > 0 }) || isTooLate.withLock({ $0 }) { break }
            #expect(try await hasAccess(ben, on: 10, other), "at read \(number)")
            #expect(try await other.rebuild().differing == [], "at read \(number)")
            try await expectNoName(storages[0])
            number += 1
        }
        #expect(number > 10)
    }
}
