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

    /// Reads a page of a hundred at most, from the oldest event to the newest. It passes over events that are about no
    /// subscription or payment.
    public func page(
        of window: Range<Date>,
        at position: String?
    ) async throws(DeliveryError) -> DeliveryHistoryPage {
        let seconds = { (date: Date) in date.millisecondsSince1970.flooredQuotient(dividingBy: 1000) }
        let times = seconds(window.lowerBound)...max(seconds(window.lowerBound), seconds(window.upperBound))
        let listed: Listed
        let isLast: Bool
        if let position {
            listed = try await list(times, ("ending_before", position))
            isLast = !listed.hasMore
        } else {
            (listed, isLast) = try await oldest(in: times)
        }
        var page = DeliveryHistoryPage([])
        for event in listed.events.reversed() {
            if let outcome = await outcome(of: event.body, at: listed.answeredAt) {
                page.entries.append(.init(nil, outcome))
            }
        }
        if !isLast { page.next = listed.events.first?.id }
        return page
    }

    /// Events as Stripe lists them: the newest first.
    private struct Listed {
        var events: [(id: String, created: Int64, body: [UInt8])]
        /// True if there are more in the direction of the question.
        var hasMore: Bool
        var answeredAt: Date
    }

    private func list(
        _ times: ClosedRange<Int64>,
        _ cursor: (String, String)? = nil
    ) async throws(DeliveryError) -> Listed {
        var query = [
            ("created[gte]", "\(times.lowerBound)"), ("created[lte]", "\(times.upperBound)"), ("limit", "100"),
        ]
        if let cursor { query.append(cursor) }
        let answer = try await client.list(["v1", "events"], query, of: account)
        do throws(JSONError) {
            let reader = try ObjectReader(answer.document.root)
            var listed = Listed(
                events: [],
                hasMore: try reader.optionalBool("has_more") ?? false,
                answeredAt: answer.answeredAt
            )
            for value in try reader.array("data") {
                let event = try ObjectReader(value)
                listed.events.append(
                    (try event.string("id"), try event.int64("created"), Array(value.rawBytes))
                )
            }
            return listed
        } catch {
            throw DeliveryError(.unavailable, "the list of events cannot be read", underlying: error)
        }
    }

    /// The page with the oldest events. Stripe's lists begin with the newest, and lead upwards only from an element that is
    /// known (`ending_before`, <https://docs.stripe.com/api/pagination>): halve the time until one page has all the rest.
    private func oldest(in times: ClosedRange<Int64>) async throws(DeliveryError) -> (Listed, isLast: Bool) {
        var listed = try await list(times)
        guard listed.hasMore else { return (listed, true) }
        // Nothing is older than `low`, and everything that is not listed yet is as old as the last element, or older.
        var low = times.lowerBound
        while listed.hasMore, let last = listed.events.last {
            let high = last.created
            guard low < high else {
                // So many in one second. A page that does not lead on would be asked for again and again.
                let next = try await list(low...max(low, high), ("starting_after", last.id))
                guard let end = next.events.last, end.id != last.id else { break }
                listed = next
                continue
            }
            let middle = low + (high - low) / 2
            let older = try await list(low...middle)
            if older.events.isEmpty { low = middle + 1 } else { listed = older }
        }
        return (listed, false)
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
            try adapter.checkAddressee(of: .notification(notification))
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
