import Configuration
import Foundation
@testable import Gateway
import HTTPTypes
import Hummingbird
import InMemoryLogging
import LifecycleJournal
import Logging
import Normalizer
import ServiceLifecycle
import Testing

@Suite("Operation", .timeLimit(.minutes(5))) struct OperationTests {
    private typealias Line = AsyncStream<String>.Continuation

    /// Waits until it is asked to stop.
    private struct Server: Service {
        let report: Line
        let isAsked: Line

        func run() async throws {
            try await gracefulShutdown()
            report.yield("the server is asked to stop")
            isAsked.finish()
        }
    }

    /// Does not end before the server has been asked to stop.
    private struct Work: Service {
        let report: Line
        let serverIsAsked: AsyncStream<String>

        func run() async throws {
            try await gracefulShutdown()
            for await _ in serverIsAsked {}
            report.yield(Task.isCancelled ? "the work is canceled" : "the work has ended")
        }
    }

    /// Ends by itself.
    private struct Broken: Service {
        func run() {}
    }

    private static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    @Test("a server that is asked to stop does not wait for the work beside it")
    func stopping() async throws {
        let (lines, report) = AsyncStream.makeStream(of: String.self)
        let (serverIsAsked, isAsked) = AsyncStream.makeStream(of: String.self)
        let services: [any Service] = [
            Server(report: report, isAsked: isAsked), Work(report: report, serverIsAsked: serverIsAsked),
        ]
        var configuration = ServiceGroupConfiguration(
            services: [
                .init(
                    service: SideBySide(services: services, logger: Self.silent),
                    successTerminationBehavior: .gracefullyShutdownGroup
                )
            ],
            logger: Self.silent
        )
        configuration.maximumGracefulShutdownDuration = .seconds(60)
        let group = ServiceGroup(configuration: configuration)
        async let run: Void = group.run()
        await group.triggerGracefulShutdown()
        try await run
        report.finish()
        #expect(await Array(lines) == ["the server is asked to stop", "the work has ended"])
    }

    @Test("a service that ends by itself ends the others")
    func broken() async {
        let (_, report) = AsyncStream.makeStream(of: String.self)
        let services = SideBySide(
            services: [Server(report: report, isAsked: report), Broken()],
            logger: Self.silent
        )
        await #expect(throws: ServiceGroupError.self) { try await services.run() }
    }

    @Test(
        "wrong usage starts no gateway",
        arguments: [["a.json", "b.json"], ["a.json", "--port", "9000"], ["--none"]]
    )
    func usage(arguments: [String]) throws {
        let folders = CommandLine.arguments.map { URL(fileURLWithPath: $0).deletingLastPathComponent() }
        let found = folders.map { $0.appending(path: "lifecycle-gateway") }
            .first { FileManager.default.isExecutableFile(atPath: $0.path) }
        let program = try #require(found, "it is built with the tests")
        let process = Process()
        process.executableURL = program
        process.arguments = arguments
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 64)
    }

    @Test("work that is stuck shows in the metrics and in the list of duties, also between two attempts")
    func shown() async throws {
        let bench = try Bench()
        let gateway = try await bench.gateway([
            "news.url": "https://backend.example.com/news",
            "news.secret": .init(.string(NewsTests.secret), isSecret: true),
        ])
        let journal = Journal(try await bench.storage(), now: { Bench.now })
        // The oldest news failed, so more than a hundred are posted before it.
        try await journal.apply(AnswerTests.review(of: "GPA.0", at: Bench.now.addingTimeInterval(-1000)))
        let oldest = try #require(try await journal.outbox.next(lease: .seconds(60)).first)
        try await journal.outbox.failed(oldest, because: "refused", retryAt: Bench.now.addingTimeInterval(3600))
        for number in 1...120 {
            let order = TransactionID("GPA.\(number)")
            try await journal.apply(AnswerTests.review(of: order, at: Bench.now.addingTimeInterval(-10)))
        }
        let duties = try await journal.duties.next(60, lease: .seconds(60))
        for duty in duties.prefix(30) { try await journal.duties.failed(duty, because: "refused") }
        // It is tried again in a minute.
        let later = Journal(try await bench.storage(), now: { Bench.now.addingTimeInterval(60) })
        let adapter = try #require(try GatewayConfiguration(bench.settings()).sources.first).adapter
        _ = await later.accept(try bench.purchase(), with: adapter, as: "apple")
        try await RouterClient.with(gateway.router) { client in
            let text = try await client.get("/metrics").text
            #expect(text.contains("lifecycle_news_lag_seconds 1000.0\n"))
            #expect(text.contains("lifecycle_due_items_overdue 121.0\n"))
            #expect(text.contains("lifecycle_deliveries_waiting 1.0\n"))
            let listed = try JSON(try await client.get("/v1/due?limit=1000").text.utf8).array
            #expect(listed?.count == 121)
        }
    }

    @Test("the start notes the product catalogue, with which a repair compares")
    func catalog() async throws {
        let bench = try Bench()
        _ = try await bench.gateway()
        var options = Journal.Options()
        options.catalog = ProductCatalog([], oneTimeProducts: [.init(id: "coins", type: .consumable)])
        let other = Journal(try await bench.storage(), options: options, now: { Bench.now })
        await #expect(throws: JournalError.self) { try await other.rebuild(repairing: true) }
    }

    @Test("the product catalogue is noted again if another process has noted its own")
    func catalogAgain() async throws {
        let storage = try await Bench().storage()
        var options = Journal.Options()
        options.catalog = ProductCatalog([], oneTimeProducts: [.init(id: "coins", type: .consumable)])
        let other = Journal(storage, options: options, now: { Bench.now })
        try await other.noteCatalog()
        let journal = Journal(storage, now: { Bench.now })
        let worker = PruneWorker(journal: journal, logger: Self.silent, now: { Bench.now })
        let running = Task { await worker.run() }
        while (try? await other.rebuild(repairing: true)) != nil { try await Task.sleep(for: .milliseconds(10)) }
        running.cancel()
        await running.value
        #expect(try await journal.rebuild(repairing: true).purchases == 0)
    }

    @Test(
        "balancers ask with HEAD as with GET, and get no body",
        arguments: [("/health", 200), ("/ready", 200), ("/v1/due", 401), ("/unknown", 404)]
    )
    func head(uri: String, expected: Int) async throws {
        try await RouterClient.with(try await Bench().gateway().router) { client in
            var statuses: [HTTPResponse.Status] = []
            for method in [HTTPRequest.Method.get, .head] {
                let answer = try await client.executeRequest(uri: uri, method: method, headers: [:], body: nil)
                statuses.append(answer.status)
                if method == .head { #expect(answer.body.readableBytes == 0) }
            }
            #expect(statuses[0] == statuses[1])
            #expect(statuses[0].code == expected)
        }
    }

    @Test("a mistake of a caller is no error of the gateway")
    func callersMistake() async throws {
        let handler = InMemoryLogHandler()
        let logger = Logger(label: "test") { _ in handler }
        try await RouterClient.with(try await Bench().gateway().router, logger: logger) { client in
            let answer = try await client.get("/v1/due?after=unknown")
            #expect(answer.status == .badRequest)
        }
        #expect(handler.entries.isEmpty)
    }
}

extension Array where Element: Sendable {
    fileprivate init(_ stream: AsyncStream<Element>) async {
        self = []
        for await element in stream { append(element) }
    }
}
