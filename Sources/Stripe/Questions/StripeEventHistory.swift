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

    /// True for the account and, if the key is of one mode, for that mode.
    public func lists(_ event: NormalizedEvent) -> Bool {
        let ownAccount = adapter.configuration.ownAccount
        let account = event.app == ownAccount ? nil : event.app
        let isLive = event.environment == .production
        return event.provider == provider && account == (self.account == ownAccount ? nil : self.account)
            && isLive == client.isLive ?? isLive
    }

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
            listed = try await list(times, before: position)
            isLast = !listed.page.hasMore
        } else {
            (listed, isLast) = try await oldest(in: times)
        }
        var page = DeliveryHistoryPage([])
        for event in listed.page.elements.reversed() {
            if let outcome = await outcome(of: event.body, at: listed.answeredAt) {
                page.entries.append(.init(nil, outcome))
            }
        }
        if !isLast { page.next = listed.page.elements.first?.id }
        return page
    }

    private struct Event {
        let id: String
        let created: Int64
        let body: [UInt8]
    }

    /// Events as Stripe lists them: the newest first.
    private typealias Listed = (page: ListPage<Event>, answeredAt: Date)

    private func list(
        _ times: ClosedRange<Int64>,
        after last: String? = nil,
        before first: String? = nil
    ) async throws(DeliveryError) -> Listed {
        let query = [("created[gte]", "\(times.lowerBound)"), ("created[lte]", "\(times.upperBound)")]
        return try await client.list(
            ["v1", "events"],
            query + LookupRequest.page(after: last, before: first),
            of: account
        ) { (value) throws(JSONError) in
            let event = try ObjectReader(value)
            return Event(id: try event.string(.id), created: try event.int64(.created), body: Array(value.rawBytes))
        }
    }

    /// The page with the oldest events. Stripe's lists begin with the newest, and lead upwards only from an element that is
    /// known (`ending_before`, <https://docs.stripe.com/api/pagination>): halve the time until one page has all the rest.
    private func oldest(in times: ClosedRange<Int64>) async throws(DeliveryError) -> (Listed, isLast: Bool) {
        var listed = try await list(times)
        guard listed.page.hasMore else { return (listed, true) }
        // Nothing is older than `low`, and everything that is not listed yet is as old as the last element, or older.
        var low = times.lowerBound
        while listed.page.hasMore, let last = listed.page.elements.last {
            let high = last.created
            guard low < high else {
                // So many in one second.
                let next = try await list(low...max(low, high), after: last.id)
                guard next.page.lead(from: last.id) != nil else { break }
                listed = next
                continue
            }
            let middle = low + (high - low) / 2
            let older = try await list(low...middle)
            if older.page.elements.isEmpty { low = middle + 1 } else { listed = older }
        }
        return (listed, false)
    }

    private func outcome(of event: [UInt8], at time: Date) async -> Result<Normalization, DeliveryError>? {
        do throws(DeliveryError) {
            var notification = try StripeNotification(proven: event)
            notification.listedFor = account
            switch Mapping.Row(notification) {
            case .unknown, .unchanged, .test: return nil
            default: break
            }
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
