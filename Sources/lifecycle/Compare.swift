#if CommandLineTool
import ArgumentParser
import Foundation
import Normalizer
import ShadowComparison

/// `lifecycle compare`
struct Compare: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Compares what two channels said of the same purchases.",
        discussion: """
            Each file holds the events and statements of one channel, one a line, as `lifecycle normalize` prints them. Prints one line \
            for whatever differs: a pair of events of one fact, an event or a lineage that only one side has, or a \
            stretch of time in which only one side gives access. The last line holds the numbers, which also go to \
            standard error as a table.

            Exit status: 1 when they differ in anything that both report, or report nothing in common; 65 when a line is \
            no event.
            """
    )

    @Option(help: "How many seconds apart two statements without a common identity may be made.")
    var window: Int = 7200

    @Option(help: "How many seconds times, and access, may differ without being reported.")
    var tolerance: Int = 60

    @Option(
        help: ArgumentHelp("Report on the time from then on, \(Moment.form).", valueName: "time"),
        transform: Moment.init
    )
    var from: Moment?

    @Option(help: ArgumentHelp("Report on the time before then.", valueName: "time"), transform: Moment.init)
    var until: Moment?

    @Flag(help: "Print the pairs that agree and the events that have no counterpart, too.")
    var all = false

    @Argument(help: ArgumentHelp("Events of one channel; - reads standard input.", valueName: "first"))
    var first: String

    @Argument(help: ArgumentHelp("Events of the other.", valueName: "second"))
    var second: String

    func validate() throws {
        guard window >= 0 else { throw ValidationError("--window must be 0 or more seconds") }
        guard tolerance >= 0 else { throw ValidationError("--tolerance must be 0 or more seconds") }
        guard first != "-" || second != "-" else {
            throw ValidationError("only one of the two sides can be standard input")
        }
        _ = try range()
    }

    func run() throws {
        let comparison = ChannelComparison(
            log: try EventLog.lines(at: first),
            and: try EventLog.lines(at: second),
            window: .seconds(window),
            tolerance: .seconds(tolerance),
            in: try range()
        )
        if all { for pair in comparison.agreeing { try print("agrees", pair) } }
        for pair in comparison.differing { try print("differs", pair) }
        for item in comparison.onlyFirst { try print("only_first", item) }
        for item in comparison.onlySecond { try print("only_second", item) }
        if all { for item in comparison.withoutCounterpart { try print("without_counterpart", item) } }
        for lineage in comparison.lineagesOnlyFirst { try print("lineage_only_first", lineage) }
        for lineage in comparison.lineagesOnlySecond { try print("lineage_only_second", lineage) }
        for stretch in comparison.access { try print("access", stretch) }
        let summary = comparison.summary
        try print("summary", summary)
        StandardError.write(ComparisonTable(summary).description)
        if !summary.isAgreement { throw ExitCode.differs }
    }

    /// The time to report on; nil if neither end is given.
    private func range() throws -> Range<Date>? {
        guard from != nil || until != nil else { return nil }
        let lower = from?.date ?? Date(millisecondsSince1970: 0)
        let upper = until?.date ?? .distantFuture
        guard lower < upper else { throw ValidationError("--until must be after --from") }
        return lower..<upper
    }

    private func print(_ outcome: String, _ detail: some Encodable) throws {
        try StandardOutput.write(line: CanonicalJSON.bytes(Line(outcome: outcome, detail: detail)))
    }

    private struct Line<Detail: Encodable>: Encodable {
        var outcome: String
        var detail: Detail
    }
}

/// The numbers of a comparison, for people.
private struct ComparisonTable: CustomStringConvertible {
    let description: String

    init(_ summary: ChannelComparison.Summary) {
        let head = ["", "agree", "differ", "only first", "only second", "no counterpart", "lag (median, most)"]
        let rows = summary.rows.map { row in
            [row.kind]
                + [row.agreeing, row.differing, row.onlyFirst, row.onlySecond, row.withoutCounterpart].map {
                    $0 == 0 ? "-" : "\($0)"
                }
                + [row.medianLag.map { "\(Self.seconds($0)), \(Self.seconds(row.maximumLag ?? $0))" } ?? "-"]
        }
        let columns = Columns(fitting: [head] + rows)
        var lines = ([head] + rows).map(columns.line)
        lines.append(
            "lineages only in the first: \(summary.lineagesOnlyFirst), in the second: \(summary.lineagesOnlySecond)"
        )
        lines.append(
            "stretches of differing access: \(summary.accessDifferences), in \(summary.lineagesWithAccessDifferences) lineages"
        )
        lines.append(summary.isAgreement ? "the two agree" : "the two do not agree")
        description = lines.joined(separator: "\n")
    }

    private static func seconds(_ milliseconds: Int64) -> String { "\(milliseconds / 1000) s" }
}
#endif
