public import LifecycleEvents

/// The answers that a provider accepts, and the times at which it tries again.
public struct RedeliverySchedule: Sendable, Hashable {
    /// The waits behind each failed attempt, in the provider's time. After the last the provider gives up.
    public let waits: [Duration]
    /// How long the provider waits for an answer.
    public let timeout: Duration
    private let accepted: Set<Int>

    /// True if an answer ends the deliveries.
    public func accepts(status: Int) -> Bool { accepted.contains(status) }

    /// A provider's schedule.
    public init(_ provider: Provider) {
        switch provider {
        case .apple:
            // https://developer.apple.com/documentation/appstoreservernotifications/responding-to-app-store-server-notifications
            waits = [1, 12, 24, 48, 72].map { .seconds($0 * 3600) }
            timeout = .seconds(30)
            accepted = Set(200...206)
        case .google:
            // https://cloud.google.com/pubsub/docs/handling-failures#exponential_backoff, with its default bounds, for the
            // default retention of seven days.
            var waits: [Duration] = [10, 20, 40, 80, 160, 320].map { .seconds($0) }
            waits += Array(repeating: .seconds(600), count: 1006)
            self.waits = waits
            timeout = .seconds(10)
            accepted = [102, 200, 201, 202, 204]
        case .revenuecat:
            // https://www.revenuecat.com/docs/integrations/webhooks: five more attempts, and 200 is the only success.
            waits = [5, 10, 20, 40, 80].map { .seconds($0 * 60) }
            timeout = .seconds(60)
            accepted = [200]
        case .stripe:
            // https://docs.stripe.com/webhooks#retries: up to three days with growing waits, which are not published.
            waits = [5, 30, 120, 300, 600, 720, 720, 720, 720].map { .seconds($0 * 60) }
            timeout = .seconds(30)
            accepted = Set(200...299)
        default:
            (waits, timeout, accepted) = ([], .seconds(30), Set(200...299))
        }
    }
}
