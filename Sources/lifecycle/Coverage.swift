#if CommandLineTool
import ArgumentParser
import ConformanceVectors
import Foundation
import Normalizer
import NotificationCoverage

/// `lifecycle coverage`
struct ShowCoverage: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "coverage",
        abstract: "Shows the events that every notification of a provider becomes.",
        discussion: """
            Sends each test vector through its adapter and prints a table of the events.

            Exit status: 1 when a case that the provider documents was not tried, or gave no event without a reason.
            """
    )

    @Option(
        help: ArgumentHelp(
            "Write the tables into this page, between their marks, instead of printing them.",
            valueName: "page"
        )
    )
    var write: String?

    @Option(
        help: ArgumentHelp("The folder with the test vectors, one folder in it for each provider.", valueName: "folder")
    )
    var vectors: String = "TestVectors"

    @Argument(help: "\(Provider.choice); all of them by default.")
    var providers: [String] = []

    func validate() throws {
        for name in providers where !Provider.adapted.contains(Provider(rawValue: name)) {
            throw ValidationError("\(name) must be \(Provider.choice)")
        }
    }

    private static func vectors(of provider: Provider, in folder: String) throws -> [Vector] {
        let folder = URL(fileURLWithPath: folder).appendingPathComponent(provider.rawValue)
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder.path) else {
            throw unreadable(folder.path)
        }
        return try names.sorted().filter { $0.hasSuffix(".jsonl") }.flatMap { name in
            try VectorReader.vectors(in: contents(of: folder.appendingPathComponent(name).path))
        }
    }

    func run() async throws {
        let vectors = try Provider.adapted.flatMap { try Self.vectors(of: $0, in: self.vectors) }
        var page = try write.map { String(decoding: try contents(of: $0), as: UTF8.self) }
        var unexplained = 0
        for provider in providers.isEmpty ? Provider.adapted : providers.map(Provider.init(rawValue:)) {
            let coverage = try await Progress.during("\(provider)") { try await Coverage(provider, vectors: vectors) }
            if let text = page {
                guard let inserted = coverage.inserted(into: text) else {
                    throw ValidationError("the page has no marks for the tables of \(provider)")
                }
                page = inserted
            } else {
                try StandardOutput.write(line: Array("## \(provider)\n\n\(coverage.markdown)".utf8))
            }
            for line in coverage.unexplained { StandardError.write(line) }
            StandardError.write(coverage.summary)
            unexplained += coverage.unexplained.count
        }
        if let write, let page { try writeFile(page.utf8, to: URL(fileURLWithPath: write)) }
        if unexplained > 0 { throw ExitCode.differs }
    }
}
#endif
