#if CommandLineTool
import ArgumentParser
import Foundation

/// The command line: everything that the libraries do, for shells, scripts and other languages.
@main
struct Lifecycle: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lifecycle",
        abstract: "Verifies notifications of app stores and payment providers, and maps them to canonical events.",
        discussion: """
            On a terminal the answers are for people, and into a pipe they are JSON Lines. Long work shows on a terminal \
            how far it is. A time is RFC 3339; a date alone is its midnight in UTC.

            Exit status:

            \(ExitStatus.table)
            """,
        version: Version.current,
        subcommands: [
            Normalize.self, Pull.self, JournalCommand.self, BackfillCommand.self, ReconcileCommand.self,
            RefetchCommand.self, PreflightCommand.self, ImportCommand.self, CatalogCommand.self, Check.self, State.self,
            Explain.self,
            Report.self,
            Credits.self,
            Compare.self, Simulate.self,
            ChaosCommand.self, Demo.self, ShowCoverage.self,
        ]
    )
}

extension Lifecycle {
    static func main() async {
        let command: any ParsableCommand
        do { command = try parseAsRoot() } catch { exit(withError: error) }
        do {
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                var command = command
                try command.run()
            }
        } catch let error as ValidationError {
            // The parser's own text would show how the root is used, since it does not know any more which command ran.
            let path = path(to: type(of: command)).joined(separator: " ")
            StandardError.write("Error: \(error.message)\n  See '\(path) --help' for more information.")
            exit(withError: ExitCode.validationFailure)
        } catch {
            StandardError.clearProgress()
            exit(withError: error)
        }
        StandardError.clearProgress()
    }

    /// The words that lead to a subcommand.
    private static func path(to command: any ParsableCommand.Type) -> [String] {
        func words(_ parent: any ParsableCommand.Type) -> [String]? {
            let name = parent.configuration.commandName ?? "\(parent)".lowercased()
            if parent == command { return [name] }
            return parent.configuration.subcommands.lazy.compactMap(words).first.map { [name] + $0 }
        }
        return words(Self.self) ?? [configuration.commandName ?? ""]
    }
}

extension ExitCode {
    /// The question was answered with a difference, or with too little (as `diff` and `grep` do).
    static let differs = ExitCode(1)
    /// Data was refused (`EX_DATAERR`).
    static let rejected = ExitCode(65)
    /// The input or the account is unknown (`EX_NOINPUT`).
    static let nothingFound = ExitCode(66)
    /// A provider or a database could not be reached or used, or refused the credentials (`EX_UNAVAILABLE`).
    static let unavailable = ExitCode(69)
    /// Output could not be written (`EX_IOERR`).
    static let cannotWrite = ExitCode(74)
}

/// The exit statuses of every subcommand. `docs/command-line.md` has the same lines.
enum ExitStatus {
    static let meanings: [(code: Int32, meaning: String)] = [
        (ExitCode.success, "done"),
        (
            .differs,
            "a case, a comparison or a story differs, credits, purchases or products are missing, or a history has a gap"
        ),
        (.validationFailure, "wrong usage, including an unreadable file and an unknown account source"),
        (
            .rejected,
            "data was refused: a delivery, a line without an event, a log that was changed, the id of another use, a position beyond the log"
        ),
        (
            .nothingFound,
            "nothing found: the input has no event, no purchase belongs to the account, or no delivery has the id"
        ),
        (.unavailable, "a provider or a database could not be reached or used, or refused the credentials"),
        (.cannotWrite, "output could not be written"),
    ].map { ($0.0.rawValue, $0.1) }

    fileprivate static var table: String {
        meanings.map { "\($0.code)".padding(toLength: 4, withPad: " ", startingAt: 0) + $0.meaning }
            .joined(separator: "\n")
    }
}
#endif
