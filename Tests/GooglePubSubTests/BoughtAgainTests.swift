import Normalizer
import Testing
import VectorGenerator

@testable import GooglePubSub

@Suite("Credits of a plan that is bought again on Google Play")
struct BoughtAgainTests {
    typealias Vectors = GoogleVectors
    typealias Changes = ReplacementCreditTests

    /// A customer who cancels can sign up again for the same plan before the end, as often as an app lets them.
    /// https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.subscriptionsv2: `linkedPurchaseToken`
    @Test(
        "the same plan that is bought again without being charged gives no credits",
        arguments: ["WITH_TIME_PRORATION", "WITHOUT_PRORATION"]
    )
    func boughtAgain(mode: String) throws {
        var host = Changes.Host()
        var before = Vectors.purchase("ACTIVE").with {
            $0.start = Changes.start - 2000
            $0.items = [Changes.item("basic", order: 0, until: Changes.start + 30 * Changes.day)]
        }
        host.handle(try Play.map(4, before, at: Changes.start).events)
        for number in 1...3 {
            host.use(50)
            let time = Changes.start + Int64(number) * 5 * Changes.day
            var new = Vectors.purchase("ACTIVE").with {
                $0.start = time - 1000
                $0.items = [
                    Changes.item("basic", order: number, until: Changes.start + 30 * Changes.day).with {
                        $0.extra["itemReplacement"] =
                            #"{"productId":"basic","basePlanId":"monthly","replacementMode":"\#(mode)"}"#
                    }
                ]
            }
            let token = number == 1 ? Vectors.token : "token-\(number - 1)"
            new.linked = token
            let others = [Play.found(.subscription, for: token, before.json)]
            let bought = try Play.map(4, new, token: "token-\(number)", at: time, others: others).events
            #expect(bought.map(\.kind) == [.started])
            host.handle(bought)
            let replaced = Changes.replaced(before, at: time)
            host.handle(try Play.map(13, replaced, token: token, at: time, askedAt: time + 5000).events)
            before = new
        }
        #expect(host.left + host.bought == 50)
        // The next renewal is charged in full.
        before.items[0].order = "GPA.3312-4415-6677-88993..0"
        before.items[0].expiry = Changes.start + 60 * Changes.day
        before.items[0].extra["itemReplacement"] = nil
        host.handle(try Play.map(2, before, token: "token-3", at: Changes.start + 30 * Changes.day).events)
        #expect((host.left, host.bought) == (200, 0))
    }
}
