#if CommandLineTool
import ArgumentParser

/// The command line: everything that the libraries do, for shells, scripts and other languages.
@main
struct Lifecycle: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lifecycle",
        abstract: "Verifies what app stores and payment providers send, and maps it to canonical events.",
        discussion: """
            Exit status, whatever the subcommand: 64 for wrong usage, also where a file that is named cannot be read, and \
            74 where output cannot be written. A subcommand's own are named in its help.
            """,
        subcommands: [
            Normalize.self, Pull.self, JournalCommand.self, Check.self, State.self, Explain.self, Report.self,
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
            let type = type(of: command)
            let name = type.configuration.commandName ?? "\(type)".lowercased()
            StandardError.write("Error: \(error.message)\n  See 'lifecycle \(name) --help' for more information.")
            exit(withError: ExitCode.validationFailure)
        } catch {
            exit(withError: error)
        }
    }
}

extension ExitCode {
    /// Something was rejected (`EX_DATAERR`).
    static let rejected = ExitCode(65)
    /// A provider could not be reached (`EX_UNAVAILABLE`).
    static let unavailable = ExitCode(69)
    /// Output could not be written (`EX_IOERR`).
    static let cannotWrite = ExitCode(74)
}
#endif
