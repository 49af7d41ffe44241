import Foundation
import Gateway
import Logging
import Metrics

let usage = """
    usage: lifecycle-gateway [FILE]

    Receives the deliveries of app stores and payment providers, and answers who has access. FILE has the settings as JSON.
    Variables of the environment win over it: http.port is HTTP_PORT. Gateway/README.md lists all settings.

      --help, -h    show this
      --version     show the version
    """
let arguments = CommandLine.arguments.dropFirst()
switch arguments.first {
case "--help", "-h":
    print(usage)
    exit(0)
case "--version":
    print(Version.current)
    exit(0)
case let option where arguments.count > 1 || option?.hasPrefix("-") == true:
    FileHandle.standardError.write(Data((usage + "\n").utf8))
    exit(64)  // EX_USAGE
default: break
}
var logger = Logger(label: "lifecycle-gateway")
let registry = PrometheusRegistry()
MetricsSystem.bootstrap(registry)
do {
    let environment = ProcessInfo.processInfo.environment
    let file = arguments.first
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
