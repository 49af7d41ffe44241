import Foundation
import Testing

@Suite("README")
struct ReadmeTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private func lines(_ path: String) throws -> [String] {
        try String(contentsOf: Self.root.appendingPathComponent(path), encoding: .utf8)
            .split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    }

    @Test("The call site is the one that the snippet compiles")
    func callSite() throws {
        let readme = try lines("README.md")
        let start = try #require(readme.firstIndex(of: "do {"))
        let end = try #require(readme[start...].firstIndex(of: "```"))
        let snippet = try lines("Snippets/ReceiveApple.swift")
        let shown = try #require(snippet.firstIndex(of: "do {"))
        let call = Array(readme[start..<end])
        #expect(call.count <= 12)
        #expect(Array(snippet[shown...].prefix(call.count)) == call)
    }
}
