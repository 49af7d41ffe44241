public import FoundationEssentials
public import LifecycleEvents
import SignatureCore
import WireJSON

/// The events that Stripe has created for an account, for a backfill (<https://docs.stripe.com/api/events/list>).
///
/// They are rendered in the API version of the account at the time, which may be another than that of your webhook endpoint.
public struct StripeEventHistory: DeliveryHistory {
    private let adapter: StripeAdapter
    let client: LookupClient
    private let account: String?

    init(_ adapter: StripeAdapter, _ client: LookupClient, account: String?) {
        self.adapter = adapter
        self.client = client
        self.account = account
    }

    /// `stripe/<account>`, or `stripe` for the account of the key.
    public var name: String { account.map { "stripe/\($0)" } ?? "stripe" }

    /// Stripe.
    public var provider: Provider { .stripe }

    /// 30 days, less an hour.
    public var reach: Duration { .seconds(30 * 86_400 - 3600) }

    /// Reads a page of a hundred, newest first. It passes over events that are about no subscription or payment.
    public func page(
        of window: Range<Date>,
        at position: String?
    ) async throws(DeliveryError) -> DeliveryHistoryPage {
        let seconds = { (date: Date) in date.millisecondsSince1970 / 1000 }
        var query = [
            ("created[gte]", "\(seconds(window.lowerBound))"), ("created[lte]", "\(seconds(window.upperBound))"),
            ("limit", "100"),
        ]
        if let position { query.append(("starting_after", position)) }
        let answer = try await client.list(["v1", "events"], query, of: account)
        var page = DeliveryHistoryPage([])
        var last: String?
        do throws(JSONError) {
            let reader = try ObjectReader(answer.document.root)
            for value in try reader.array("data") {
                last = try ObjectReader(value).string("id")
                if let outcome = await outcome(of: Array(value.rawBytes), at: answer.answeredAt) {
                    page.entries.append(.init(nil, outcome))
                }
            }
            if try reader.optionalBool("has_more") == true { page.next = last }
        } catch {
            throw DeliveryError(.unavailable, "the list of events cannot be read", underlying: error)
        }
        return page
    }

    private func outcome(of event: [UInt8], at time: Date) async -> Result<Normalization, DeliveryError>? {
        let notification: StripeNotification
        do throws(JSONError) {
            notification = try StripeNotification(reading: event)
        } catch {
            return .failure(DeliveryError(.malformed, error.description, isAuthentic: true, underlying: error))
        }
        switch Mapping.Row(notification) {
        case .unknown, .unchanged, .test: return nil
        default: break
        }
        do throws(DeliveryError) {
            try adapter.checkAddressee(of: notification)
            let authenticated = Authenticated(
                notification,
                receivedAt: time,
                channel: .history,
                evidence: Origin.Evidence(.tls),
                digest: BodyDigest(of: event)
            )
            return .success(try adapter.normalize(try await adapter.resolve(authenticated)))
        } catch {
            return .failure(error)
        }
    }
}
