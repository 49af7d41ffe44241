#if CommandLineTool
import ArgumentParser
import CustomerReport
import Foundation
import Normalizer

/// `lifecycle report`
struct Report: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Writes a page that shows purchases and explains access, for support and engineers.",
        discussion: """
            The page is one HTML document without scripts, and nothing in it is loaded from elsewhere. It shows each purchase \
            on a time axis, why there is or is no access at the time in question, and every event.

            Exit status: 65 when a line is no event, 66 when there is none or no purchase belongs to the account.
            """
    )

    @OptionGroup var input: EventInput

    @Flag(help: "Write HTML, which is the only form and the default.")
    var html = false

    func run() throws {
        var lines: [LogLine] = []
        try input.eachLine { lines.append($0) }
        var report = CustomerReportPage(lines, at: input.moment)
        if let account = input.account {
            var timeline = Timeline()
            for line in lines { timeline.play(line) }
            let own = Set(timeline.states(of: account).map(\.subscription))
            report.purchases.removeAll { !own.contains($0.state.subscription) }
        }
        guard !report.purchases.isEmpty else { throw input.nothingFound() }
        try StandardOutput.write(report.html(title: input.account ?? "Purchases"))
    }
}
#endif
