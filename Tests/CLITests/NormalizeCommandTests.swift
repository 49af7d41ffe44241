import ConformanceVectors
import Foundation
import Normalizer
import NotificationSimulator
import ReceiverConfiguration
import Testing
import WireJSON

@testable import lifecycle

@Suite("lifecycle normalize")
struct NormalizeCommandTests {
    private let folder: URL
    private let simulator: AppleSimulator
    private let deliveries: [Delivery]

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("lifecycle-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        simulator = try AppleSimulator(seed: "command line")
        deliveries = try simulator.deliveries(.life, from: Date(timeIntervalSince1970: 1_767_225_600))
    }

    private func file(_ name: String, _ bytes: some Sequence<UInt8>) throws -> String {
        let url = folder.appendingPathComponent(name)
        try Data(bytes).write(to: url)
        return url.path
    }

    private func config(bundleID: String? = nil) throws -> String {
        let json = """
            {"roots":["\(Data(simulator.rootCertificate).base64EncodedString())"],\
            "bundleId":"\(bundleID ?? simulator.bundleId)","appAppleId":\(simulator.appAppleId),\
            "environment":"Production","now":1798761600000}
            """
        return try file("config.json", json.utf8)
    }

    @Test("Prints one event a line and exits with 0")
    func accepted() throws {
        let bodies = try deliveries.enumerated().map { try file("\($0).json", $1.body) }
        let run = try CommandLineRun(["normalize", "--provider", "apple", "--config", try config()] + bodies)
        #expect(run.status == 0, "\(run.errors)")
        let lines = run.output.split(separator: "\n")
        #expect(lines.count == deliveries.count)
        for line in lines {
            let event = try CanonicalJSON.value(NormalizedEvent.self, from: Array(line.utf8))
            #expect(String(decoding: try CanonicalJSON.bytes(event), as: UTF8.self) == line)
        }
        try FileManager.default.removeItem(at: folder)
    }

    @Test("Reads a body from standard input")
    func standardInput() throws {
        let run = try CommandLineRun(
            ["normalize", "--provider", "apple", "--config", try config(), "-"],
            input: Data(deliveries[0].body)
        )
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.output.contains(#""kind":"started""#))
    }

    @Test("Names what was rejected on standard error, goes on, and exits with 65")
    func rejected() throws {
        let forger = try AppleSimulator(seed: "forger")
        let forged = try #require(try forger.deliveries(.life, from: Date(timeIntervalSince1970: 1_767_225_600)).first)
        let bodies = [
            try file("forged.json", forged.body), try file("noise.json", "not json".utf8),
            try file("good.json", deliveries[0].body),
        ]
        let run = try CommandLineRun(["normalize", "--provider", "apple", "--config", try config()] + bodies)
        #expect(run.status == 65)
        #expect(run.output.split(separator: "\n").count == 1)
        let errors = run.errors.split(separator: "\n")
        #expect(errors.count == 2)
        #expect(errors[0].contains("untrusted: "))
        #expect(errors[1].contains("malformed: "))
        #expect(!run.errors.contains("not json"))
    }

    @Test("Data of another app is rejected")
    func misdirected() throws {
        let body = try file("body.json", deliveries[0].body)
        let run = try CommandLineRun(
            ["normalize", "--provider", "apple", "--config", try config(bundleID: "com.example.other"), body]
        )
        #expect(run.status == 65)
        #expect(run.output.isEmpty)
        #expect(run.errors.contains("misdirected: "))
    }

    @Test("A hint of Google Play gives no event, since there is no look-up, and the help says so")
    func hint() throws {
        let google = try GoogleSimulator(seed: "command line")
        let start = Date(timeIntervalSince1970: 1_767_225_600)
        let notification = try #require(try google.notifications(.life, from: start).first)
        let delivery = try google.delivery(of: notification, sentAt: start)
        let authorization = try #require(delivery.headers.values("Authorization").first)
        var config = String(decoding: google.receiverConfiguration, as: UTF8.self)
        config = #"{"now":1767225601000,"# + config.dropFirst()
        let run = try CommandLineRun([
            "normalize", "--provider", "google", "--config", try file("google.json", config.utf8), "--headers",
            try file("headers.json", #"{"Authorization":"\#(authorization)"}"#.utf8),
            try file("body.json", delivery.body),
        ])
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.output.isEmpty)
        #expect(run.errors.hasSuffix("body.json: no event: needs_lookup\n"), "\(run.errors)")
        #expect(try CommandLineRun(["help", "normalize"]).output.contains("needs_lookup"))
    }

    @Test("Takes the members of a configuration that the page lists and the vectors have, and no others")
    func members() throws {
        let vectors = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("TestVectors")
        let page = try String(contentsOf: vectors.appendingPathComponent("README.md"), encoding: .utf8)
        for provider in Provider.adapted {
            let members = Receivers.memberNames(for: provider)
            for member in members { #expect(page.contains("`\(member)`"), "\(member)") }
            let folder = vectors.appendingPathComponent(provider.rawValue)
            for file in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil) {
                for vector in try VectorReader.vectors(in: Array(try Data(contentsOf: file))) {
                    let unknown = try vector.config.object().members.map(\.name).filter { !members.contains($0) }
                    #expect(unknown == [], "\(vector.id)")
                }
            }
        }
    }

    @Test("Wrong usage and a configuration that would verify nothing exit with 64")
    func usage() throws {
        let body = try file("body.json", deliveries[0].body)
        let empty = try file("empty.json", #"{"bundleId":"a","environment":"Sandbox","roots":[]}"#.utf8)
        let configured = String(decoding: try Data(contentsOf: URL(fileURLWithPath: try config())), as: UTF8.self)
        let timeless = try file(
            "timeless.json",
            configured.replacingOccurrences(of: #""now":1798761600000"#, with: #""now":"2027-01-01""#).utf8
        )
        let misspelled = try file(
            "misspelled.json",
            configured.replacingOccurrences(of: #""now""#, with: #""maxSignedAge":1,"now""#).utf8
        )
        for arguments in [
            ["normalize", "--provider", "apple", "--config", misspelled, body],
            ["normalize", "--provider", "apple", "--config", empty, body],
            ["normalize", "--provider", "apple", "--config", timeless, body],
            ["normalize", "--provider", "nobody", "--config", try config(), body],
            ["normalize", "--provider", "apple", body],
            ["normalize", "--provider", "apple", "--config", "/nowhere", body],
            ["normalize", "--provider", "apple", "--config", try config(), "/nowhere"],
        ] {
            let run = try CommandLineRun(arguments)
            #expect(run.status == 64, "\(arguments): \(run.errors)")
            #expect(run.output.isEmpty)
        }
    }
}
