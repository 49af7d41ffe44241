import Configuration
import Foundation
import Synchronization
import SystemPackage

extension GatewayConfiguration {
    /// Reads the settings from the environment and, if there is one, from a file. The environment wins.
    ///
    /// - Parameters:
    ///   - file: the path of a JSON file.
    ///   - environment: the variables.
    ///   - report: gets the name of each setting of the file that nothing reads: it is misspelled, or has no effect next to the others.
    /// - Throws: ``SettingError`` for the first setting that is missing or wrong, and for a file that cannot be read.
    public static func load(
        file: String?,
        environment: [String: String],
        report: (String) -> Void
    ) async throws -> GatewayConfiguration {
        let readings = Readings()
        var providers: [any ConfigProvider] = [
            EnvironmentVariablesProvider(environmentVariables: environment, arraySeparator: ",")
        ]
        var written: Set<String> = []
        if let file {
            guard let data = FileManager.default.contents(atPath: file) else {
                throw SettingError(file, "cannot be read")
            }
            guard let object = try? JSONSerialization.jsonObject(with: data) as? [String: Any] else {
                throw SettingError(file, "is not a JSON object")
            }
            written = Set(names(in: object, behind: ""))
            do {
                providers.append(try await FileProvider<JSONSnapshot>(filePath: FilePath(file)))
            } catch {
                throw SettingError(file, "has a value that is no text, number, boolean, list or object")
            }
        }
        let configuration: GatewayConfiguration
        do {
            configuration = try GatewayConfiguration(ConfigReader(providers: providers, accessReporter: readings))
        } catch let error as SettingError {
            // A value of the wrong type reads as absent, which would be the wrong advice.
            throw readings.mistakes[error.setting].map { SettingError(error.setting, "must be \($0)") } ?? error
        }
        if let (setting, type) = readings.mistakes.min(by: { $0.key < $1.key }) {
            throw SettingError(setting, "must be \(type)")
        }
        for name in written.subtracting(readings.names).sorted() { report(name) }
        return configuration
    }

    private static func names(in object: [String: Any], behind prefix: String) -> [String] {
        object.flatMap { name, value in
            (value as? [String: Any]).map { names(in: $0, behind: "\(prefix)\(name).") } ?? [prefix + name]
        }
    }
}

/// Notes which settings are read, and which of them have a value of another type.
private final class Readings: AccessReporter {
    private let state = Mutex<(names: Set<String>, mistakes: [String: String])>(([], [:]))

    var names: Set<String> { state.withLock { $0.names } }
    /// The expected type, by the name of the setting.
    var mistakes: [String: String] { state.withLock { $0.mistakes } }

    func report(_ event: AccessEvent) {
        let name = event.metadata.key.components.joined(separator: ".")
        let isMistaken =
            event.conversionError != nil
            || event.providerResults.contains { if case .failure = $0.result { true } else { false } }
        let type =
            switch event.metadata.valueType {
            case .int: "a whole number"
            case .bool: "true or false"
            case .stringArray: "a list of texts"
            case .string: "a text"
            default: "of another type"
            }
        state.withLock { state in
            state.names.insert(name)
            if isMistaken { state.mistakes[name] = type }
        }
    }
}
