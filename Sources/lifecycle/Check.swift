#if CommandLineTool
import ArgumentParser
import ConformanceVectors
import Foundation
import Normalizer

/// `lifecycle check`
struct Check: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Runs test vectors and compares them with what they expect.",
        discussion: """
            Prints one line for each case: {"id","outcome","code"?,"message"?,"answer","events","statements"?,"anomalies"?,\
            "matched"?}, in the order of the files. `anomalies` names members that are absent or unexpected. On a terminal it prints the id of each case and its outcome. Differences, with the \
            expected and the actual value, and the summary go to standard error.

            Exit status: 1 when a case differs from its expectation, a line is no case, or a file has none.
            """
    )

    @Option(help: "How many cases run at the same time.")
    var jobs: Int = 1

    @OptionGroup var output: OutputOptions

    @Argument(help: ArgumentHelp("Test-vector files, one case a line; - reads standard input.", valueName: "cases"))
    var files: [String]

    func validate() throws {
        guard jobs >= 1 else { throw ValidationError("--jobs must be at least 1") }
    }

    func run() async throws {
        var lines: [(place: String, line: ArraySlice<UInt8>, shared: SharedParts)] = []
        var empty: [String] = []
        for file in files {
            let bytes = try contents(of: file)
            let count = lines.count
            var shared = SharedParts()
            for (number, line) in bytes.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated()
            where !line.allSatisfy({ $0 == 0x20 || $0 == 0x0D }) {
                if let found = try? SharedParts.read(line) {
                    shared = found
                } else {
                    lines.append(("\(file):\(number + 1)", line, shared))
                }
            }
            if lines.count == count { empty.append(file) }
        }
        var summary = Summary(isForPeople: output.isForPeople)
        var progress = Progress("cases", of: lines.count)
        try await eachInOrder(lines, jobs: jobs) { entry -> LineResult in
            do {
                return .outcome(await VectorRunner.run(try Vector(line: entry.line, shared: entry.shared)))
            } catch {
                return .invalid("\(entry.place): \(error)")
            }
        } consume: { result in
            try summary.report(result)
            progress.advance()
        }
        for file in empty { StandardError.write("\(file): no case in this file") }
        StandardError.write(summary.text)
        if summary.differing + summary.invalid + empty.count > 0 { throw ExitCode.differs }
    }
}

private enum LineResult: Sendable {
    case outcome(VectorOutcome)
    case invalid(String)
}

private struct Summary {
    let isForPeople: Bool
    var matching = 0
    var unjudged = 0
    var differing = 0
    var invalid = 0

    mutating func report(_ result: LineResult) throws {
        switch result {
        case .invalid(let message):
            invalid += 1
            StandardError.write(message)
        case .outcome(let outcome):
            if isForPeople {
                try StandardOutput.write("\(outcome.id)  \(outcome.words)")
            } else {
                try StandardOutput.write(line: outcome.line())
            }
            switch outcome.matched {
            case true?: matching += 1
            case nil: unjudged += 1
            case false?:
                differing += 1
                StandardError.write("\(outcome.id): \(outcome.difference ?? "differs")")
            }
        }
    }

    var text: String {
        "\(matching) as expected, \(differing) differ, \(unjudged) without expectation, \(invalid) not readable"
    }
}

extension VectorOutcome {
    /// For people, in a few words.
    fileprivate var words: String {
        let mark =
            switch matched {
            case true?: "as expected"
            case false?: "differs"
            case nil: "no expectation"
            }
        switch result {
        case .success(let normalization):
            let kinds = normalization.events.map(\.kind.rawValue)
            return "\(mark): \(kinds.isEmpty ? "accepted without an event" : kinds.joined(separator: ", "))"
        case .failure(let error):
            return "\(mark): rejected, \(error.code)"
        }
    }
}

/// Runs `work` for up to `jobs` elements at a time and hands the results over in the order of the elements.
private func eachInOrder<Element: Sendable, Output: Sendable>(
    _ elements: [Element],
    jobs: Int,
    _ work: @escaping @Sendable (Element) async -> Output,
    consume: (Output) throws -> Void
) async throws {
    try await withThrowingTaskGroup(of: (Int, Output).self) { group in
        var started = 0
        var waiting: [Int: Output] = [:]
        var next = 0
        func start() {
            guard started < elements.count else { return }
            let (index, element) = (started, elements[started])
            started += 1
            group.addTask { (index, await work(element)) }
        }
        for _ in 0..<min(jobs, elements.count) { start() }
        while let (index, output) = try await group.next() {
            waiting[index] = output
            while let output = waiting.removeValue(forKey: next) {
                try consume(output)
                next += 1
            }
            start()
        }
    }
}
#endif
