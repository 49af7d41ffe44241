public import Configuration
import Foundation
import GooglePubSub
import HTTPTransport
import LifecycleJournal
import Normalizer
import PostgresJournal

/// A setting that is missing or cannot work. The gateway does not start with one.
public struct SettingError: Error, CustomStringConvertible {
    /// The setting, as it is called in the file.
    public var setting: String
    /// The problem, and the expected value. It never shows a value.
    public var message: String
    /// The variable of the environment that the setting can come from; nil if the settings come from elsewhere.
    public var variable: String?

    /// `setting (VARIABLE): message`
    public var description: String { "\(setting)\(variable.map { " (\($0))" } ?? ""): \(message)" }

    init(_ setting: String, _ message: String, variable: String? = nil) {
        self.setting = setting
        self.message = message
        self.variable = variable
    }
}

/// The settings of a gateway, read from a file and the environment, and checked before it serves anything.
public struct GatewayConfiguration: Sendable {
    /// An address of your backend, and the signature that proves requests to it.
    struct Destination: Sendable {
        var url: HTTPSURL
        var signature: WebhookSignature
    }

    /// The place of the rows.
    enum Database: Sendable {
        /// A file of SQLite.
        case sqlite(path: String)
        /// A server of PostgreSQL.
        case postgres(PostgresJournalStorage.Configuration)
    }

    var host: String
    var port: Int
    var database: Database
    package var sources: [Source]
    var tokens: AccessTokens
    var destination: Destination?
    var deliveryRetention: Duration?
    var workers: Int
    var answersAtOnce: Bool
    /// How often histories are read; nil if they are not.
    var backfillInterval: Duration?
    /// How often providers are asked about due purchases; nil if they are not.
    var reconcileInterval: Duration?
    /// How many purchases a round asks about.
    var reconcileBatch: Int
    /// The address that answers stores' questions about refunds.
    var refunds: Destination?
    /// The key that purchase tokens are sealed with.
    var sealingKey: SecretBytes?
    /// The keys that they were sealed with before.
    var formerSealingKeys: [SecretBytes]
    var creditPolicy: CreditPolicy?
    var catalog: ProductCatalog?

    /// Reads the settings.
    ///
    /// - Throws: ``SettingError`` for the first setting that is missing or wrong.
    public init(_ reader: ConfigReader) throws {
        host = reader.string(forKey: "http.host", default: "127.0.0.1")
        guard !host.isEmpty else { throw SettingError("http.host", "must not be empty") }
        port = reader.int(forKey: "http.port", default: 8080)
        guard (0...65_535).contains(port) else { throw SettingError("http.port", "must be 0 to 65535") }
        database = try Self.database(reader)
        let names = reader.stringArray(forKey: "sources", default: [])
        guard !names.isEmpty else {
            throw SettingError(
                "sources",
                "names no provider, so nothing could be received. List the names of your sources, such as [\"apple\"], and set "
                    + "source.<name>.provider for each"
            )
        }
        guard Set(names).count == names.count else { throw SettingError("sources", "names a source twice") }
        sources = try names.map { try Source($0, reader.scoped(to: ConfigKey(["source", $0]))) }
        tokens = try AccessTokens(reader)
        destination = try Self.destination(reader, "news")
        deliveryRetention = try reader.int(forKey: "deliveries.retention_days").map { days in
            guard (1...3650).contains(days) else {
                throw SettingError(
                    "deliveries.retention_days",
                    "must be 1 to 3650; leave it out to keep no raw delivery"
                )
            }
            return .seconds(days * 86_400)
        }
        workers = reader.int(forKey: "workers", default: 2)
        guard (0...64).contains(workers) else { throw SettingError("workers", "must be 0 to 64") }
        answersAtOnce = reader.bool(forKey: "hooks.answer_at_once", default: true)
        guard !answersAtOnce || workers > 0 else {
            throw SettingError("workers", "must be 1 or more, or set hooks.answer_at_once to false")
        }
        let minutes = reader.int(forKey: "backfill.minutes", default: 60)
        guard (0...10_080).contains(minutes) else {
            throw SettingError("backfill.minutes", "must be 1 to 10080, or 0 to read no history")
        }
        backfillInterval = minutes == 0 ? nil : .seconds(minutes * 60)
        let pause = reader.int(forKey: "reconcile.minutes", default: 5)
        guard (0...10_080).contains(pause) else {
            throw SettingError("reconcile.minutes", "must be 1 to 10080, or 0 to ask about nothing")
        }
        reconcileInterval = pause == 0 ? nil : .seconds(pause * 60)
        reconcileBatch = reader.int(forKey: "reconcile.batch", default: 100)
        guard (1...10_000).contains(reconcileBatch) else {
            throw SettingError("reconcile.batch", "must be 1 to 10000")
        }
        refunds = try Self.destination(reader, "refunds", or: "news.secret")
        guard refunds == nil || sources.contains(where: { !$0.servers.isEmpty }) else {
            throw SettingError(
                "refunds.url",
                "has no use: no Apple source has a key_file, and only Apple's questions are answered"
            )
        }
        sealingKey = try Self.sealingKey(reader)
        formerSealingKeys = try reader.stringArray(forKey: "former_sealing_keys", isSecret: true, default: []).map {
            try Self.sealingKey($0, "former_sealing_keys")
        }
        guard formerSealingKeys.isEmpty || sealingKey != nil else {
            throw SettingError("former_sealing_keys", "needs a sealing_key, which tokens are sealed with from now on")
        }
        creditPolicy = try Self.json(reader, setting: "credits.policy_file", kind: "a credit policy")
        catalog = try Self.json(reader, setting: "products.catalog_file", kind: "a catalogue of products")
    }

    private static func database(_ reader: ConfigReader) throws -> Database {
        let url = reader.string(forKey: "database.url", isSecret: true, default: "sqlite:lifecycle.sqlite")
        if url.hasPrefix("sqlite:") {
            let path = String(url.dropFirst("sqlite:".count))
            guard !path.isEmpty else { throw SettingError("database.url", "names no file behind sqlite:") }
            return .sqlite(path: path)
        }
        guard url.hasPrefix("postgres://") || url.hasPrefix("postgresql://") else {
            throw SettingError("database.url", "must begin with sqlite: or postgres://")
        }
        let configuration = PostgresJournalStorage.Configuration(url: SecretBytes(url))
        do throws(JournalError) { try configuration.validate() } catch {
            throw SettingError("database.url", error.message)
        }
        return .postgres(configuration)
    }

    private static func destination(
        _ reader: ConfigReader,
        _ name: String,
        or other: String? = nil
    ) throws -> Destination? {
        guard let url = reader.string(forKey: ConfigKey("\(name).url")) else { return nil }
        for setting in ["\(name).secret", other].compactMap(\.self) {
            guard let secret = reader.string(forKey: ConfigKey(setting), isSecret: true) else { continue }
            return Destination(
                url: try address(url, "\(name).url"),
                signature: try WebhookSignature(secret: secret, of: setting)
            )
        }
        throw SettingError(
            "\(name).secret",
            "is missing: your receiver could not tell the gateway's requests from others'"
        )
    }

    private static func sealingKey(_ reader: ConfigReader) throws -> SecretBytes? {
        if let path = reader.string(forKey: "sealing_key_file") {
            guard reader.string(forKey: "sealing_key", isSecret: true) == nil else {
                throw SettingError("sealing_key_file", "must be left out if sealing_key is set")
            }
            // Editors and `echo` end a file with a line feed.
            let text = String(decoding: try file(path, "sealing_key_file"), as: UTF8.self)
            return try sealingKey(text.trimmingCharacters(in: .whitespacesAndNewlines), "sealing_key_file")
        }
        return try reader.string(forKey: "sealing_key", isSecret: true).map { try sealingKey($0, "sealing_key") }
    }

    private static func sealingKey(_ text: String, _ setting: String) throws -> SecretBytes {
        guard text.utf8.count >= 32, !isPlaceholder(text) else {
            throw SettingError(setting, "must have 32 characters or more, such as `openssl rand -base64 32` prints")
        }
        return SecretBytes(text)
    }

    /// True for a text of the example or the manual, which everyone knows.
    static func isPlaceholder(_ text: String) -> Bool { text.hasPrefix("set ") || text.contains("…") }

    /// An https address; one without TLS only on the loopback interface, for a receiver on the same machine.
    private static func address(_ text: String, _ setting: String) throws -> HTTPSURL {
        do {
            return text.prefix(7).lowercased() == "http://" ? try .emulator(text) : try HTTPSURL(text)
        } catch {
            // The message names a rule, and no part of the address but the host.
            throw SettingError(setting, "must be https, or http on the loopback interface: \(error.message)")
        }
    }

    private static func json<Value: Decodable>(
        _ reader: ConfigReader,
        setting: String,
        kind: String
    ) throws -> Value? {
        guard let path = reader.string(forKey: ConfigKey(setting)) else { return nil }
        let bytes = try file(path, setting)
        do {
            return try CanonicalJSON.value(from: bytes)
        } catch {
            throw SettingError(setting, "names a file that is not \(kind): \(path): \(error)")
        }
    }

    /// The contents of a file that a setting names.
    static func file(_ path: String, _ setting: String) throws -> [UInt8] {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw SettingError(setting, "names a file that cannot be read: \(path)")
        }
        return Array(data)
    }

    /// Lines for the log at start about settings that are rarely meant.
    var warnings: [String] { sources.flatMap { source in source.warnings.map { "source \(source.name): \($0)" } } }

    /// Lines for the log at start: what is on, without secrets.
    var summary: [String] {
        var lines = sources.map {
            "source \($0.name): \($0.adapter.provider), "
                + ($0.pull.map { "pulled from \($0.configuration.subscription)" } ?? "hook at /hooks/\($0.name)")
        }
        switch database {
        case .sqlite(let path): lines.append("database: SQLite, \(path)")
        case .postgres: lines.append("database: PostgreSQL")
        }
        if let backfillInterval {
            for source in sources where !source.histories.isEmpty {
                lines.append(
                    "source \(source.name): history read every \(backfillInterval.components.seconds / 60) minutes"
                )
            }
        }
        if let reconcileInterval {
            let names = sources.filter { !$0.questions.isEmpty }.map(\.name)
            if !names.isEmpty {
                lines.append(
                    "due purchases are asked about every \(reconcileInterval.components.seconds / 60) minutes: "
                        + names.joined(separator: ", ")
                )
            }
        }
        for source in sources {
            if source.adapter.provider == .google, sealingKey == nil {
                lines.append(
                    "source \(source.name): without sealing_key no purchase token is kept, so nothing is acknowledged or asked again"
                )
            } else if source.acknowledgements != nil {
                lines.append("source \(source.name): purchases are acknowledged")
            }
            if source.revocation != .off {
                lines.append("source \(source.name): revoked certificates are refused (\(source.revocation.rawValue))")
            }
            if !source.servers.isEmpty, refunds != nil {
                lines.append("source \(source.name): questions about refunds go to refunds.url")
            }
        }
        lines.append(destination == nil ? "news: feed alone, /v1/events" : "news: posted to news.url, and /v1/events")
        lines.append("tokens: \(tokens.names.joined(separator: ", "))")
        lines.append(
            "hooks are answered \(answersAtOnce ? "when a delivery is proven and kept" : "when it is taken in")"
        )
        return lines
    }
}
