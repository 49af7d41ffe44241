import AppleJWS
import FoundationEssentials
import NotificationSimulator
import Normalizer
import SimulatedTrust

/// A simulated App Store with a receiver that trusts it.
struct AppleFixture {
    static let start = Date(timeIntervalSince1970: 1_767_225_600)

    /// The first thirty days of a subscription, under the name that its transaction has on some device.
    static func month(_ name: String = "100") -> AppleSimulator.Transaction {
        var transaction = AppleSimulator.Transaction(
            transactionId: name,
            originalTransactionId: "100",
            productId: "pro",
            purchaseDate: start,
            type: "Auto-Renewable Subscription"
        )
        transaction.originalPurchaseDate = start
        transaction.expiresDate = start.addingTimeInterval(30 * 86_400)
        return transaction
    }

    /// The notifications of a whole life, unsigned.
    static var life: [AppleSimulator.Notification] {
        get throws { try AppleSimulator(seed: "tests").unsignedNotifications(.life, from: start) }
    }

    let simulator: AppleSimulator
    let adapter: AppleAdapter

    init(
        seed: String = "tests",
        environment: AppleSimulator.Environment = .production,
        _ change: (inout AppleAdapter.Configuration) throws -> Void = { _ in }
    ) throws {
        simulator = try AppleSimulator(seed: seed, environment: environment)
        adapter = try Self.adapter(trusting: simulator, change)
    }

    static func adapter(
        trusting simulator: AppleSimulator,
        _ change: (inout AppleAdapter.Configuration) throws -> Void = { _ in }
    ) throws -> AppleAdapter {
        var configuration = try AppleAdapter.Configuration(trusting: simulator)
        try change(&configuration)
        return try AppleAdapter(configuration)
    }

    func events(_ story: CustomerStory) throws -> [NormalizedEvent] {
        try simulator.deliveries(story, from: Self.start).flatMap { try adapter.events($0) }
    }
}

extension AppleAdapter {
    func events(_ delivery: Delivery) throws(DeliveryError) -> [NormalizedEvent] {
        try normalize(try authenticate(delivery)).events
    }
}
