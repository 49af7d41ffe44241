import Foundation
import Normalizer
import Testing

@Suite("README")
struct ReadmeTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private func lines(_ path: String) throws -> [String] {
        try String(contentsOf: Self.root.appendingPathComponent(path), encoding: .utf8)
            .split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    }

    @Test("The usage that it shows is the compiled snippet")
    func use() throws {
        let section = try #require(
            try lines("README.md").split(separator: "## A Swift backend").last?.split(
                separator: "## On the command line"
            ).first
        )
        // The first is of a manifest.
        let shown = Array(blocks(section).dropFirst())
        #expect(shown.map(\.count).max() ?? 0 <= 12)
        #expect(shown.count == 4)
        #expect(try shown == compiled("Snippets/Journal.swift"))
    }

    @Test("A page shows only code that a snippet compiles, unless it leaves something out with an ellipsis")
    func pages() throws {
        let compiled = try snippets()
        let folder = Self.root.appendingPathComponent("docs").path
        let pages = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".md") }
        let shown = try pages.flatMap { page in blocks(try lines("docs/\(page)")[...]).map { (page, $0) } }
        let whole = shown.filter { !$0.1.contains { $0 == "…" } }
        #expect(whole.count > 20 && shown.count - whole.count <= 1)
        for (page, block) in whole { #expect(compiled.contains(block), "\(page): \(block.first ?? "")") }
    }

    @Test("A guide shows only code that a snippet compiles")
    func guides() throws {
        let compiled = try snippets()
        let paths = try FileManager.default.subpathsOfDirectory(
            atPath: Self.root.appendingPathComponent("Sources").path
        )
        let shown = try paths.filter { $0.contains(".docc/") && $0.hasSuffix(".md") }
            .flatMap { blocks(try lines("Sources/\($0)")[...]) }
            .filter { block in ![".package(", "// swift-tools-version"].contains { block.first?.hasPrefix($0) == true }
            }
        #expect(!shown.isEmpty)
        #expect(shown.filter { !compiled.contains($0) } == [])
    }

    @Test(
        "A policy that a page shows can be read",
        arguments: ["Sources/LifecycleJournal/LifecycleJournal.docc/Credits.md", "Gateway/README.md"]
    )
    func policies(page: String) throws {
        let shown = try blocks(lines(page)[...], of: "json").filter { $0.first?.hasPrefix(#"{"allowances""#) == true }
        #expect(shown.count == 1)
        for policy in shown {
            _ = try CanonicalJSON.value(CreditPolicy.self, from: Array(policy.joined(separator: "\n").utf8))
        }
    }

    private func snippets() throws -> Set<[String]> {
        let folder = Self.root.appendingPathComponent("Snippets").path
        return Set(
            try FileManager.default.contentsOfDirectory(atPath: folder).flatMap { try compiled("Snippets/\($0)") }
        )
    }

    private func blocks(_ lines: ArraySlice<String>, of language: String = "swift") -> [[String]] {
        lines.split(separator: "```\(language)", omittingEmptySubsequences: false).dropFirst().map {
            Array($0.prefix { $0 != "```" })
        }
    }

    private func compiled(_ snippet: String) throws -> [[String]] {
        try lines(snippet).split(separator: "// snippet.show").dropFirst().map {
            Array($0.prefix { $0 != "// snippet.hide" })
        }
    }

    @Test("Its questions about the demo's events have an answer", arguments: ["state", "explain"])
    func demoEvents(command: String) throws {
        let line = try #require(try lines("README.md").first { $0.hasPrefix("Scripts/lifecycle \(command) ") })
        let events = FileManager.default.temporaryDirectory.appendingPathComponent("readme-\(UUID().uuidString).jsonl")
        defer { try? FileManager.default.removeItem(at: events) }
        #expect(try CommandLineRun(["demo", "--out", events.path]).status == 0)
        let arguments = line.split(separator: " ").dropFirst()
            .map { $0.replacingOccurrences(of: "demo-events.jsonl", with: events.path) }
        let run = try CommandLineRun(arguments)
        #expect(run.status == 0, "\(run.errors)")
        #expect(!run.output.isEmpty)
        #expect(run.errors.isEmpty)
    }

    /// A copy of the repository may lack the tag, so the page shows the branch first.
    @Test("A package may depend on the branch, or on the newest version")
    func version() throws {
        let headings = try lines("CHANGELOG.md").filter { $0.hasPrefix("## ") && !$0.hasPrefix("## Unreleased") }
        let newest = try #require(headings.first).split(separator: " ")[1]
        let page = try lines("README.md")
        #expect(page.contains { $0.hasPrefix(".package(url:") && $0.hasSuffix(#"branch: "main"),"#) })
        #expect(page.contains { $0.contains("`from: \"\(newest)\"`") })
    }
}
