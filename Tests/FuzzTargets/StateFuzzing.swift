import FoundationEssentials
import Normalizer
import WireJSON

/// Edits of stored events and states. A log and a state are input, too: what can be read can be applied and asked, and what
/// cannot be read is refused with a reason that shows nothing of it.
///
/// An input is the number of a story in two octets, a mode, and then edits of six octets each. Mode 0 edits the lines of
/// its log; any other mode edits the states that come of it, and applies the log to them again.
enum StateFuzzing {
    private static let stories = Corpus.stories
    /// Scalars of stories, and the ends of what is read at all.
    private static let words: [[UInt8]] = {
        let ends = [
            #""0001-01-01T00:00:00.000Z""#, #""1969-12-31T23:59:59.999Z""#, #""1970-01-01T00:00:00.000Z""#,
            #""1970-01-01T00:00:00.001Z""#, #""9999-12-31T23:59:59.998Z""#, #""9999-12-31T23:59:59.999Z""#,
            "9007199254740991", "-9007199254740991", "9007199254740992",
            #""99999999999999999999999999999999999999""#, #""-0.00000000000000000000000000000000000001""#,
            #""170141183460469231731687303715884105727/170141183460469231731687303715884105727""#,
            #""1/99999999999999999999999999999999999999""#, #""customer""#, #""refunded""#, #""replaced""#,
        ]
        let found = Set(stories.joined().compactMap { JSONTree($0) }.flatMap { $0.scalars.filter { $0.count <= 60 } })
        let common = found.sorted { $0.lexicographicallyPrecedes($1) }
        return ends.map { Array($0.utf8) } + common.prefix(20_000)
    }()

    /// Instalments of a year, since a period without an end has thousands of them until the year 9999.
    private static let policy = CreditPolicy(
        ["pro": .init(credits: 500, trialCredits: 10, price: Money(ExactDecimal(20), "USD"), every: .year)],
        owes: true
    )
    private static let largest = CreditPolicy(["pro": .init(credits: .max), "basic": .init(credits: .max)])

    static func run(_ input: [UInt8], _ meter: inout Meter) throws(Violation) -> Outcome {
        guard input.count >= 3, !stories.isEmpty else { return .refused }
        var lines = stories[(Int(input[0]) << 8 | Int(input[1])) % stories.count].compactMap { JSONTree($0) }
        let edits = JSONEdit.list(input.dropFirst(3))
        if input[2] == 0 {
            for edit in edits { edit.apply(to: &lines[edit.part % lines.count], words: words) }
            return try play(lines, meter: &meter)
        }
        var ledger = AccountLedger()
        for line in lines {
            if let line = try? CanonicalJSON.value(LogLine.self, from: line.bytes) { ledger.apply(line) }
        }
        var stored: [JSONTree] = []
        for state in ledger.states {
            let bytes = try sound("a state cannot be written") { try CanonicalJSON.bytes(state) }
            if let tree = JSONTree(bytes) { stored.append(tree) }
        }
        guard !stored.isEmpty else { return .refused }
        for edit in edits { edit.apply(to: &stored[edit.part % stored.count], words: words) }
        var states: [SubscriptionState] = []
        for tree in stored {
            let state = try meter { () throws(Violation) -> SubscriptionState? in
                try read(SubscriptionState.self, tree.bytes)
            }
            if let state { states.append(state) }
        }
        guard !states.isEmpty else { return .refused }
        return try play(lines, onto: states, meter: &meter)
    }

    /// A stored value; nil where it cannot be read.
    private static func read<Value: Decodable>(
        _ type: Value.Type,
        _ bytes: [UInt8]
    ) throws(Violation) -> Value? {
        do throws(InvalidValue) { return try CanonicalJSON.value(type, from: bytes) } catch {
            try promise(!error.description.contains(Corpus.canary), "an error shows what was read")
            return nil
        }
    }

    private static func play(
        _ trees: [JSONTree],
        onto states: [SubscriptionState] = [],
        meter: inout Meter
    ) throws(Violation) -> Outcome {
        var lines: [LogLine] = []
        for tree in trees {
            let line = try meter { () throws(Violation) -> LogLine? in try read(LogLine.self, tree.bytes) }
            if let line { lines.append(line) }
        }
        guard !lines.isEmpty else { return .refused }
        var forward = AccountLedger(states)
        var moments: Set<Date> = [.distantPast, .distantFuture]
        for line in lines {
            meter { _ = forward.apply(line) }
            if let asserted = line.statement?.assertedAt { moments.insert(asserted) }
        }
        var backward = AccountLedger(states.reversed())
        for line in lines.reversed() + lines { backward.apply(line) }
        try promise(forward == backward, "the order of a log decides the states")
        for state in forward.states {
            let stored = try sound("a state does not survive its own JSON") {
                try CanonicalJSON.value(SubscriptionState.self, from: CanonicalJSON.bytes(state))
            }
            try promise(stored == state, "a state that was written and read is another one")
        }
        for moment in moments.sorted().prefix(24) { try ask(forward, at: moment, &meter) }
        return .accepted
    }

    private static func ask(_ ledger: AccountLedger, at moment: Date, _ meter: inout Meter) throws(Violation) {
        for state in ledger.states {
            meter {
                _ = state.access(at: moment)
                _ = state.snapshot(at: moment)
                _ = ledger.explain(state, at: moment).description
                _ = ledger.contradictions(of: state)
            }
            if let next = state.nextTransition(after: moment) {
                try promise(next > moment, "the next transition lies in the past")
            }
        }
        let use = CreditUse(id: "use", credits: .max, at: moment)
        let gift = CreditUse(id: "gift", credits: -.max, at: moment)
        meter {
            _ = CreditStatement(of: ledger.states, under: policy, uses: [use], at: moment)
            _ = CreditStatement(of: ledger.states, under: largest, uses: [gift], at: moment)
        }
        for account in ledger.accounts.prefix(4) { meter { _ = ledger.access(of: account, at: moment) } }
    }

    static func seeds() -> [[UInt8]] {
        stories.indices.flatMap { index -> [[UInt8]] in
            let name = [UInt8(truncatingIfNeeded: index >> 8), UInt8(truncatingIfNeeded: index)]
            let place = UInt8(truncatingIfNeeded: index &* 37)
            return [
                name + [0], name + [1], name + [0, place, place % 8, 0, place, 0, UInt8(index % 16)],
                name + [1, 0, place % 8, 0, place, 0, UInt8(index % 16)],
            ]
        }
    }
}
