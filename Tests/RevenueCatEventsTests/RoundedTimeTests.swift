import HTTPTransport
import NotificationSimulator
import Normalizer
import RevenueCatEvents
import Testing
import WireJSON

/// Webhooks have milliseconds, and the older version of the API has whole seconds.
@Suite("A period whose times come in milliseconds and in whole seconds is one")
struct RoundedTimeTests {
    typealias Event = RevenueCatSimulator.Event
    typealias Period = RevenueCatSimulator.Period
    typealias Reading = AskingJournal.Reading

    /// The transactions of a purchase in one store.
    struct Names: Sendable {
        var store: String
        var first: String
        var second: String

        static let all = [
            Self(store: "APP_STORE", first: "O1", second: "O1-2"),
            Self(store: "PLAY_STORE", first: "GPA.1", second: "GPA.1..0"),
            Self(store: "AMAZON", first: "S1", second: "S1"),
            Self(store: "STRIPE", first: "sub_1", second: "sub_1"),
            Self(store: "RC_BILLING", first: "S1", second: "S2"),
        ]

        func event(
            _ type: String,
            of product: String = "basic_m",
            at time: Int64,
            _ period: Period,
            price: String
        ) -> Event {
            CreditTests.event(
                type,
                at: time,
                period,
                product: product,
                changing: ["store": .string(store), "original_transaction_id": .string(first)]
            ).priced(price)
        }

        /// The periods, with their times as they are and in whole seconds.
        func periods(_ milliseconds: Int64) -> [Period] {
            [
                Period(t0 + milliseconds, to: t1 + milliseconds, first),
                Period(t1 + milliseconds, to: t2 + milliseconds, second),
            ]
        }
    }

    private static func rounded(_ reading: Reading) -> Reading {
        var reading = reading
        reading.until = reading.until.map { $0 - $0 % 1000 }
        return reading
    }

    @Test(
        "by an answer before the webhook, after it, or in its place",
        arguments: Names.all,
        [0, 1, 499, 537, 999] as [Int64]
    )
    func answers(names: Names, milliseconds: Int64) async throws {
        let (exact, seconds) = (names.periods(milliseconds), names.periods(0))
        let now = t1 + 3 * hour
        let started = names.event("INITIAL_PURCHASE", at: exact[0].start + 5000, exact[0], price: "10.00")
        let renewed = names.event("RENEWAL", at: exact[1].start + 5000, exact[1], price: "10.00")
        let entry = JournalQuestionTests.entry("basic_m", seconds[1], store: names.store.lowercased())
        let answer = ClientTests.entries([entry], at: now)
        let expected = Reading(until: t2, product: "basic_m", credits: 200)
        for isKnown in [true, false] {
            let host = try await AskingJournal(isKnown ? [started, renewed] : [started], at: now)
            var first = expected
            if !isKnown { first.news = [.renewed] }
            let answered = Self.rounded(try await host.reading(after: answer, all: true))
            #expect(answered == first)
            try await host.apply([renewed, started])
            let again = Self.rounded(try await host.reading(after: answer, all: true))
            #expect(again == expected)
            #expect(try await host.news == [.started, .renewed])
            #expect(Self.rounded(try await host.reading(at: t0 + 10 * day)).until == t2)
            // A refund takes back all that the period gave, and once.
            let refundedAt = t1 + 2 * hour
            let refund = names.event(
                "CANCELLATION",
                at: refundedAt + 5000,
                Period(exact[1].start, to: refundedAt, names.second),
                price: "-10.00"
            ).with(["cancel_reason": "CUSTOMER_SUPPORT"])
            try await host.apply([refund])
            let left = try await host.reading(at: now)
            #expect(left == Reading())
            #expect(try await host.news == [.started, .renewed, .refunded])
        }
    }

    @Test(
        "also if the product changes between two periods",
        arguments: Names.all,
        [0, 1, 537, 999] as [Int64]
    )
    func change(names: Names, milliseconds: Int64) async throws {
        let (exact, seconds) = (names.periods(milliseconds), names.periods(0))
        let now = t1 + 3 * hour
        let started = names.event("INITIAL_PURCHASE", at: exact[0].start + 5000, exact[0], price: "10.00")
        let announced = names.event("PRODUCT_CHANGE", at: t0 + 10 * day, exact[0], price: "0")
            .with(["new_product_id": "pro_m"])
        let renewed = names.event("RENEWAL", of: "pro_m", at: exact[1].start + 5000, exact[1], price: "20.00")
        let entry = JournalQuestionTests.entry("pro_m", seconds[1], store: names.store.lowercased())
        let answer = ClientTests.entries([entry], at: now)
        let expected = Reading(until: t2, product: "pro_m", credits: 500)
        for isKnown in [true, false] {
            let host = try await AskingJournal([started, announced] + (isKnown ? [renewed] : []), at: now)
            var first = expected
            if !isKnown { first.news = [.renewed] }
            let answered = Self.rounded(try await host.reading(after: answer, all: true))
            #expect(answered == first)
            try await host.apply([renewed, announced, started])
            let again = Self.rounded(try await host.reading(after: answer, all: true))
            #expect(again == expected)
        }
    }
}
