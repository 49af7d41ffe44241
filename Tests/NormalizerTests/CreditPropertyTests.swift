import NormalizerTesting
import Foundation
import LifecycleEvents
import Testing

@testable import Normalizer

@Suite("Credits of lives that are made up at random")
struct CreditPropertyTests {
    private static let python = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":")
        .map { "\($0)/python3" }.first { FileManager.default.isExecutableFile(atPath: $0) }

    private static let isLong = ProcessInfo.processInfo.environment["LIFECYCLE_LONG"] == "1"
    private static let lives: UInt64 = isLong ? 20_000 : 400

    @Test(
        "another program, written from the documentation, reckons the same",
        .enabled(if: python != nil, "there is no python3 on this machine")
    )
    func oracle() throws {
        let lives = (1...(Self.isLong ? 20_000 : 400)).map { GeneratedCreditLife(seed: $0) }
        let input = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).jsonl")
        defer { try? FileManager.default.removeItem(at: input) }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        let lines = try lives.map { String(decoding: try encoder.encode($0), as: UTF8.self) + "\n" }
        try lines.joined().write(to: input, atomically: true, encoding: .utf8)
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: try #require(Self.python))
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        process.arguments = ["-B", root.appendingPathComponent("Oracles/credits.py").path]
        process.standardInput = try FileHandle(forReadingFrom: input)
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        let reckoned = text.split(separator: "\n")
        #expect(reckoned.count == lives.count)
        var (differences, balances) = (0, Set<Int64>())
        for (index, (life, line)) in zip(lives, reckoned).enumerated() {
            let expected = try JSONDecoder().decode([Int64].self, from: Data(line.utf8))
            let actual = life.moments.map { life.statement(at: $0).balance }
            balances.formUnion(actual)
            guard actual != expected else { continue }
            differences += 1
            if differences < 6 { Issue.record("seed \(index + 1): \(actual), expected \(expected)\n\(lines[index])") }
        }
        #expect(differences == 0)
        #expect(balances.count > 200, "they are all alike")
    }

    /// The deliveries of a life: some are lost, some are of another name of the purchase, and a relay tells of some besides.
    private static func deliveries(_ life: GeneratedCreditLife, _ random: inout SeededGenerator) -> [StoreStatement] {
        let other = SubscriptionID(store: life.store, environment: .production, id: "10")
        guard var link = life.statements.first else { return [] }
        link.facts = [.link(other)]
        var statements = [link]
        for (number, stated) in life.statements.enumerated() {
            var statement = stated
            if Bool.random(using: &random) { statement.subscription = other }
            if Int.random(in: 0..<5, using: &random) > 0 { statements.append(statement) }
            guard Int.random(in: 0..<3, using: &random) == 0 else { continue }
            statement = stated
            statement.subscription = other
            statement.provider = .revenuecat
            statement.assertedAt += Double.random(in: -60...3600, using: &random)
            statement.origin.notificationID = "relayed-\(number)"
            statements.append(statement)
        }
        return statements
    }

    /// The effect of any order and any repetition on a reading.
    private static func disturbance<Reading: Equatable>(
        _ life: GeneratedCreditLife,
        seed: UInt64,
        _ read: ([StoreStatement]) -> Reading
    ) -> (expected: Reading, actual: Reading)? {
        var random = SeededGenerator(seed: seed)
        let statements = deliveries(life, &random)
        let expected = read(statements)
        for _ in 0..<4 {
            let actual = read(
                (statements + statements.filter { _ in Bool.random(using: &random) }).shuffled(using: &random)
            )
            if actual != expected { return (expected, actual) }
        }
        return nil
    }

    @Test("any order, repetition and loss of two channels' events leaves one statement")
    func orders() {
        for seed in UInt64(1)...Self.lives {
            let life = GeneratedCreditLife(seed: seed)
            let time = Date(millisecondsSince1970: life.moments.last ?? 0)
            let difference = Self.disturbance(life, seed: seed) { statements in
                let ledger = AccountLedger(applying: statements)
                return CreditStatement(of: ledger.states, under: life.policy, uses: life.creditUses, at: time)
            }
            if let (expected, actual) = difference {
                Issue.record("seed \(seed): \(actual.balance), expected \(expected.balance)")
            }
        }
    }

    @Test("refunds that were all undone leave the balance at every time as if there had been none")
    func undone() {
        for seed in UInt64(1)...500 {
            let life = GeneratedCreditLife(seed: seed)
            var unrefunded = life
            unrefunded.refunds = []
            let ledger = AccountLedger(applying: life.statementsWithUndoneRefunds)
            for moment in life.moments + life.refunds.map({ $0.at + GeneratedCreditLife.hour }) {
                let time = Date(millisecondsSince1970: moment)
                let statement = CreditStatement(
                    of: ledger.states,
                    under: life.policy,
                    uses: life.creditUses,
                    at: time
                )
                let expected = unrefunded.statement(at: moment).balance
                guard statement.balance != expected else { continue }
                Issue.record("seed \(seed) at \(moment): \(statement.balance), expected \(expected)")
                break
            }
        }
    }

    @Test("two names of a purchase leave the balance of one")
    func names() {
        for seed in UInt64(1)...500 {
            let life = GeneratedCreditLife(seed: seed)
            var (ledger, random) = (AccountLedger(), SeededGenerator(seed: seed))
            let other = SubscriptionID(store: life.store, environment: .production, id: "10")
            for statement in life.statements {
                var statement = statement
                statement.facts.append(.link(other))
                if Bool.random(using: &random) { statement.subscription = other }
                ledger.apply(statement)
            }
            for moment in life.moments {
                let time = Date(millisecondsSince1970: moment)
                let statement = CreditStatement(of: ledger.states, under: life.policy, uses: life.creditUses, at: time)
                #expect(statement.balance == life.statement(at: moment).balance, "seed \(seed)")
            }
        }
    }

    /// A host that adds credits when it hears of periods, and takes them off when it hears of refunds.
    @Test("a balance that reacts to what arrives depends on the order, and is found out")
    func reaction() {
        let found = (1...50).contains { seed in
            let life = GeneratedCreditLife(seed: UInt64(seed))
            return Self.disturbance(life, seed: UInt64(seed)) { statements in
                var (balance, given): (Int64, Set<String>) = (0, [])
                for fact in statements.flatMap(\.facts) {
                    switch fact {
                    case .period(let period):
                        let name = period.transaction?.rawValue ?? "\(period.period.startMilliseconds)"
                        guard given.insert(name).inserted else { continue }
                        balance = life.policy.allowances[period.product]?.credits ?? 0
                    case .refund: balance = 0
                    default: continue
                    }
                }
                return balance
            } != nil
        }
        #expect(found)
    }

    // MARK: Money

    /// Credits that are there or were used are paid for by money that was kept, or were used before their money went back.
    @Test("no more credits are there than the money pays for that the merchant keeps")
    func moneyBound() {
        var (refunded, changed) = (0, 0)
        for seed in UInt64(1)...Self.lives {
            let life = GeneratedCreditLife(seed: seed, isPaid: true)
            guard let moment = life.moments.last else { continue }
            let statement = life.statement(at: moment)
            let kept = KeptMoney(life, at: moment)
            refunded += life.refunds.isEmpty ? 0 : 1
            changed += kept.changes > 0 ? 1 : 0
            let slack = Double(statement.grants.count) + 1e-6
            let used = statement.uses.reduce(0) { $0 + $1.credits }
            var bound = kept.credits.reduce(0, +)
            if !life.policy.owes {
                for (period, credits) in zip(life.periods, kept.credits) {
                    let start = Date(millisecondsSince1970: period.start)
                    guard
                        let grant = statement.grants.first(where: { $0.from == start && $0.product == period.product })
                    else { continue }
                    let rest = statement.grants.filter { $0.reason == .carriedOver(from: grant.id) }
                    let used = rest.reduce(grant.used) { $0 + $1.used }
                    bound += max(0, min(Double(used), Double(grant.credits) - credits))
                }
            }
            #expect(
                Double(statement.balance + used) <= bound + slack,
                "seed \(seed): \(statement.balance) and \(used) used of \(bound)"
            )
        }
        #expect(refunded > Self.lives / 10 && changed > Self.lives / 10)
    }

    /// The money that a merchant has kept of each payment, as an accountant reckons it, and what it pays for.
    private struct KeptMoney {
        /// The credits that each payment pays for.
        private(set) var credits: [Double] = []
        private(set) var changes = 0

        init(_ life: GeneratedCreditLife, at moment: Int64) {
            func amount(_ money: Money?) -> Double { Double(money?.amount.description ?? "") ?? 0 }
            let periods = life.periods.filter { $0.start <= moment }
            // Of each payment: cash that is not set off, what an earlier one put in, and which share of it went back.
            let paid = periods.map { amount($0.price) }
            var (own, worth) = (paid, paid)
            var earlier: [(index: Int, share: Double)?] = periods.map { _ in nil }
            var back = periods.map { _ in 0.0 }
            func giveBack(_ share: Double, of index: Int) {
                back[index] += share
                if let before = earlier[index] { giveBack(share * before.share, of: before.index) }
            }
            for (index, period) in periods.enumerated() {
                for refund in life.refunds where index > 0 && refund.name == periods[index - 1].name {
                    guard refund.at <= period.start else { continue }
                    if case .amount(let money) = refund.scope { worth[index - 1] -= amount(money) }
                    if case .full = refund.scope { worth[index - 1] = 0 }
                }
                guard index > 0, period.start < periods[index - 1].end,
                    !life.ends.contains(where: { $0.period == periods[index - 1].name }), worth[index - 1] > 0
                else { continue }
                changes += 1
                let old = periods[index - 1]
                let unused = worth[index - 1] * Double(old.end - period.start) / Double(old.end - old.start)
                let setOff = min(unused, own[index])
                earlier[index] = (index - 1, setOff / paid[index - 1])
                own[index] -= setOff
                if unused > setOff { giveBack((unused - setOff) / paid[index - 1], of: index - 1) }
            }
            for refund in life.refunds where refund.at <= moment {
                guard let index = periods.firstIndex(where: { $0.name == refund.name }) else { continue }
                if case .amount(let money) = refund.scope {
                    giveBack(min(1, amount(money) / amount(periods[index].price)), of: index)
                } else {
                    giveBack(1, of: index)
                }
            }
            for (index, period) in periods.enumerated() {
                let full = Double(life.policy.allowances[period.product]?.credits ?? 0)
                credits.append(full * own[index] / amount(period.price) * max(0, 1 - back[index]))
            }
        }
    }
}
