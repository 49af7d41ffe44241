import Foundation
import Gateway
import Logging
import Metrics

// usage: lifecycle-gateway [FILE]
var logger = Logger(label: "lifecycle-gateway")
let registry = PrometheusRegistry()
MetricsSystem.bootstrap(registry)
do {
    let file = CommandLine.arguments.dropFirst().first
    let environment = ProcessInfo.processInfo.environment
    let configuration = try await GatewayConfiguration.load(file: file, environment: environment) { setting in
        logger.warning("the setting \(setting) has no effect: it is misspelled, or nothing reads it next to the others")
    }
    try await Gateway(configuration, registry: registry, logger: logger).run()
} catch let error as SettingError {
    logger.critical("the gateway does not start: \(error)")
    exit(78)  // EX_CONFIG
} catch {
    logger.critical("the gateway ends: \(error)")
    exit(70)  // EX_SOFTWARE
}
