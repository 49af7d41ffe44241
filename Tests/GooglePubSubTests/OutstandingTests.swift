import Testing

@testable import GooglePubSub

@Suite("The messages that a pull worker has in hand")
struct OutstandingTests {
    static let deadline = Duration.seconds(10)
    static let backoff = Backoff(first: .seconds(10), longest: .seconds(60))

    func admit(
        _ outstanding: inout Outstanding,
        _ key: String,
        id: String? = nil,
        attempt: Int? = nil,
        now: Duration = .zero
    ) -> Outstanding.Admission {
        outstanding.admit(key, id ?? key, attempt: attempt, bytes: 5, now: now, deadline: Self.deadline)
    }

    /// Admits and finishes, and says whether it was new.
    func pass(_ outstanding: inout Outstanding, _ key: String, acknowledge: Bool = true) -> Bool {
        guard admit(&outstanding, key) == .new else { return false }
        outstanding.finish(key, acknowledge: acknowledge)
        return true
    }

    @Test func returnsOfOneDelayAreTakenTogetherAndNoMoreThanAllowed() throws {
        var outstanding = Outstanding(remembering: 10, Self.backoff)
        for (key, attempt) in [("a", 1), ("b", 2), ("c", 1), ("d", 1), ("e", 2)] {
            #expect(admit(&outstanding, key, attempt: attempt) == .new)
            outstanding.finish(key, acknowledge: false)
        }
        var taken: [[String]: Duration] = [:]
        while let (ids, delay) = outstanding.takeReturns(2) { taken[ids] = delay }
        #expect(taken == [["a", "c"]: .seconds(10), ["d"]: .seconds(10), ["b", "e"]: .seconds(20)])
        #expect(!outstanding.hasNews)
    }

    @Test func acknowledgementsAreKeptForAsLongAsTheyMeanAnything() {
        var outstanding = Outstanding(remembering: 10, Self.backoff)
        for (key, now) in [("a", Duration.zero), ("b", .seconds(1)), ("c", .seconds(2))] {
            #expect(admit(&outstanding, key, now: now) == .new)
            outstanding.finish(key, acknowledge: true)
        }
        let first = outstanding.takeAcknowledgements(2)
        #expect(first.map(\.id) == ["a", "b"])
        #expect(outstanding.putBack(first, now: .seconds(10)) == 1)
        #expect(outstanding.takeAcknowledgements(10).map(\.id) == ["c", "b"])
        #expect(!outstanding.hasNews)
    }

    @Test func messagesAreHeldWhenTheirDeadlineIsNearAndUntilTheyTakeTooLong() {
        var outstanding = Outstanding(remembering: 10, Self.backoff)
        _ = admit(&outstanding, "a")
        func due(_ now: Duration) -> [String] {
            outstanding.due(within: .seconds(4), now: now, longest: .seconds(100)).map(\.id)
        }
        #expect(due(.milliseconds(5999)).isEmpty)
        #expect(due(.seconds(6)) == ["a"])
        outstanding.extended(["a", "gone"], until: .seconds(60))
        #expect(outstanding.count == 1)
        #expect(due(.seconds(55)).isEmpty)
        #expect(due(.seconds(56)) == ["a"])
        // A repeated message counts from then on, and keeps its age.
        #expect(admit(&outstanding, "a", id: "again", now: .seconds(56)) == .repeated)
        #expect(due(.milliseconds(61_999)).isEmpty)
        #expect(due(.seconds(100)) == ["again"])
        #expect(due(.milliseconds(100_001)).isEmpty)
        outstanding.finish("a", acknowledge: true)
        #expect(outstanding.takeAcknowledgements(10).map(\.id) == ["again"])
        #expect(outstanding.bytes == 0)
    }

    @Test func onlyTheLastAreRemembered() {
        var outstanding = Outstanding(remembering: 2, Self.backoff)
        #expect(
            ["a", "b", "c", "b", "c", "a", "c", "b"].map { pass(&outstanding, $0) } == [
                true, true, true, false, false, true, false, true,
            ]
        )
        var forgetful = Outstanding(remembering: 0, Self.backoff)
        #expect(["a", "a"].map { pass(&forgetful, $0) } == [true, true])
    }

    @Test func delaysGrowForAsManyAsAreRemembered() {
        var outstanding = Outstanding(remembering: 2, Self.backoff)
        func delay(_ key: String) -> Duration? {
            #expect(pass(&outstanding, key, acknowledge: false))
            return outstanding.takeReturns(1)?.delay
        }
        #expect(
            ["a", "a", "a", "a", "b", "a", "c", "a", "b"].map { delay($0) } == [
                .seconds(10), .seconds(20), .seconds(40), .seconds(60), .seconds(10), .seconds(60), .seconds(10),
                .seconds(10), .seconds(10),
            ]
        )
    }

    @Test(arguments: [(1, 10), (2, 20), (3, 40), (4, 60), (Int.max, 60)])
    func delays(attempt: Int, seconds: Int) {
        #expect(Self.backoff.delay(afterAttempt: attempt) == .seconds(seconds))
    }
}
