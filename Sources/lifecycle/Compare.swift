#if CommandLineTool
import ArgumentParser
import Foundation
import Normalizer

/// `lifecycle compare`
struct Compare: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Compares what two channels said of the same purchases.",
        discussion: """
            Each file holds the events of one channel, one a line, as `lifecycle normalize` prints them. Prints one line \
            for whatever differs: a pair of events of one fact, an event that only one side has, or a stretch of time \
            in which only one side gives access. The summary goes to standard error. Exit status 1 unless both agree \
            in everything.
            """
    )

    @Option(help: "How many seconds apart two statements without a common identity may be made.")
    var window: Int = 7200

    @Flag(help: "Print the pairs that agree, too.")
    var all = false

    @Argument(help: ArgumentHelp("Events of one channel; - reads standard input.", valueName: "first"))
    var first: String

    @Argument(help: ArgumentHelp("Events of the other.", valueName: "second"))
    var second: String

    func validate() throws {
        guard window >= 0 else { throw ValidationError("--window is negative") }
    }

    func run() throws {
        let comparison = ChannelComparison(try events(first), try events(second), window: .seconds(window))
        if all { for pair in comparison.agreeing { try print("agrees", pair) } }
        for pair in comparison.differing { try print("differs", pair) }
        for item in comparison.onlyFirst { try print("only_first", item) }
        for item in comparison.onlySecond { try print("only_second", item) }
        for stretch in comparison.access { try print("access", stretch) }
        StandardError.write(
            "\(comparison.agreeing.count) agree, \(comparison.differing.count) differ, "
                + "\(comparison.onlyFirst.count) only in the first, \(comparison.onlySecond.count) only in the second, "
                + "access differs in \(comparison.access.count) stretches"
        )
        if !comparison.isAgreement { throw ExitCode(1) }
    }

    private func events(_ path: String) throws -> [NormalizedEvent] {
        do {
            return try EventLog.events(in: try contents(of: path))
        } catch let error as EventLog.InvalidLine {
            throw ValidationError("\(path): \(error)")
        } catch {
            throw ValidationError("\(path) cannot be read")
        }
    }

    private func print(_ outcome: String, _ detail: some Encodable) throws {
        StandardOutput.write(line: try CanonicalJSON.bytes(Line(outcome: outcome, detail: detail)))
    }

    private struct Line<Detail: Encodable>: Encodable {
        var outcome: String
        var detail: Detail
    }
}
#endif
