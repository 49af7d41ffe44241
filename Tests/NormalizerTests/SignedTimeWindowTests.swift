import Testing

@testable import Normalizer

@Suite("The window that a signed time must lie in")
struct SignedTimeWindowTests {
    private static let now: Int64 = 1_800_000_000_000

    private static func refusal(_ seconds: Int64, maximumAge: Int64?, maximumSkew: Int64?) -> String? {
        let window = SignedTimeWindow(maximumAge: maximumAge, maximumSkew: maximumSkew)
        do throws(DeliveryError) {
            try window.check(seconds: seconds, receivedAt: now, named: "the time")
            return nil
        } catch {
            return error.description
        }
    }

    @Test(
        "is inclusive at both ends, and says how far away a time is and how far it may be",
        arguments: [
            (0, nil), (300, nil), (-300, nil),
            (
                -27_973_786,
                "stale: the time lies 323 d 18 h before the time of receipt, at most 5 min is allowed: "
                    + "an old delivery was sent again, or this host's clock is wrong"
            ),
            (
                301,
                "stale: the time lies 5 min 1 s after the time of receipt, at most 5 min is allowed: is this host's clock right?"
            ),
            (.max / 2, "stale: the time lies beyond the year 9999"),
        ] as [(Int64, String?)]
    )
    func bounds(distance: Int64, refusal: String?) {
        #expect(Self.refusal(Self.now / 1000 + distance, maximumAge: 300_000, maximumSkew: 300_000) == refusal)
    }

    @Test(
        "without a bound lets every time pass, except one that no calendar has",
        arguments: [0, 1, 9_000_000_000_000_000]
    )
    func unbounded(seconds: Int64) {
        #expect(Self.refusal(seconds, maximumAge: nil, maximumSkew: nil) == nil)
        #expect(Self.refusal(.max, maximumAge: nil, maximumSkew: nil) != nil)
    }

    @Test(
        "names a length of time by its two largest units",
        arguments: [
            (0, "0 s"), (1, "1 ms"), (1500, "1 s 500 ms"), (60_000, "1 min"), (3_661_000, "1 h 1 min"),
            (86_400_001, "1 d"), (.max, "106751991167 d 7 h"), (-1, "0 s"),
        ] as [(Int64, String)]
    )
    func words(milliseconds: Int64, text: String) {
        #expect(DurationText.of(milliseconds) == text)
    }
}
