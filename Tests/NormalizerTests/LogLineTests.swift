import Foundation
import Normalizer
import NormalizerTesting
import Testing

@Suite("A log of events and statements")
struct LogLineTests {
    private static let lineage = SubscriptionID(store: .stripe, environment: .production, id: "sub_1")
    private static let start = Date(timeIntervalSince1970: 1_800_000_000)
    private static let month: TimeInterval = 2_592_000

    private static func origin(_ type: String) -> Origin {
        Origin.madeUp(type, digest: type)
    }

    private static func period(_ number: Double) -> ServicePeriod {
        let start = start.addingTimeInterval(month * number)
        return ServicePeriod(start: start, end: start.addingTimeInterval(month))
    }

    private static let started = NormalizedEvent(
        id: .periodBegan(lineage, transaction: "in_1", product: "pro"),
        event: .started(.init(origin: .new, phase: .regular, period: period(0))),
        provider: .stripe,
        store: .stripe,
        environment: .production,
        subscription: lineage,
        occurredAt: start,
        effectiveAt: start,
        assertedAt: start,
        receivedAt: start,
        facts: [.period(.init(period(0), product: "pro", phase: .regular, transaction: "in_1"))],
        origin: origin("invoice.paid")
    )
    /// The second month, which a look-up shows and no notification reported.
    private static let statement = StoreStatement(
        subscription: lineage,
        provider: .stripe,
        assertedAt: start.addingTimeInterval(month),
        facts: [.period(.init(period(1), product: "pro", phase: .regular, transaction: "in_2"))],
        origin: origin("look-up")
    )

    @Test("A statement is a line of its own kind, and lines read as they were written")
    func coding() throws {
        let lines: [LogLine] = [.event(Self.started), .statement(Self.statement)]
        let bytes = try EventLog.bytes(lines: lines)
        #expect(try EventLog.lines(in: bytes) == lines)
        #expect(try EventLog.events(in: bytes) == [Self.started])
        let written = try CanonicalJSON.bytes(LogLine.statement(Self.statement))
        #expect(String(decoding: written, as: UTF8.self).contains(#""kind":"statement""#))
        #expect(try CanonicalJSON.bytes(LogLine.event(Self.started)) == CanonicalJSON.bytes(Self.started))
    }

    @Test("A statement without an event gives access that a log of events alone denies")
    func access() throws {
        let result = Normalization(noChange: .init(.unchanged, statement: Self.statement))
        let moment = Self.start.addingTimeInterval(Self.month * 1.5)
        var (whole, events) = (AccountLedger(), AccountLedger())
        for line in [.event(Self.started)] + result.logLines { whole.apply(line) }
        events.apply(.event(Self.started))
        #expect(whole[Self.lineage]?.access(at: moment).isGranted == true)
        #expect(events[Self.lineage]?.access(at: moment).isGranted == false)
    }

    @Test("Lines come in the order in which a ledger applies a result")
    func order() {
        var result = Normalization([Self.started], furtherStatements: [Self.statement])
        #expect(result.logLines == [.event(Self.started), .statement(Self.statement)])
        result = Normalization(
            noChange: .init(.stale, statement: Self.statement),
            furtherStatements: [Self.started.statement].compactMap(\.self)
        )
        #expect(result.logLines.compactMap(\.statement) == result.statements)
    }

    @Test(
        "A line that is neither names its number, the member and the reason, and nothing that it holds",
        arguments: [
            ("{}", "kind", "missing"),
            (#"{"kind":"statement"}"#, "subscription", "missing"),
            (#"{"kind":null}"#, "kind", "null"),
            ("[]", "", "of another type"),
            (#"{"kind":"expired","id":"secret"}"#, "id", "not 40 hexadecimal digits"),
            ("secret", "", "not JSON"),
        ]
    )
    func invalid(text: String, member: String, reason: String) {
        let cause = InvalidValue(member: member, reason: reason)
        #expect(throws: EventLog.InvalidLine(line: 2, byteCount: text.utf8.count, cause: cause)) {
            _ = try EventLog.lines(in: Array("\n\(text)\n".utf8))
        }
    }

    /// Everything that a number or a time stands in, wherever it is stored: each is 7777, or lies in 2027.
    private static func stored() throws -> [(name: String, text: String)] {
        var event = started
        event.product = PurchasedProduct(id: "pro", quantity: 7777)
        event.commitment = Commitment(payment: 7777, payments: 7777, endsAt: start)
        event.items = [PurchasedItem(product: "pro", removedAt: start, refunds: [.init(at: start)])]
        event.facts += [
            .purchase(
                .init(
                    transaction: "one",
                    product: "coins",
                    purchase: .init(type: .consumable, quantity: 7777, expires: start),
                    at: start
                )
            ),
            .refund(
                .init(transaction: "one", scope: .quantity(7777), at: start, periodStart: start, endsAccess: false)
            ),
            .billing(
                .init(
                    .grace,
                    periodStart: start,
                    graceUntil: start,
                    retryUntil: start,
                    charge: .init(transaction: "two", attempt: 7777)
                )
            ),
            .periodEnded(.init(start: start, transaction: "in_1", at: start, reason: .refunded)),
        ]
        var state = SubscriptionState(lineage)
        _ = state.apply(event)
        return [
            ("event", String(decoding: try CanonicalJSON.bytes(event), as: UTF8.self)),
            ("state", String(decoding: try CanonicalJSON.bytes(state), as: UTF8.self)),
        ]
    }

    @Test(
        "A stored time or number that no adapter accepts is refused, wherever it stands",
        arguments: [
            ("2027-[^\"]*", "1969-12-31T23:59:59.999Z", "not an RFC 3339 time of the years 1970 to 9999"),
            ("7777", "9007199254740992", "beyond 2^53"), ("7777", "-9007199254740992", "beyond 2^53"),
        ]
    )
    func bounds(pattern: String, other: String, reason: String) throws {
        let place = try Regex(pattern)
        for (name, text) in try Self.stored() {
            let places = text.ranges(of: place)
            #expect(places.count > 3)
            for range in places {
                let changed = Array(text.replacingCharacters(in: range, with: other).utf8)
                let error = #expect(throws: InvalidValue.self) {
                    if name == "event" { return try CanonicalJSON.value(LogLine.self, from: changed).subscription }
                    return try CanonicalJSON.value(SubscriptionState.self, from: changed).subscription
                }
                #expect(error?.reason == reason)
                #expect(error?.member.isEmpty == false)
            }
        }
    }
}
