import FoundationEssentials
import NotificationSimulator
import Normalizer
import Stripe
import WireJSON

let secret = SecretBytes("whsec_test_0123456789")

func adapter(_ change: (inout StripeAdapter.Configuration) -> Void = { _ in }) throws -> StripeAdapter {
    var configuration = StripeAdapter.Configuration(signingSecrets: [secret])
    change(&configuration)
    return try StripeAdapter(configuration)
}

func policed(_ change: (inout StripeAdapter.Policy) -> Void) throws -> StripeAdapter {
    try adapter { change(&$0.policy) }
}

func simulator(_ version: StripeSimulator.Version = .endive, account: String? = nil) -> StripeSimulator {
    StripeSimulator(signingSecret: secret, version: version, account: account)
}

/// 2026-03-01T12:00:00Z
let created: Int64 = 1_772_366_400
let day: Int64 = 86_400

func date(_ seconds: Int64) -> Date { Date(timeIntervalSince1970: Double(seconds)) }

extension StripeAdapter {
    /// Takes a body that was signed just now through the steps that need no network.
    func take(_ body: [UInt8], at seconds: Int64 = created, _ simulator: StripeSimulator = simulator()) throws
        -> Normalization
    {
        try normalize(try authenticate(try simulator.delivery(body, receivedAt: date(seconds + 2))))
    }
}

extension StripeSimulator {
    /// A thin event, which names its object by type, id and path.
    func thin(
        _ type: String,
        of object: (String, String, String) = ("subscription", "sub_1", "/v1/subscriptions/sub_1"),
        id: String = "evt_thin"
    ) -> [UInt8] {
        thinEvent(type, id: id, created: "2026-03-01T12:00:00Z", related: object).bytes
    }
}

extension StripeInvoice {
    /// The notification of what became of it, signed at that time.
    func reported(
        _ type: String = "paid",
        at time: Int64,
        in version: StripeSimulator.Version = .endive
    ) -> RareFlowTests.Taken {
        let object = JSONText.object(object(version))
        return PaymentJoinTests.event("invoice.\(type)", object, at: time, id: "evt_\(id)_\(type)", in: version)
    }
}

extension CustomerStory {
    /// Trial, conversion, renewal, a failed and recovered renewal, an upgrade, a scheduled downgrade, cancellation, end.
    private static let subscriptionLife = CustomerStory(
        "subscription-life",
        "A subscription from its trial to its end.",
        steps: [
            Step(.after(.zero), .subscribe(.basicMonthly, offer: .freeWeek)),
            Step(.atPeriodEnd, .renew),
            Step(.atPeriodEnd, .renew),
            Step(.atPeriodEnd, .failCharge(grace: nil)),
            Step(.after(.seconds(3 * day)), .recover),
            Step(.after(.seconds(12 * day)), .upgrade(.proMonthly)),
            Step(.after(.seconds(5 * day)), .downgrade(.basicMonthly)),
            Step(.atPeriodEnd, .renew),
            Step(.after(.seconds(10 * day)), .cancel),
            Step(.atPeriodEnd, .expire(.customer)),
        ]
    )

    /// Its notifications. They have the same ids and times in every API version, so that only shapes differ; those that only newer
    /// versions send are left out.
    static func subscriptionLife(_ simulator: StripeSimulator) throws -> [SimulatedNotification] {
        // 2026-01-05T10:00:00Z
        try simulator.notifications(subscriptionLife, from: date(1_767_607_200)).filter {
            $0.type != "invoice_payment.paid"
        }
    }
}

extension SimulatedNotification {
    /// Seconds since 1970.
    var created: Int64 { Int64(occurredAt.timeIntervalSince1970) }
}

extension Normalization {
    var kinds: [String] { events.map(\.kind.rawValue) }

    /// Whatever the store asserted, with or without an event.
    var statements: [StoreStatement] {
        events.compactMap(\.statement) + [noChange?.statement].compactMap(\.self)
    }
}
