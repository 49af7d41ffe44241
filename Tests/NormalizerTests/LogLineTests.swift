import Foundation
import Normalizer
import Testing

@Suite("A log of events and statements")
struct LogLineTests {
    private static let lineage = SubscriptionID(store: .stripe, environment: .production, id: "sub_1")
    private static let start = Date(timeIntervalSince1970: 1_800_000_000)
    private static let month: TimeInterval = 2_592_000

    private static func origin(_ type: String) -> Origin {
        Origin(type: type, channel: .webhook, evidence: .init(.unchecked), digest: type, mapper: "test/1")
    }

    private static func period(_ number: Double) -> ServicePeriod {
        let start = start.addingTimeInterval(month * number)
        return ServicePeriod(start: start, end: start.addingTimeInterval(month))
    }

    private static let started = NormalizedEvent(
        id: .periodBegan(lineage, transaction: "in_1"),
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
    /// The second month, which a look-up shows and no notification told.
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

    @Test("What was stated without an event gives access that a log of events alone denies")
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

    @Test("A line that is neither names its number alone", arguments: ["{}", #"{"kind":"statement"}"#, "[]", "x"])
    func invalid(_ text: String) {
        #expect(throws: EventLog.InvalidLine(line: 2, byteCount: text.utf8.count)) {
            _ = try EventLog.lines(in: Array("\n\(text)\n".utf8))
        }
    }
}
