#if CommandLineTool
import ArgumentParser
import Foundation
import Normalizer

/// `lifecycle state`
struct State: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Joins events into states and prints what they look like, one lineage a line.",
        discussion: """
            The order and the number of the events do not matter. With --account, prints the access of that account \
            instead, one line for each environment that it has purchases in.

            Exit status: 65 when a line is no event, 66 when there is none or no purchase belongs to the account.
            """
    )

    @OptionGroup var input: EventInput
    @OptionGroup var output: OutputOptions

    func run() throws {
        let timeline = try input.timeline()
        guard let account = input.account else {
            let heads = ["LINEAGE", "STATUS", "PRODUCT", "ACCESS", "RENEWS", "CONTRADICTIONS"]
            return try output.print(timeline.report(at: input.moment), heads: heads, \.cells)
        }
        let access = timeline.access(of: account, at: input.moment)
        guard !access.isEmpty else { throw input.nothingFound() }
        let rows = access.map(EnvironmentAccess.init).sorted { $0.environment.rawValue < $1.environment.rawValue }
        try output.print(rows, heads: ["ENVIRONMENT", "ACCESS", "BY"], \.cells)
    }
}

private struct EnvironmentAccess: Encodable {
    let environment: StoreEnvironment
    let access: AccountAccess

    var cells: [String] {
        [
            environment.rawValue, access.decision.words,
            access.grantors.map(\.subscription.description).joined(separator: ", "),
        ]
    }
}

extension Timeline.LineageReport {
    fileprivate var cells: [String] {
        let renews = snapshot.willRenew.map { $0 ? "yes" : "no" } ?? "-"
        return [
            subscription.description, snapshot.status.rawValue, snapshot.product?.rawValue ?? "-",
            snapshot.access.words, renews,
            contradictions.isEmpty ? "-" : "\(contradictions.count)",
        ]
    }
}

extension AccessDecision {
    /// The decision for people, in a few words.
    var words: String {
        switch self {
        case .granted(let until, _): until.map { "until \(Moment($0))" } ?? "without end"
        case .denied(let since, let denial):
            since.map { "none since \(Moment($0))" } ?? "none: \(denial.reason.rawValue)"
        }
    }
}

/// `lifecycle explain`
struct Explain: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Says why access is given or denied, and which statements that rests on.",
        discussion: """
            On a terminal, or with --text, in words.

            Exit status: 65 when a line is no event, 66 when there is none or no purchase belongs to the account.
            """
    )

    @OptionGroup var input: EventInput
    @OptionGroup var output: OutputOptions

    func run() throws {
        let explanations = try input.timeline().explanations(account: input.account, at: input.moment)
        guard !explanations.isEmpty else { throw input.nothingFound() }
        try output.print(explanations)
    }
}

/// Events and the question about them.
struct EventInput: ParsableArguments {
    @Option(
        help: ArgumentHelp("The moment in question, \(Moment.form); by default the present.", valueName: "time"),
        transform: Moment.init
    )
    var at: Moment?

    @Option(
        help: ArgumentHelp(
            "Only what is bound to this account identifier, of any source; a UUID in either case.",
            valueName: "id"
        )
    )
    var account: String?

    @Argument(
        help: ArgumentHelp("Events and statements, one a line, as `normalize` prints them; - reads standard input.")
    )
    var events: [String]

    var moment: Date { at?.date ?? Date() }

    func timeline() throws -> Timeline {
        var timeline = Timeline()
        try eachLine { timeline.play($0) }
        return timeline
    }

    /// Hands over every line, and shows how far it is.
    ///
    /// - Throws: ``ArgumentParser/ExitCode/nothingFound`` if there is none.
    func eachLine(_ body: (LogLine) -> Void) throws {
        var isEmpty = true
        var progress = Progress("lines")
        for path in events {
            for line in LogFile(try opened(path), at: path) {
                body(try line.get())
                isEmpty = false
                progress.advance()
            }
        }
        guard isEmpty else { return }
        StandardError.write("the input has no event")
        throw ExitCode.nothingFound
    }

    /// Says that nothing is known, on standard error.
    func nothingFound() -> ExitCode {
        StandardError.write(account == nil ? "the events are about no purchase" : "no purchase belongs to this account")
        return .nothingFound
    }
}

extension EventLog {
    /// The lines of a file; `-` is standard input.
    static func lines(at path: String) throws -> [LogLine] {
        try LogFile(try opened(path), at: path).map { try $0.get() }
    }
}
#endif
