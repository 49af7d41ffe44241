import FoundationEssentials
import Normalizer
import NormalizerTesting
import NotificationSimulator
import Testing
import VectorGenerator
import WireJSON

/// Statements that the store gives no name to: identities differ, and the state knows the second for what it is.
struct Statement: CustomTestStringConvertible {
    var name: String
    var before: [Step]
    var hint: Hint
    var webhook: RevenueCatSimulator.Event
    var kind: LifecycleEvent.Kind

    var testDescription: String { name }
}

extension Statement {
    private static let first = Holding()
    private static let bought = PlayStory.renewals.steps[0]
    private static let canceled = Step(
        name: "cancellation",
        hints: [first.hint(3, at: Day.of(5), first.resource("CANCELED", expiry: first.end))],
        webhooks: [first.webhook("CANCELLATION", at: Day.of(5), ["cancel_reason": "UNSUBSCRIBE"])]
    )

    static let all: [Statement] = [
        Statement(
            name: "the customer ends renewal",
            before: [bought],
            hint: canceled.hints[0],
            webhook: canceled.webhooks[0],
            kind: .autoRenewDisabled
        ),
        Statement(
            name: "and comes back before the end",
            before: [bought, canceled],
            hint: first.hint(7, at: Day.of(8), first.resource("ACTIVE")),
            webhook: first.webhook("UNCANCELLATION", at: Day.of(8)),
            kind: .autoRenewEnabled
        ),
        Statement(
            name: "a charge fails, with a grace period",
            before: [bought],
            hint: first.hint(6, at: Day.of(30), first.resource("IN_GRACE_PERIOD", expiry: Day.of(33))),
            webhook: first.webhook(
                "BILLING_ISSUE",
                at: Day.of(30),
                end: Day.of(33),
                ["grace_period_expiration_at_ms": .integer(Day.of(33))]
            ),
            kind: .billingIssue
        ),
        Statement(
            name: "a change of product is put off to the end of the period",
            before: [bought],
            hint: deferredChange,
            webhook: first.webhook("PRODUCT_CHANGE", at: Day.of(12), ["new_product_id": "basic:monthly"]),
            kind: .productChangeScheduled
        ),
    ]

    /// The change comes with a token of its own, which goes on with the order of the one before.
    private static var deferredChange: Hint {
        let new = first.with {
            $0.token = GoogleVectors.olderToken
            $0.bought = Day.of(12)
            $0.linked = first.token
        }
        var purchase = new.resource("ACTIVE", item: ["deferredItemReplacement": #"{"productId":"basic"}"#])
        purchase.items.append(
            purchase.items[0].with {
                $0.product = "basic"
                $0.expiry = nil
                $0.order = nil
                $0.extra = [:]
            }
        )
        let old = first.resource("EXPIRED", extra: ["canceledStateContext": GoogleVectors.canceled("replacement")])
        return new.hint(4, at: Day.of(12), purchase, and: ["tokens/\(first.token)": old.json])
    }
}

@Suite("Names that differ between two channels")
struct PlayStatementTests {
    @Test("the second statement of what is so already is a duplicate", arguments: Statement.all, [true, false])
    func duplicates(statement: Statement, isGoogleFirst: Bool) async throws {
        var ledger = AccountLedger()
        for step in statement.before {
            for hint in step.hints {
                for event in try await PlayChannels.pulled(hint).events { _ = ledger.apply(event) }
            }
            for webhook in step.webhooks {
                for event in try PlayChannels.relayed(webhook).events { _ = ledger.apply(event) }
            }
        }
        let google = try #require(
            try await PlayChannels.pulled(statement.hint).events.first { $0.kind == statement.kind }
        )
        let relayed = try #require(
            try PlayChannels.relayed(statement.webhook).events.first { $0.kind == statement.kind }
        )
        #expect(google.id != relayed.id)
        let (first, second) = isGoogleFirst ? (google, relayed) : (relayed, google)
        #expect(ledger.apply(first).disposition == .applied)
        #expect(ledger.apply(second).disposition == .duplicate)
        #expect(ledger.states.count == 1)
    }

    @Test("a scheduled change has the same names, place and date from both")
    func scheduledChange() async throws {
        let statement = try #require(Statement.all.last)
        func change(_ events: [NormalizedEvent]) -> LifecycleEvent.ProductChange? {
            for case .productChangeScheduled(let change) in events.map(\.event) { return change }
            return nil
        }
        let google = try #require(change(try await PlayChannels.pulled(statement.hint).events))
        let relayed = try #require(change(try PlayChannels.relayed(statement.webhook).events))
        #expect(google.from == relayed.from)
        #expect(google.to == relayed.to)
        #expect(google.timing == relayed.timing)
    }
}

@Suite("One Play order of a product bought once, two channels")
struct PlayProductIdentityTests {
    private static let order = GoogleVectors.productOrder

    private static func webhook(
        _ type: String,
        at time: Int64,
        _ changes: KeyValuePairs<String, JSONText?> = [:]
    ) -> RevenueCatSimulator.Event {
        RevenueCatSimulator.Event(
            type,
            id: type,
            at: time,
            .init(GoogleVectors.event - 2 * GoogleVectors.second, to: 0, order),
            changing: [
                "store": "PLAY_STORE", "product_id": "coins_100", "original_transaction_id": .string(order),
                "expiration_at_ms": .null, "entitlement_ids": .null, "price_in_purchased_currency": .raw("1.99"),
                "currency": "EUR",
            ]
        ).with(changes)
    }

    private static func step(_ isRefund: Bool) -> Step {
        if isRefund {
            return Step(
                name: "refund",
                hints: [
                    Hint(
                        notification: GoogleVectors.voidedHint(2, 1, order: order),
                        resources: ["tokens/\(GoogleVectors.token)": GoogleVectors.Product(state: "CANCELLED").json],
                        at: GoogleVectors.event
                    )
                ],
                webhooks: [
                    webhook(
                        "CANCELLATION",
                        at: GoogleVectors.event + 5000,
                        ["cancel_reason": "CUSTOMER_SUPPORT", "price_in_purchased_currency": .raw("-1.99")]
                    )
                ]
            )
        }
        return Step(
            name: "purchase",
            hints: [
                Hint(
                    notification: GoogleVectors.oneTimeHint(1),
                    resources: ["tokens/\(GoogleVectors.token)": GoogleVectors.Product().json],
                    at: GoogleVectors.event
                )
            ],
            webhooks: [webhook("NON_RENEWING_PURCHASE", at: GoogleVectors.event)]
        )
    }

    @Test("purchase and refund have one identity, and the credits are granted once")
    func identities() async throws {
        let channels = try await PlayChannels(PlayStory(name: "product", steps: [Self.step(false), Self.step(true)]))
        for events in channels.steps {
            #expect(events.google.filter(\.isShared).map(\.id) == events.relayed.filter(\.isShared).map(\.id))
            #expect(events.google.contains { $0.isShared })
        }
        let policy = CreditPolicy(["coins_100": .init(credits: 100)])
        for (count, balance) in [(1, 100), (2, 0)] as [(Int, Int64)] {
            for order in permutations(of: channels.steps.prefix(count).flatMap { $0.google + $0.relayed }) {
                let states = AccountLedger(applying: order).states
                let time = Date(millisecondsSince1970: GoogleVectors.event + GoogleVectors.day)
                #expect(CreditStatement(of: states, under: policy, uses: [], at: time).balance == balance)
            }
        }
    }
}
