import Foundation
import HTTPTransport
import LifecycleJournal
import NormalizerTesting
import NotificationSimulator
import Stripe
import Testing

@Suite("A backfill from Stripe's events", .timeLimit(.minutes(5))) struct StripeBackfillTests {
    /// Stripe's list of events, newest first and by pages, as `GET /v1/events` gives it.
    static func serve(_ deliveries: [Delivery], pageSize: Int, at now: Date) -> StubTransport {
        let transport = StubTransport()
        let events = deliveries.reversed().map { String(decoding: $0.body, as: UTF8.self) }
        let ids = deliveries.reversed().map { delivery in
            ((try? JSONSerialization.jsonObject(with: Data(delivery.body))) as? [String: Any])?["id"] as? String ?? ""
        }
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        let date = formatter.string(from: now)
        transport.on(.any) { request throws(HTTPTransportError) in
            let query = request.url.query ?? ""
            guard request.url.path == "/v1/events",
                query.contains("created%5Bgte%5D=") || query.contains("created[gte]=")
            else { return HTTPTransportResponse(status: 404, body: []) }
            let after = query.split(separator: "&").first { $0.hasPrefix("starting_after=") }?.dropFirst(15)
            let first = after.flatMap { ids.firstIndex(of: String($0)) }.map { $0 + 1 } ?? 0
            let page = events[first...].prefix(pageSize)
            let hasMore = first + page.count < events.count
            let body =
                #"{"object":"list","url":"/v1/events","has_more":\#(hasMore),"data":[\#(page.joined(separator: ","))]}"#
            return HTTPTransportResponse(status: 200, headers: ["Date": date], body: Array(body.utf8))
        }
        return transport
    }

    @Test("heals any loss, with the ids of the webhook, and tells nothing twice", arguments: [1, 7, 100])
    func losses(pageSize: Int) async throws {
        let life = try StripeLife()
        let end = try #require(life.deliveries.last).receivedAt.addingTimeInterval(3600)
        let now: @Sendable () -> Date = { end }
        var configuration = StripeAdapter.Configuration(signingSecrets: [life.simulator.signingSecret])
        configuration.lookup = .init(
            transport: Self.serve(life.deliveries, pageSize: pageSize, at: end),
            apiKey: Secret("rk_test_backfill")
        )
        let history = try #require(try StripeAdapter(configuration).history())
        let whole = Journal(MemoryJournal(), now: now)
        for delivery in life.deliveries { #expect(await whole.receive(delivery, with: life.adapter).status == 200) }
        let expected = try await whole.events(limit: 10_000)
        #expect(expected.count > 3)
        for round in 0..<4 {
            let journal = Journal(MemoryJournal(), now: now)
            for (index, delivery) in life.deliveries.enumerated() where index % 4 < round {
                _ = await journal.receive(delivery, with: life.adapter)
            }
            let report = try await journal.backfill(from: history, since: StripeLife.start)
            #expect(report.unreadable == 0)
            #expect(report.pages == (life.deliveries.count + pageSize - 1) / pageSize)
            let healed = try await journal.events(limit: 10_000)
            #expect(Set(healed.map(\.event.event.id)) == Set(expected.map(\.event.event.id)))
            #expect(Set(healed.map(\.event.event.id)).count == healed.count)
            for lineage in Set(expected.compactMap(\.event.event.subscription)) {
                let state = try await journal.state(of: lineage)
                let other = try await whole.state(of: lineage)
                for day in 0..<400 {
                    let time = StripeLife.start.addingTimeInterval(Double(day) * 86_400)
                    #expect(state?.access(at: time).isGranted == other?.access(at: time).isGranted, "day \(day)")
                }
            }
        }
    }

    @Test("stops at a key without the right, and notes nothing")
    func denied() async throws {
        let transport = StubTransport()
        transport.on(.any, respond: .init(status: 403))
        var configuration = StripeAdapter.Configuration(signingSecrets: [Secret("whsec_backfill")])
        configuration.lookup = .init(transport: transport, apiKey: Secret("rk_test_backfill"))
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
