import Configuration
import Foundation
import Gateway
import Logging
import Metrics
import SystemPackage

// usage: lifecycle-gateway [FILE]
var logger = Logger(label: "lifecycle-gateway")
let registry = PrometheusRegistry()
MetricsSystem.bootstrap(registry)
do {
    var providers: [any ConfigProvider] = [EnvironmentVariablesProvider(arraySeparator: ",")]
    if CommandLine.arguments.count > 1 {
        providers.append(try await FileProvider<JSONSnapshot>(filePath: FilePath(CommandLine.arguments[1])))
    }
    let configuration = try GatewayConfiguration(ConfigReader(providers: providers))
    try await Gateway(configuration, registry: registry, logger: logger).run()
} catch let error as SettingError {
    logger.critical("the gateway does not start: \(error)")
    exit(78)  // EX_CONFIG
} catch {
    logger.critical("the gateway ends: \(error)")
    exit(70)  // EX_SOFTWARE
}
