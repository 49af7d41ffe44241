import Configuration
import Foundation
import Normalizer
import Synchronization
import SystemPackage

extension GatewayConfiguration {
    /// Reads the settings from the environment and, if there is one, from a file. The environment wins.
    ///
    /// - Parameters:
    ///   - file: the path of a JSON file.
    ///   - environment: the variables.
    ///   - report: gets the name of each setting of the file, and of each variable that is named like a group of settings, that
    ///     nothing reads: it is misspelled, or has no effect next to the others.
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
            // Of two members with one name a reader takes either, such as the scopes of a token that you meant to replace.
            let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
            let octets = data.starts(with: mark) ? data.dropFirst(mark.count) : data
            guard (try? CanonicalJSON.value(SettingsObject.self, from: Array(octets))) != nil else {
                throw SettingError(file, "has a member twice, or is not UTF-8")
            }
            written = Set(names(in: object, behind: ""))
            do {
                providers.append(try await FileProvider<JSONSnapshot>(filePath: FilePath(file)))
            } catch {
                throw SettingError(file, "has a value that is no text, number, boolean, list or object")
            }
        }
        let configuration = Result {
            try GatewayConfiguration(ConfigReader(providers: providers, accessReporter: readings))
        }
        // A value of the wrong type reads as absent, so an error about another setting would be the wrong advice.
        if let (setting, type) = readings.mistakes.min(by: { $0.key < $1.key }) {
            throw SettingError(setting, "must be \(type)", variable: readings.variables[setting])
        }
        // A secret of one source would be the other's, such as for shop-eu and shop_eu.
        let taken = readings.shared.filter { environment[$0.key] != nil }
        if let (variable, settings) = taken.min(by: { $0.key < $1.key }) {
            let others = settings.sorted()
            throw SettingError(
                others[0],
                "shares its variable with \(others.dropFirst().joined(separator: ", ")): choose names that differ in letters or digits",
                variable: variable
            )
        }
        let value: GatewayConfiguration
        do { value = try configuration.get() } catch var error as SettingError {
            error.variable = readings.variables[error.setting]
            throw error
        }
        for name in written.union(ours(environment, like: Set(readings.variables.values))).subtracting(readings.names)
            .sorted()
        {
            report(name)
        }
        return value
    }

    /// The variables that begin with the first word of a setting, such as `HTTP_` or `SOURCE_`, and that no setting is read from.
    private static func ours(_ environment: [String: String], like known: Set<String>) -> [String] {
        // Programs take the address of a proxy from it, as every manual of theirs says.
        let foreign: Set = ["HTTP_PROXY"]
        func group(_ variable: String) -> Substring? { variable.split(separator: "_").first }
        let groups = Set(known.map(group))
        return environment.keys.filter {
            $0.contains("_") && groups.contains(group($0)) && !known.contains($0) && !foreign.contains($0)
        }
    }

    private static func names(in object: [String: Any], behind prefix: String) -> [String] {
        object.flatMap { name, value in
            (value as? [String: Any]).map { names(in: $0, behind: "\(prefix)\(name).") } ?? [prefix + name]
        }
    }
}

/// Any object, without a member that comes twice.
private struct SettingsObject: Decodable {}

/// Notes which settings are read, from which variables, and which of them have a value of another type.
private final class Readings: AccessReporter {
    private let state = Mutex<(names: Set<String>, variables: [String: String], mistakes: [String: String])>(
        ([], [:], [:])
    )

    var names: Set<String> { state.withLock { $0.names } }
    /// The settings' names in the environment, such as `HTTP_PORT`. It is asked for every setting, before the file.
    var variables: [String: String] { state.withLock { $0.variables } }
    /// The settings with one variable, by this.
    var shared: [String: [String]] {
        Dictionary(grouping: variables.keys) { variables[$0] ?? "" }.filter { $0.value.count > 1 }
    }
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
        let variable = event.providerResults.first { $0.providerName.hasPrefix("EnvironmentVariablesProvider") }
            .flatMap { try? $0.result.get().encodedKey }
        state.withLock { state in
            state.names.insert(name)
            if let variable { state.variables[name] = variable }
            if isMistaken { state.mistakes[name] = type }
        }
    }
}
