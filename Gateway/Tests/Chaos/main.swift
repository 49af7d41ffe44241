import Configuration
import Foundation
import Gateway
import HTTPTypes
import Hummingbird
import LifecycleJournal
import Logging
import Metrics
import Normalizer
import NotificationSimulator
import PostgresJournal
import SQLiteJournal

// The commands of Scripts/chaos:
//
// deliveries FOLDER CUSTOMERS NAME    writes the providers' deliveries of so many customers, and their outcome
// keys                                prints how receivers of Stripe and RevenueCat are configured
// serve FOLDER                        runs the gateway, with settings from the environment, and the keys of the simulator
// bare                                runs the same server, but only stores the bytes
// check FOLDER                        compares a database with these deliveries
// post CONNECTIONS CUSTOMERS NAME     posts as fast as it is answered, and prints the rate
let arguments = CommandLine.arguments.dropFirst()
let environment = ProcessInfo.processInfo.environment
let cast = try Cast(seed: "chaos")

func argument(_ index: Int) throws -> String {
    guard arguments.count > index else { throw Usage() }
    return arguments[arguments.startIndex + index]
}

/// The names of customers: the third argument is their number, the fourth their common name.
func customers() throws -> [String] {
    guard let count = Int(try argument(2)) else { throw Usage() }
    let name = try argument(3)
    return (0..<count).map { "\(name) \($0)" }
}

func storage() async throws -> any JournalStorage {
    let url = environment["DATABASE_URL"] ?? ""
    if url.hasPrefix("sqlite:") { return try await SQLiteJournalStorage(path: String(url.dropFirst("sqlite:".count))) }
    return try await PostgresJournalStorage(.init(url: SecretBytes(url)))
}

struct Usage: Error {}

switch try argument(0) {
case "deliveries":
    try await Script(folder: try argument(1)).write(try customers(), cast)
case "keys":
    let (stripe, revenueCat) = (cast.stripe.receiverConfiguration, cast.revenueCat.receiverConfiguration)
    print("[\(String(decoding: stripe, as: UTF8.self)),\(String(decoding: revenueCat, as: UTF8.self))]")
case "serve":
    var logger = Logger(label: "gateway")
    logger.logLevel = .error
    let registry = PrometheusRegistry()
    MetricsSystem.bootstrap(registry)
    var configuration = try GatewayConfiguration(
        ConfigReader(provider: EnvironmentVariablesProvider(arraySeparator: ","))
    )
    let answers = try Script(folder: try argument(1)).answers()
    configuration.sources = try cast.sources(answers).map { Source($0.name, $0.adapter) }
    try await Gateway(configuration, registry: registry, logger: logger).run()
case "bare":
    let storage = try await storage()
    let router = Router()
    router.post("hooks/{source}") { request, _ -> HTTPResponse.Status in
        var delivery = Delivery(body: [], receivedAt: Date())
        for field in request.headers { delivery.headers.add(field.name.rawName, field.value) }
        delivery.body = Array(buffer: try await request.body.collect(upTo: 1 << 20))
        let record = JournalRecord(
            key: delivery.digest,
            // In the place of a waiting delivery, a worker of the next gateway would look for its own notes.
            group: "bare",
            body: delivery.body,
            detail: try CanonicalJSON.bytes(delivery.headers)
        )
        _ = try await storage.write { try await $0.insert(record, into: .delivery) }
        return .ok
    }
    router.get("ready") { _, _ in HTTPResponse.Status.ok }
    let port = environment["HTTP_PORT"].flatMap { Int($0) } ?? 8080
    try await Application(router: router, configuration: .init(address: .hostname("127.0.0.1", port: port)))
        .runService()
case "check":
    try await Script(folder: try argument(1)).check(Journal(try await storage(), now: { Date() }))
case "post":
    guard let connections = Int(try argument(1)) else { throw Usage() }
    let port = environment["HTTP_PORT"].flatMap { UInt16($0) } ?? 8080
    try Load(port: port, connections: connections).run(try customers(), cast)
default: throw Usage()
}
