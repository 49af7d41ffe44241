import Foundation
import Normalizer
import Testing

@Suite("lifecycle credits")
struct CreditsCommandTests {
    private static let policy = #"""
        {"allowances": {"com.example.app.basic.monthly": {"credits": 200}, "com.example.app.pro.monthly": {"credits": 500}}}
        """#

    private func temporary(_ text: String) throws -> URL {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("credits-\(UUID().uuidString)")
        try text.write(to: file, atomically: true, encoding: .utf8)
        return file
    }

    private func demo() throws -> [String] {
        let file = try temporary("")
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try CommandLineRun(["demo", "--out", file.path]).status == 0)
        return String(decoding: try Data(contentsOf: file), as: UTF8.self).split(separator: "\n").map(String.init)
    }

    @Test("it prints grants, endings, uses and the balance, whatever the order and number of events")
    func prints() throws {
        let (policy, uses) = (
            try temporary(Self.policy), try temporary(#"{"id":"job-1","credits":30,"at":"2026-03-27T12:00:00.000Z"}"#)
        )
        defer { for file in [policy, uses] { try? FileManager.default.removeItem(at: file) } }
        let events = try demo()
        let arguments = ["--policy", policy.path, "--uses", uses.path, "--at", "2026-03-28T00:00:00Z"]
        let once = try CommandLineRun(
            ["credits", "--json"] + arguments + ["-"],
            input: Data(events.joined(separator: "\n").utf8)
        )
        #expect(once.status == 0, "\(once.errors)")
        let again = try CommandLineRun(
            ["credits", "--json"] + arguments + ["-"],
            input: Data((events.reversed() + events).joined(separator: "\n").utf8)
        )
        #expect(again.output == once.output)
        let statement = try CanonicalJSON.value(CreditStatement.self, from: Array(once.output.utf8))
        #expect(statement.balance > 0)
        #expect(statement.uses.map(\.id) == ["job-1"])
        let table = try CommandLineRun(
            ["credits", "--text"] + arguments + ["-"],
            input: Data(events.joined(separator: "\n").utf8)
        )
        #expect(table.output.contains("GRANT"))
        #expect(table.output.contains("job-1"))
        #expect(table.output.hasSuffix("balance \(statement.balance) at 2026-03-28T00:00\n"))
    }

    @Test("purchases of one environment give credits, of production unless another is named")
    func environment() throws {
        let policy = try temporary(Self.policy)
        defer { try? FileManager.default.removeItem(at: policy) }
        let events = try demo()
        let tested = events.map {
            $0.replacing(#""environment":"production""#, with: #""environment":"sandbox""#)
                .replacing("/production/", with: "/sandbox/")
        }
        func balances(_ lines: [String], _ environment: [String]) throws -> [Int64] {
            let run = try CommandLineRun(
                ["credits", "--json", "--policy", policy.path, "--at", "2026-03-28T00:00:00Z"] + environment + ["-"],
                input: Data(lines.joined(separator: "\n").utf8)
            )
            guard run.status == 0 else { return [] }
            return [try CanonicalJSON.value(CreditStatement.self, from: Array(run.output.utf8)).balance]
        }
        let paid = try balances(events, [])
        #expect(try paid != [] && balances(events + tested, []) == paid)
        #expect(try balances(tested, ["--environment", "sandbox"]) == paid)
        #expect(try balances(tested, []) == [])
    }

    @Test("a file that is no policy, no use or no event is refused with 65")
    func refused() throws {
        let (policy, other) = (try temporary(Self.policy), try temporary("{}"))
        defer { for file in [policy, other] { try? FileManager.default.removeItem(at: file) } }
        let events = try demo().joined(separator: "\n")
        for (arguments, input, reason) in [
            (["--policy", other.path], events, "not a credit policy: member allowances is missing"),
            (["--policy", policy.path, "--uses", other.path], events, "not a use of credits: member id is missing"),
            (
                ["--policy", policy.path], "{}",
                "line 1 (2 bytes) is neither an event nor a statement: member kind is missing"
            ),
        ] {
            let run = try CommandLineRun(["credits"] + arguments + ["-"], input: Data(input.utf8))
            #expect(run.status == 65, "\(arguments)")
            #expect(run.errors.contains(reason), "\(run.errors)")
        }
        #expect(try CommandLineRun(["help", "credits"]).output.contains("Exit status: 65"))
    }
}
