public import Configuration
import Foundation
import GooglePubSub
import HTTPTransport
import Normalizer

/// A setting that is missing or cannot work. The gateway does not start with one.
public struct SettingError: Error, CustomStringConvertible {
    /// The setting, as it is called in the file.
    public var setting: String
    /// The problem, and the expected value. It never shows a value.
    public var message: String

    /// `setting: message`
    public var description: String { "\(setting): \(message)" }

    init(_ setting: String, _ message: String) {
        self.setting = setting
        self.message = message
    }
}

/// The settings of a gateway, read from a file and the environment, and checked before it serves anything.
public struct GatewayConfiguration: Sendable {
    /// The address for news, and the signature that proves it to the receiver.
    struct Destination: Sendable {
        var url: HTTPSURL
        var signature: WebhookSignature
    }

    /// Where the rows are.
    enum Database: Sendable {
        /// A file of SQLite.
        case sqlite(path: String)
        /// A server of PostgreSQL.
        case postgres(url: Secret)
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
    var creditPolicy: CreditPolicy?
    var catalog: ProductCatalog?

    /// Reads the settings.
    ///
    /// - Throws: ``SettingError`` for the first setting that is missing or wrong.
    public init(_ reader: ConfigReader) throws {
        host = reader.string(forKey: "http.host", default: "127.0.0.1")
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
        destination = try Self.destination(reader)
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
        creditPolicy = try Self.json(reader, "credits.policy_file")
        catalog = try Self.json(reader, "products.catalog_file")
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
        return .postgres(url: Secret(url))
    }

    private static func destination(_ reader: ConfigReader) throws -> Destination? {
        guard let url = reader.string(forKey: "news.url") else { return nil }
        guard let secret = reader.string(forKey: "news.secret", isSecret: true) else {
            throw SettingError(
                "news.secret",
                "is missing: your receiver could not tell the gateway's requests from others'"
            )
        }
        return Destination(url: try address(url), signature: try WebhookSignature(secret: secret))
    }

    /// An https address; one without TLS only on the loopback interface, for a receiver beside the gateway.
    private static func address(_ text: String) throws -> HTTPSURL {
        do {
            guard text.hasPrefix("http://"), let parts = URLComponents(string: text), let host = parts.host else {
                return try HTTPSURL(text)
            }
            let path = parts.path.split(separator: "/").map { HTTPSURL.PathSegment(String($0)) }
            return try HTTPSURL.emulator(host: host, port: parts.port ?? 80, path: path)
        } catch {
            throw SettingError("news.url", "must be https, or http on the loopback interface")
        }
    }

    private static func json<Value: Decodable>(_ reader: ConfigReader, _ setting: String) throws -> Value? {
        guard let path = reader.string(forKey: ConfigKey(setting)) else { return nil }
        return try CanonicalJSON.value(from: file(path, setting))
    }

    /// The contents of a file that a setting names.
    static func file(_ path: String, _ setting: String) throws -> [UInt8] {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw SettingError(setting, "names a file that cannot be read: \(path)")
        }
        return Array(data)
    }

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
        lines.append(destination == nil ? "news: feed alone, /v1/events" : "news: posted to news.url, and /v1/events")
        lines.append("tokens: \(tokens.names.joined(separator: ", "))")
        lines.append(
            "hooks are answered \(answersAtOnce ? "when a delivery is proven and kept" : "when it is taken in")"
        )
        return lines
    }
}
