import CurlTransport
public import Foundation
import HTTPTransport
import Hummingbird
import HummingbirdCore
import LifecycleJournal
public import Logging
import NIOCore
import Normalizer
import PostgresJournal
import SQLiteJournal
import ServiceLifecycle
import UnixSignals

/// A server that takes deliveries of app stores and payment providers, keeps them, informs your backend, and answers who has
/// access.
///
/// It holds no rules of its own: a Swift backend does the same with a `Journal` in a few lines.
public struct Gateway: Sendable {
    private let configuration: GatewayConfiguration
    private let journal: Journal
    private let registry: PrometheusRegistry
    private let metrics: GatewayMetrics
    private let logger: Logger
    private let now: @Sendable () -> Date
    private let underWay = HookRoutes.Counter()
    private let memory = BodyMemory()

    /// Opens the database, and makes missing tables.
    ///
    /// - Throws: what opening throws.
    public init(
        _ configuration: GatewayConfiguration,
        registry: PrometheusRegistry = PrometheusRegistry(),
        logger: Logger,
        now: @escaping @Sendable () -> Date = { Date() }
    ) async throws {
        self.configuration = configuration
        self.registry = registry
        metrics = GatewayMetrics(factory: registry)
        self.logger = logger
        self.now = now
        var options = Journal.Options()
        options.deliveryRetention = configuration.deliveryRetention
        options.usesOutbox = configuration.destination != nil
        options.catalog = configuration.catalog
        options.sealingKey = configuration.sealingKey
        options.formerSealingKeys = configuration.formerSealingKeys
        switch configuration.database {
        case .sqlite(let path):
            journal = Journal(try await SQLiteJournalStorage(path: path), options: options, observer: metrics, now: now)
        case .postgres(let settings):
            journal = Journal(
                try await PostgresJournalStorage(settings),
                options: options,
                observer: metrics,
                now: now
            )
        }
        do { try await journal.noteCatalog() } catch {
            // Reading goes on where nothing can be written; a repair then compares with the note from before.
            logger.warning("the product catalogue could not be noted", metadata: ["reason": "\(error.code)"])
        }
    }

    private var adapters: [String: any ProviderAdapter] {
        Dictionary(configuration.sources.map { ($0.name, $0.adapter) }) { first, _ in first }
    }

    private var intake: Intake { Intake(journal: journal, answersAtOnce: configuration.answersAtOnce) }

    /// All routes.
    var router: Router<BasicRequestContext> {
        // Balancers ask with HEAD.
        let router = Router(options: .autoGenerateHeadEndpoints)
        router.add(middleware: FailureMiddleware())
        let tokens = configuration.tokens
        // Only the connection proves pulled messages, so no request from outside may use their source.
        let hooks = adapters.filter { name, _ in !configuration.sources.contains { $0.name == name && $0.pull != nil } }
        HookRoutes(
            intake: intake,
            adapters: hooks,
            metrics: metrics,
            now: now,
            underWay: underWay,
            memory: memory
        )
        .add(to: router)
        QueryRoutes(
            journal: journal,
            tokens: tokens,
            sources: configuration.sources,
            policy: configuration.creditPolicy,
            now: now
        )
        .add(to: router)
        OperationRoutes(
            journal: journal,
            sources: configuration.sources,
            registry: registry,
            metrics: metrics,
            tokens: tokens,
            now: now
        )
        .add(to: router)
        PageRoutes(journal: journal, tokens: tokens, policy: configuration.creditPolicy, now: now).add(to: router)
        QuarantinePage(journal: journal, tokens: tokens, adapters: adapters).add(to: router)
        router.get("openapi.json") { _, _ in
            Response(
                status: .ok,
                headers: [.contentType: "application/json"],
                body: .init(byteBuffer: ByteBuffer(bytes: try OpenAPI.document.get()))
            )
        }
        return router
    }

    /// The workers, apart from the server.
    var workers: [any Service] {
        get throws {
            var services: [any Service] = [PruneWorker(journal: journal, logger: logger, now: now)]
            for _ in 0..<configuration.workers {
                services.append(IntakeWorker(journal: journal, adapters: adapters, logger: logger))
            }
            for work in try scheduled { services.append(work) }
            for source in configuration.sources {
                guard let pull = source.pull else { continue }
                services.append(
                    PullService(
                        source: source.name,
                        adapter: source.adapter,
                        settings: pull,
                        intake: intake,
                        metrics: metrics,
                        logger: logger,
                        now: now
                    )
                )
            }
            if configuration.destination != nil { services.append(try newsWorker(transport: CurlHTTPTransport())) }
            return services
        }
    }

    /// The work that is done at intervals, by one process at a time.
    var scheduled: [ScheduledWork] {
        get throws {
            var works: [ScheduledWork] = []
            if let interval = configuration.backfillInterval {
                let worker = BackfillWorker(
                    journal: journal,
                    sources: configuration.sources,
                    metrics: metrics,
                    logger: logger
                )
                var work = scheduled("backfill", every: interval) { _ in try await worker.round() }
                work.beginsAtOnce = true
                works.append(work)
            }
            let questions = configuration.sources.flatMap(\.questions)
            if let interval = configuration.reconcileInterval, !questions.isEmpty {
                let worker = ReconcileWorker(
                    journal: journal,
                    questions: questions,
                    batch: configuration.reconcileBatch,
                    traffic: LiveTraffic(journal: journal, underWay: underWay, now: now),
                    metrics: metrics,
                    logger: logger
                )
                works.append(scheduled("reconcile", every: interval) { _ in try await worker.round() })
            }
            let worker = AnswerWorker(
                journal: journal,
                answerers: try answerers(transport: CurlHTTPTransport()),
                metrics: metrics,
                now: now
            )
            let pulse = OutageWorker(journal: journal, sources: configuration.sources, logger: logger, now: now)
            works.append(scheduled("outage", every: OutageWorker.interval) { try await pulse.round(after: $0) })
            works.append(scheduled("answers", every: .seconds(30)) { _ in try await worker.round() })
            return works
        }
    }

    private func scheduled(
        _ name: String,
        every interval: Duration,
        _ round: @escaping @Sendable (RoundLease.Last) async throws -> Bool
    ) -> ScheduledWork {
        ScheduledWork(
            name: name,
            lease: RoundLease(name, in: journal, now: now),
            interval: interval,
            metrics: metrics,
            logger: logger,
            round: round
        )
    }

    /// The answers to stores. Your backend is asked over a transport.
    func answerers(transport: any HTTPTransportProtocol) -> [any OwedAnswers] {
        var answerers: [any OwedAnswers] = configuration.sources.compactMap(\.acknowledgements)
        if let destination = configuration.refunds {
            for server in configuration.sources.flatMap(\.servers) {
                answerers.append(
                    RefundQuestions(
                        server: server,
                        destination: destination,
                        transport: transport,
                        metrics: metrics,
                        now: now
                    )
                )
            }
        }
        return answerers
    }

    /// Posts news over a transport.
    ///
    /// - Throws: ``SettingError`` if no address is configured.
    func newsWorker(transport: any HTTPTransportProtocol) throws -> NewsWorker {
        guard let destination = configuration.destination else { throw SettingError("news.url", "is missing") }
        return NewsWorker(
            journal: journal,
            destination: destination,
            transport: transport,
            metrics: metrics,
            logger: logger,
            now: now
        )
    }

    /// Serves until the process is asked to stop by SIGTERM or SIGINT. Requests that are under way then have eight seconds to end, and
    /// are cancelled. Work is broken off at once, and another process, or the next start, takes it up.
    ///
    /// - Throws: what a service throws, such as an address that is in use.
    public func run() async throws {
        for line in configuration.summary { logger.notice("\(line)") }
        for line in configuration.warnings { logger.warning("\(line)") }
        let connections = Connections()
        let server = Application(
            router: router,
            // Longer than proxies keep a connection for reuse, as a rule: they would send a request into one that closes.
            server: .http1(
                configuration: .init(
                    additionalChannelHandlers: [ConnectionHandler(connections)],
                    idleTimeout: .seconds(75)
                )
            ),
            configuration: .init(
                address: .hostname(configuration.host, port: configuration.port),
                serverName: "lifecycle-gateway",
                // Further callers wait.
                availableConnectionsDelegate: MaximumAvailableConnections(Connections.maximum, logger: logger)
            ),
            logger: logger
        )
        var group = ServiceGroupConfiguration(
            services: [SideBySide(services: [server] + (try workers), logger: logger)],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: logger
        )
        group.maximumGracefulShutdownDuration = .seconds(8)
        // A process that hangs even so ends with a crash.
        group.maximumCancellationDuration = .seconds(2)
        do {
            try await ServiceGroup(configuration: group).run()
        } catch let error as IOError where error.errnoCode == EADDRINUSE {
            throw AddressInUse(host: configuration.host, port: configuration.port)
        }
    }
}

/// Another program listens on the gateway's address.
struct AddressInUse: Error, CustomStringConvertible {
    var host: String
    var port: Int

    var description: String { "\(host):\(port) is in use: set http.port" }
}
