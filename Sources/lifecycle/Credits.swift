#if CommandLineTool
import ArgumentParser
import Foundation
import Normalizer

/// `lifecycle credits`
struct Credits: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract:
            "Prints the credits that follow from events: granted, ended, used and left.",
        discussion: """
            The order and the number of the events do not matter. The policy is a JSON object such as \
            {"allowances": {"pro": {"credits": 500, "price": {"amount": "20.00", "currency": "USD"}, "every": "month"}}, \
            "rounding": "down", "carries_over": true, "owes": false}. Uses are JSON objects, one a line, such as \
            {"id": "job-1", "credits": 30, "at": "2026-01-31T09:30:00.000Z"}.

            Exit status: 65 when a line is no event or no use, or the policy cannot be read; 66 when there is no event or no \
            purchase belongs to the account.
            """
    )

    @OptionGroup var input: EventInput

    @OptionGroup var output: OutputOptions

    @Option(help: "The store's environment: production or sandbox.")
    var environment: String = "production"

    @Option(help: ArgumentHelp("The credits that each product gives.", valueName: "file"))
    var policy: String

    @Option(help: ArgumentHelp("Uses of credits, one a line.", valueName: "file"))
    var uses: String?

    func validate() throws {
        guard ["production", "sandbox"].contains(environment) else {
            throw ValidationError("--environment must be production or sandbox")
        }
    }

    func run() throws {
        let timeline = try input.timeline()
        let known = input.account.map { timeline.states(of: $0) } ?? timeline.ledger.states
        guard !known.isEmpty else { throw input.nothingFound() }
        // A tester's purchases are paid for with no money.
        let states = known.filter { $0.subscription.environment.rawValue == environment }
        guard !states.isEmpty else {
            StandardError.write("no purchase is of the environment \(environment)")
            throw ExitCode.nothingFound
        }
        let statement = CreditStatement(
            of: states,
            under: try read(CreditPolicy.self, contents(of: policy), policy),
            uses: try uses.map(readUses) ?? [],
            at: input.moment
        )
        guard output.isForPeople else { return try StandardOutput.write(line: CanonicalJSON.bytes(statement)) }
        for line in statement.table { try StandardOutput.write(line) }
    }

    private func readUses(_ path: String) throws -> [CreditUse] {
        try contents(of: path).split(separator: UInt8(ascii: "\n")).enumerated().map { number, line in
            try read(CreditUse.self, Array(line), "\(path): line \(number + 1)")
        }
    }

    private func read<Value: Decodable>(_: Value.Type, _ bytes: [UInt8], _ name: String) throws -> Value {
        do throws(InvalidValue) {
            return try CanonicalJSON.value(from: bytes)
        } catch {
            let expected = Value.self == CreditUse.self ? "use of credits" : "credit policy"
            StandardError.write("\(name): not a \(expected): \(error)")
            throw ExitCode.rejected
        }
    }
}

extension CreditStatement {
    /// Grants, endings and uses for people, and the balance.
    var table: [String] {
        func date(_ date: Date) -> String { String(RFC3339.string(date.millisecondsSince1970).prefix(16)) }
        let names = Dictionary(
            grants.enumerated().map { ($0.element.id, "#\($0.offset + 1)") },
            uniquingKeysWith: { $1 }
        )
        var rows = [["GRANT", "FROM", "UNTIL", "WHY", "PRODUCT", "CREDITS", "USED", "ENDED", "LEFT"]]
        for grant in grants {
            var why = grant.reason.name
            switch grant.reason {
            case .carriedOver(let id): why += " from \(names[id] ?? id.rawValue)"
            case .instalment(let number): why += " \(number + 1)"
            case .overdrawn(let use): why += " by \(use)"
            default: break
            }
            rows.append([
                names[grant.id] ?? "", date(grant.from), grant.until.map(date) ?? "used", why,
                grant.product?.rawValue ?? "",
                "\(grant.credits)", "\(grant.used)", "\(grant.ended)", "\(grant.left)",
            ])
        }
        var ends = [["ENDED", "AT", "WHY", "CREDITS"]]
        for ending in endings {
            ends.append([names[ending.grant] ?? "", date(ending.at), ending.reason.rawValue, "\(ending.credits)"])
        }
        var used = [["USE", "AT", "CREDITS"]]
        for use in uses { used.append([use.id, date(use.at), "\(use.credits)"]) }
        let tables = [rows, ends, used].filter { $0.count > 1 }
        return tables.flatMap { rows in rows.map(Columns(fitting: rows).line) + [""] } + [
            "balance \(balance) at \(date(at))"
        ]
    }
}
#endif
