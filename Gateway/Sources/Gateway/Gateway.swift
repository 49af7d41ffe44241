import CurlTransport
public import Foundation
import HTTPTransport
import Hummingbird
import LifecycleJournal
public import Logging
import Normalizer
import PostgresJournal
import SQLiteJournal
import ServiceLifecycle
import UnixSignals

/// A server that takes what app stores and payment providers send, keeps it, tells your backend, and answers who has access.
///
/// It holds no rules of its own: whatever it does, a Swift backend does with a `Journal` in a few lines.
public struct Gateway: Sendable {
    private let configuration: GatewayConfiguration
    private let journal: Journal
    private let registry: PrometheusRegistry
    private let metrics: GatewayMetrics
    private let logger: Logger
    private let now: @Sendable () -> Date

    /// Opens the database, and makes its tables where they are missing.
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
        switch configuration.database {
        case .sqlite(let path):
            journal = Journal(try await SQLiteJournal(path: path), options: options, observer: metrics, now: now)
        case .postgres(let url):
            journal = Journal(
                try await PostgresJournal(.init(url: url)),
                options: options,
                observer: metrics,
                now: now
            )
        }
    }

    private var adapters: [String: any ProviderAdapter] {
        Dictionary(configuration.sources.map { ($0.name, $0.adapter) }) { first, _ in first }
    }

    private var intake: Intake { Intake(journal: journal, answersAtOnce: configuration.answersAtOnce) }

    /// Everything that is served.
    var router: Router<BasicRequestContext> {
        let router = Router()
        let tokens = configuration.tokens
        // Only the connection proves pulled messages, so no request from outside may use their source.
        let hooks = adapters.filter { name, _ in !configuration.sources.contains { $0.name == name && $0.pull != nil } }
        HookRoutes(
            intake: intake,
            adapters: hooks,
            metrics: metrics,
            now: now
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
        OperationRoutes(journal: journal, registry: registry, metrics: metrics, tokens: tokens, now: now).add(
            to: router
        )
        PageRoutes(journal: journal, tokens: tokens, policy: configuration.creditPolicy, now: now).add(to: router)
        QuarantinePage(journal: journal, tokens: tokens, adapters: adapters).add(to: router)
        router.get("openapi.json") { _, _ in
            Response(
                status: .ok,
                headers: [.contentType: "application/json"],
                body: .init(byteBuffer: ByteBuffer(string: OpenAPI.document))
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
            if let interval = configuration.backfillInterval {
                let sources = configuration.sources.filter { !$0.histories.isEmpty }
                services.append(
                    BackfillWorker(
                        journal: journal,
                        sources: sources,
                        interval: interval,
                        metrics: metrics,
                        logger: logger
                    )
                )
            }
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
            if configuration.destination != nil { services.append(try newsWorker(transport: CurlTransport())) }
            return services
        }
    }

    /// Posts news over a transport.
    ///
    /// - Throws: ``SettingError`` if no address is configured.
    func newsWorker(transport: any HTTPTransport) throws -> NewsWorker {
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

    /// Serves until the process is asked to stop by SIGTERM or SIGINT. Requests and work that are under way then have ten
    /// seconds to end; what does not end by then is taken up by another process, or after the next start.
    ///
    /// - Throws: what a service throws, such as an address that is in use.
    public func run() async throws {
        for line in configuration.summary { logger.notice("\(line)") }
        let server = Application(
            router: router,
            configuration: .init(
                address: .hostname(configuration.host, port: configuration.port),
                serverName: "lifecycle-gateway"
            ),
            logger: logger
        )
        var group = ServiceGroupConfiguration(
            services: [server] + (try workers),
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: logger
        )
        group.maximumGracefulShutdownDuration = .seconds(10)
        try await ServiceGroup(configuration: group).run()
    }
}
