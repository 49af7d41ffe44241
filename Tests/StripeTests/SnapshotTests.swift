import FoundationEssentials
import NormalizerTesting
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

/// A subscription in an event is the whole of it: what it does not have any more is over, also where the event that said so
/// was lost.
@Suite("Members that a snapshot of a Stripe subscription leaves out")
struct SnapshotTests {
    static let versions: [StripeSimulator.Version] = [.v2020, .acacia, .endive]

    /// Something that a subscription has for a time.
    struct Member: CustomTestStringConvertible, Sendable {
        let name: String
        let set: @Sendable (inout StripeSubscription) -> Void
        let clear: @Sendable (inout StripeSubscription) -> Void

        var testDescription: String { name }
    }

    static let members: [Member] = [
        Member(
            name: "cancel_at",
            set: { ($0.cancelAtPeriodEnd, $0.cancelAt, $0.canceledAt) = (true, $0.end, created + 2 * day) },
            clear: { ($0.cancelAtPeriodEnd, $0.cancelAt, $0.canceledAt) = (false, nil, nil) }
        ),
        Member(
            name: "pause_collection",
            set: { $0.collectionPause = ["behavior": "void", "resumes_at": nil] },
            clear: { $0.collectionPause = nil }
        ),
        Member(
            name: "pending_update",
            set: {
                $0.pendingUpdate = [
                    "expires_at": .integer(created + 9 * day),
                    "subscription_items": [
                        [
                            "id": "si_1", "object": "subscription_item", "price": StripePrice.pro.price(),
                            "quantity": 1,
                        ]
                    ],
                ]
            },
            clear: { $0.pendingUpdate = nil }
        ),
        Member(
            name: "an item",
            set: { $0.items.append(.init("si_2", .seats)) },
            clear: { $0.items.removeLast() }
        ),
        Member(name: "another price", set: { $0.items[0].price = .pro }, clear: { $0.items[0].price = .basic }),
        Member(
            name: "a later end",
            set: {
                ($0.status, $0.end, $0.trialStart, $0.trialEnd) = (
                    "trialing", $0.end + 9 * day, created + 2 * day, $0.end + 9 * day
                )
            },
            clear: { ($0.status, $0.end, $0.trialStart, $0.trialEnd) = ("active", created + 30 * day, nil, nil) }
        ),
        Member(name: "past_due", set: { $0.status = "past_due" }, clear: { $0.status = "active" }),
        Member(name: "unpaid", set: { $0.status = "unpaid" }, clear: { $0.status = "active" }),
        Member(
            name: "paused",
            set: {
                $0.status = "paused"
                $0.statusDetails = [
                    "paused": [
                        "transitioned_at": .integer(created + 2 * day), "type": "subscription",
                        "subscription": ["type": "pause_requested"],
                    ]
                ]
            },
            clear: { ($0.status, $0.statusDetails) = ("active", nil) }
        ),
    ]

    @Test("is over, be it that the event that said so is lost", arguments: members, versions)
    func leftOut(member: Member, version: StripeSimulator.Version) throws {
        let adapter = try policed { $0.collectionPause = .pauses }
        let first = RareFlowTests.active(.basic)
        var with = first
        member.set(&with)
        var without = with
        member.clear(&without)
        var later = without
        later.metadata = ["note": "edited"]
        let began = RareFlowTests.began(first, version)
        let set = RareFlowTests.updated(with, from: first, at: created + 2 * day, version)
        // The event in between is lost.
        let edited = RareFlowTests.updated(later, from: without, at: created + 4 * day, version)
        let plain = try ItemTests.state([began], adapter)
        for order in permutations(of: [began, set, edited]) {
            let state = try ItemTests.state(order, adapter)
            for time in [created + 5 * day, created + 29 * day, created + 31 * day] {
                let (one, other) = (state.snapshot(at: date(time)), plain.snapshot(at: date(time)))
                #expect(one.status == other.status)
                #expect(one.product == other.product)
                #expect(one.period == other.period)
                #expect(one.willRenew == other.willRenew)
                #expect(one.pendingProduct == other.pendingProduct)
                #expect(one.access.isGranted == other.access.isGranted)
                guard case .granted(_, let left) = one.access, case .granted(_, let right) = other.access else {
                    continue
                }
                #expect(left.product == right.product)
                #expect(left.otherProducts == right.otherProducts)
            }
        }
    }
}
