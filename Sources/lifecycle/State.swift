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

            Exit status: 65 when a line is no event.
            """
    )

    @OptionGroup var input: EventInput

    func run() throws {
        let timeline = try input.timeline()
        guard let account = input.account else {
            for report in timeline.report(at: try input.moment) {
                try StandardOutput.write(line: CanonicalJSON.bytes(report))
            }
            return
        }
        let access = timeline.access(of: account, at: try input.moment)
        for environment in access.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            try StandardOutput.write(line: CanonicalJSON.bytes(EnvironmentAccess(environment, access[environment])))
        }
        if access.isEmpty { StandardError.write("no purchase is bound to that account") }
    }

    private struct EnvironmentAccess: Encodable {
        var environment: StoreEnvironment
        var access: AccountAccess?

        init(_ environment: StoreEnvironment, _ access: AccountAccess?) {
            self.environment = environment
            self.access = access
        }
    }
}

/// `lifecycle explain`
struct Explain: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Says in words why access is given or denied, and which statements that rests on.",
        discussion: "Exit status: 65 when a line is no event."
    )

    @OptionGroup var input: EventInput

    func run() throws {
        let explanations = try input.timeline().explanations(account: input.account, at: try input.moment)
        for explanation in explanations { try StandardOutput.write("\(explanation)") }
        if explanations.isEmpty { StandardError.write("no purchase is known, or none of that account") }
    }
}

/// Events and the question about them.
struct EventInput: ParsableArguments {
    @Option(help: ArgumentHelp("The moment in question, RFC 3339; by default the present.", valueName: "date"))
    var at: String?

    @Option(help: ArgumentHelp("Only what is bound to this account identifier.", valueName: "id"))
    var account: String?

    @Argument(
        help: ArgumentHelp("Events and statements, one a line, as `normalize` prints them; - reads standard input.")
    )
    var events: [String]

    var moment: Date {
        get throws {
            try at.map(Self.moment) ?? Date()
        }
    }

    static func moment(_ text: String) throws(ValidationError) -> Date {
        guard let milliseconds = RFC3339.milliseconds(text) else {
            throw ValidationError("--at is not an RFC 3339 time such as 2026-01-31T09:30:00Z")
        }
        return Date(millisecondsSince1970: milliseconds)
    }

    func timeline() throws -> Timeline {
        var timeline = Timeline()
        for path in events {
            for line in LogFile(try opened(path), at: path) { timeline.play(try line.get()) }
        }
        return timeline
    }
}

extension EventLog {
    /// The lines of a file; `-` is standard input.
    static func lines(at path: String) throws -> [LogLine] {
        try LogFile(try opened(path), at: path).map { try $0.get() }
    }
}
#endif
