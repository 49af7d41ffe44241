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

            Exit status: 65 when a line is no event, 66 when no purchase is known, or none of the account.
            """
    )

    @OptionGroup var input: EventInput

    @Flag(help: "Writes HTML, which is the only form so far and need not be named.")
    var html = false

    func run() throws {
        let lines = try input.events.flatMap { try EventLog.lines(at: $0) }
        var report = CustomerReport(lines, at: try input.moment)
        if let account = input.account {
            var timeline = Timeline()
            for line in lines { timeline.play(line) }
            let own = Set(timeline.states(of: account).map(\.subscription))
            report.purchases.removeAll { !own.contains($0.state.subscription) }
        }
        guard !report.purchases.isEmpty else {
            StandardError.write("no purchase is known, or none of that account")
            throw ExitCode(66)
        }
        try StandardOutput.write(report.html(title: input.account ?? "Purchases"))
    }
}
#endif
