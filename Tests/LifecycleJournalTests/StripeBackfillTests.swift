import Foundation
import HTTPTransport
import LifecycleJournal
import NormalizerTesting
import NotificationSimulator
import Stripe
import Testing

@Suite("A backfill from Stripe's events", .timeLimit(.minutes(5))) struct StripeBackfillTests {
    /// Stripe's list of events as `GET /v1/events` gives it: the newest first, by pages, in both directions from an element.
    static func serve(_ deliveries: [Delivery], pageSize: Int, at now: Date) -> StubTransport {
        let transport = StubTransport()
        let events = deliveries.reversed().map { delivery in
            let fields = (try? JSONSerialization.jsonObject(with: Data(delivery.body))) as? [String: Any]
            return (
                id: fields?["id"] as? String ?? "", created: fields?["created"] as? Int ?? 0,
                body: String(decoding: delivery.body, as: UTF8.self)
            )
        }
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        let date = formatter.string(from: now)
        transport.on(.any) { request throws(HTTPTransportError) in
            let query = (request.url.query ?? "").split(separator: "&").map { item in
                item.split(separator: "=", maxSplits: 1).map { String($0).removingPercentEncoding ?? "" }
            }
            func value(_ name: String) -> String? { query.first { $0.first == name }?.last }
            guard request.url.path == "/v1/events", let from = value("created[gte]").flatMap({ Int($0) }),
                let until = value("created[lte]").flatMap({ Int($0) })
            else { return HTTPTransportResponse(status: 404, body: []) }
            let listed = events.filter { (from...max(from, until)).contains($0.created) }
            let page: ArraySlice<(id: String, created: Int, body: String)>
            let hasMore: Bool
            if let end = value("ending_before") {
                guard let index = listed.firstIndex(where: { $0.id == end }) else {
                    return HTTPTransportResponse(status: 400, body: [])
                }
                page = listed[..<index].suffix(pageSize)
                hasMore = page.startIndex > 0
            } else {
                let after = value("starting_after").flatMap { id in listed.firstIndex { $0.id == id } }
                page = listed[(after.map { $0 + 1 } ?? 0)...].prefix(pageSize)
                hasMore = page.endIndex < listed.count
            }
            let data = page.map(\.body).joined(separator: ",")
            let body = #"{"object":"list","url":"/v1/events","has_more":\#(hasMore),"data":[\#(data)]}"#
            return HTTPTransportResponse(status: 200, headers: ["Date": date], body: Array(body.utf8))
        }
        return transport
    }

    @Test("heals any loss, with the ids of the webhook, and tells nothing twice", arguments: [1, 7, 100])
    func losses(pageSize: Int) async throws {
        let life = try StripeLife()
        let end = try #require(life.deliveries.last).receivedAt.addingTimeInterval(3600)
        let time = ManualTime(StripeLife.start)
        let now: @Sendable () -> Date = { time.now }
        var configuration = StripeAdapter.Configuration(signingSecrets: [life.simulator.signingSecret])
        let transport = Self.serve(life.deliveries, pageSize: pageSize, at: end)
        configuration.lookup = .init(transport: transport, apiKey: SecretBytes("rk_test_backfill"))
        let history = try #require(try StripeAdapter(configuration).history())
        let whole = Journal(MemoryJournal(), now: now)
        time.set(end)
        for delivery in life.deliveries { #expect(await whole.receive(delivery, with: life.adapter).status == 200) }
        let expected = try await whole.events(limit: 10_000)
        #expect(expected.count > 3)
        for round in 0..<4 {
            let journal = Journal(MemoryJournal(), now: now)
            for (index, delivery) in life.deliveries.enumerated() where index % 4 < round {
                _ = await journal.receive(delivery, with: life.adapter)
            }
            time.set(StripeLife.start)
            // Stripe remembers thirty days.
            while time.now < end {
                time.set(min(time.now.addingTimeInterval(25 * 86_400), end))
                let asked = transport.requests.count
                let report = try await journal.backfill(from: history, since: StripeLife.start)
                #expect(report.unreadable == 0 && report.gap == nil)
                // The search for the oldest event takes no more requests than the seconds can be halved.
                let pages = (report.deliveries + pageSize - 1) / pageSize
                #expect(report.pages <= pages + 2)
                #expect(transport.requests.count - asked <= pages + 2 + 50)
            }
            let healed = try await journal.events(limit: 10_000)
            #expect(Set(healed.map(\.event.event.id)) == Set(expected.map(\.event.event.id)))
            #expect(Set(healed.map(\.event.event.id)).count == healed.count)
            if round == 0 {
                // The history leads from the oldest event to the newest, as the webhook did: the same is news.
                #expect(
                    healed.map { [$0.event.event.id.description, $0.event.disposition.rawValue] }
                        == expected.map { [$0.event.event.id.description, $0.event.disposition.rawValue] }
                )
            }
            for lineage in Set(expected.compactMap(\.event.event.subscription)) {
                let state = try await journal.state(of: lineage)
                let other = try await whole.state(of: lineage)
                for day in stride(from: 0, to: 400, by: 8) {
                    let time = StripeLife.start.addingTimeInterval(Double(day) * 86_400)
                    #expect(state?.access(at: time).isGranted == other?.access(at: time).isGranted, "day \(day)")
                }
            }
        }
    }

    @Test("begins with the first notification that the journal has, and again from an earlier time that is asked for")
    func beginning() async throws {
        let life = try StripeLife()
        // Stripe remembers thirty days.
        let end = StripeLife.start.addingTimeInterval(29 * 86_400)
        let deliveries = life.deliveries.filter { $0.receivedAt < end }
        let first = try #require(deliveries.dropFirst(4).first)
        var configuration = StripeAdapter.Configuration(signingSecrets: [life.simulator.signingSecret])
        let transport = Self.serve(deliveries, pageSize: 100, at: end)
        configuration.lookup = .init(transport: transport, apiKey: SecretBytes("rk_live_backfill"))
        let history = try #require(try StripeAdapter(configuration).history())
        let storage = MemoryJournal()
        let journal = Journal(storage, now: { end })
        #expect(await journal.receive(first, with: life.adapter).status == 200)

        let later = deliveries.filter { $0.receivedAt >= first.receivedAt.addingTimeInterval(-3600) }
        try #require(later.count < deliveries.count)
        let report = try await journal.backfill(from: history)
        #expect(report.deliveries == later.count && report.gap == nil)
        #expect(try await journal.backfill(from: history).deliveries == 0)
        #expect(try await journal.backfill(from: history, since: end).deliveries == 0)

        for _ in 0..<2 {
            let again = try await journal.backfill(from: history, since: StripeLife.start)
            #expect(again.deliveries == (again.newEvents > 0 ? deliveries.count : 0))
        }
        let whole = Journal(MemoryJournal(), now: { end })
        for delivery in deliveries { #expect(await whole.receive(delivery, with: life.adapter).status == 200) }
        let expected = try await whole.events(limit: 10_000).map(\.event.event.id)
        #expect(Set(try await journal.events(limit: 10_000).map(\.event.event.id)) == Set(expected))
    }

    /// A source, its connected account and its key, next to a source `shop` that was notified.
    @Test(
        "begins now with what is new to a journal that another source, account or mode was notified in",
        arguments: [
            ("shop", nil, nil, true), ("shop2", nil, nil, false), ("shop", "acct_second", nil, false),
            ("shop", nil, "live", nil), ("shop", nil, "test", nil),
        ] as [(String, String?, String?, Bool?)]
    )
    func beginningOfAnother(source: String, account: String?, mode: String?, isKnown: Bool?) async throws {
        let life = try StripeLife()
        let end = StripeLife.start.addingTimeInterval(29 * 86_400)
        let deliveries = life.deliveries.filter { $0.receivedAt < end }
        var configuration = StripeAdapter.Configuration(signingSecrets: [life.simulator.signingSecret])
        let transport = Self.serve(deliveries, pageSize: 100, at: end)
        let key = "rk_\(mode.map { "\($0)_" } ?? "")backfill"
        configuration.lookup = .init(transport: transport, apiKey: SecretBytes(key))
        let history = try #require(try StripeAdapter(configuration).history(of: account))
        let journal = Journal(MemoryJournal(), now: { end })
        let first = try #require(deliveries.first)
        #expect(await journal.receive(first, with: life.adapter, as: "shop").status == 200)
        let isLive = try await journal.events().first?.event.event.environment == .production
        let report = try await journal.backfill(from: history, as: source)
        #expect((report.deliveries > 0) == isKnown ?? (isLive == (mode == "live")))
        #expect(report.gap == nil)
    }

    @Test("reads the checkpoint of an earlier version")
    func earlierCheckpoint() async throws {
        let life = try StripeLife()
        let end = StripeLife.start.addingTimeInterval(29 * 86_400)
        let deliveries = life.deliveries.filter { $0.receivedAt < end }
        var configuration = StripeAdapter.Configuration(signingSecrets: [life.simulator.signingSecret])
        let transport = Self.serve(deliveries, pageSize: 100, at: end)
        configuration.lookup = .init(transport: transport, apiKey: SecretBytes("rk_test_backfill"))
        let history = try #require(try StripeAdapter(configuration).history())
        let journal = Journal(MemoryJournal(), now: { end })
        let mark = #"{"through":"2027-01-30T00:00:00.000Z"}"#
        #expect(try await journal.setCheckpoint(mark, of: "history/\(history.name)", after: nil))
        #expect(try await journal.backfill(from: history).deliveries < deliveries.count)
        // Its beginning is not known: what Stripe has forgotten is no gap.
        let report = try await journal.backfill(from: history, since: end.addingTimeInterval(-400 * 86_400))
        #expect(report.deliveries == deliveries.count && report.gap == nil)
    }

    @Test("reads a second with more events than a page, and begins again where an event is no longer kept")
    func crowdedSecond() async throws {
        let life = try StripeLife()
        let first = try #require(life.deliveries.first)
        // The same event under twelve ids, of one second.
        let copies = (0..<12).map { number in
            var copy = first
            let text = String(decoding: first.body, as: UTF8.self)
            let id = text.range(of: #"evt_[A-Za-z0-9_]*"#, options: .regularExpression).map { String(text[$0]) } ?? ""
            copy = Delivery(
                headers: first.headers,
                body: Array(text.replacingOccurrences(of: id, with: "evt_copy\(number)").utf8),
                receivedAt: first.receivedAt
            )
            return copy
        }
        let end = first.receivedAt.addingTimeInterval(3600)
        var configuration = StripeAdapter.Configuration(signingSecrets: [life.simulator.signingSecret])
        let transport = Self.serve(copies, pageSize: 5, at: end)
        configuration.lookup = .init(transport: transport, apiKey: SecretBytes("rk_test_backfill"))
        let history = try #require(try StripeAdapter(configuration).history())
        let journal = Journal(MemoryJournal(), now: { end })
        let report = try await journal.backfill(from: history, since: StripeLife.start)
        #expect(report.deliveries == 12)
        let window = StripeLife.start..<end
        let error = await #expect(throws: DeliveryError.self) {
            try await history.page(of: window, at: "evt_forgotten")
        }
        #expect(error?.code == .stale)
    }

    @Test("stops at a key without the right, and notes nothing")
    func denied() async throws {
        let transport = StubTransport()
        transport.on(.any, respond: .init(status: 403))
        var configuration = StripeAdapter.Configuration(signingSecrets: [SecretBytes("whsec_backfill")])
        configuration.lookup = .init(transport: transport, apiKey: SecretBytes("rk_test_backfill"))
        let history = try #require(try StripeAdapter(configuration).history())
        let journal = Journal(MemoryJournal(), now: { StripeLife.start.addingTimeInterval(86_400) })
        for _ in 0..<2 {
            let error = await #expect(throws: DeliveryError.self) {
                try await journal.backfill(from: history, since: StripeLife.start)
            }
            #expect(error?.code == .denied)
        }
        #expect(try await journal.events().isEmpty)
    }
}
