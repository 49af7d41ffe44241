#if CommandLineTool
import ArgumentParser
import CurlTransport
import Foundation
import GooglePubSub
import HTTPTransport
import Normalizer
import WireJSON

/// The configuration file of `lifecycle pull`.
struct PullSettings {
    private static let members: Set<String> = [
        "subscription", "packageName", "packageNames", "serviceAccountFile", "orderLookup", "voidedPurchaseLookup",
        "acknowledgementDeadlineSeconds", "maximumOutstandingMessages", "trustRootsFile", "emulator",
    ]
    private static let emulatorMembers: Set<String> = ["pubsub", "play", "token"]

    let subscription: String
    let account: ServiceAccount
    var google: GooglePlayAdapter.Configuration
    var worker: PullWorker.Configuration
    let trustRoots: CurlHTTPTransport.Configuration.TrustRoots
    /// The emulators on this host, in tests.
    private let play: HTTPSURL?
    private let token: HTTPSURL?

    /// - Throws: `ValidationError` for a file that is not a configuration, also for an unknown member.
    init(path: String) throws(ValidationError) {
        do {
            try self.init(ObjectReader(parsing: contents(of: path)))
        } catch let error as ValidationError {
            throw error
        } catch {
            throw ValidationError("\(path): \(error)")
        }
    }

    private init(_ reader: ObjectReader) throws {
        try reader.refuseMembers(otherThan: Self.members)
        subscription = try reader.string("subscription")
        var names = try reader.optionalStrings("packageNames") ?? []
        if let name = try reader.optionalString("packageName") { names.append(name) }
        google = GooglePlayAdapter.Configuration(packageNames: Set(names), subscriptions: [subscription], push: nil)
        switch try reader.optionalString("orderLookup") {
        case nil, "voided": google.orderLookup = .voided
        case "never": google.orderLookup = .never
        case "charged": google.orderLookup = .charged
        default: throw ValidationError("orderLookup must be never, voided or charged")
        }
        google.looksUpVoidedPurchases = try reader.optionalBool("voidedPurchaseLookup") ?? false
        account = try ServiceAccount(keyFile: SecretBytes(bytes: try contents(of: reader.string("serviceAccountFile"))))
        trustRoots =
            try reader.optionalString("trustRootsFile").map { path in
                // libcurl would report it with each connection, and a failed connection is only repeated.
                _ = try contents(of: path)
                return .file(path: path)
            } ?? .system

        let emulator = try reader.optionalValue("emulator").map { try ObjectReader($0) }
        if let emulator { try emulator.refuseMembers(otherThan: Self.emulatorMembers) }
        let pubsub = try emulator?.optionalString("pubsub").map { try Self.address($0) }
        worker = PullWorker.Configuration(
            subscription: subscription,
            endpoint: try pubsub.map { try .emulator(host: $0.host, port: $0.port) }
        )
        play = try emulator?.optionalString("play").map { try Self.url($0) }
        token = try emulator?.optionalString("token").map { try Self.url($0, path: ["token"]) }
        if let seconds = try reader.optionalInt64("acknowledgementDeadlineSeconds") {
            worker.acknowledgementDeadline = .seconds(seconds)
        }
        if let count = try reader.optionalInt64("maximumOutstandingMessages") {
            worker.maximumOutstandingMessages = Int(clamping: count)
        }
    }

    func adapter(_ transport: any HTTPTransportProtocol) throws -> GooglePlayAdapter {
        let api = try PlayDeveloperAPI(
            transport: transport,
            tokens: try tokens(.androidPublisher, transport),
            base: play
        )
        return try GooglePlayAdapter(google, keys: nil, api: api)
    }

    func pullWorker(_ transport: any HTTPTransportProtocol) throws -> PullWorker {
        // An emulator is spoken to without TLS, and is sent no token.
        let tokens = worker.endpoint == nil ? try tokens(.pubSub, transport) : nil
        return try PullWorker(worker, transport: transport, tokens: tokens, now: { Date() })
    }

    private func tokens(
        _ scope: ServiceAccountTokenSource.Scope,
        _ transport: any HTTPTransportProtocol
    ) throws -> ServiceAccountTokenSource {
        try ServiceAccountTokenSource(
            account,
            scopes: [scope],
            transport: transport,
            tokenURL: token,
            now: { Date() }
        )
    }

    /// A member that is misspelled must not silently stay without effect.
    private static func address(_ text: String) throws -> (host: String, port: Int) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, let port = Int(parts[1]) else {
            throw ValidationError("an emulator must be host:port")
        }
        // Throws for a host that is not this one.
        _ = try HTTPSURL.emulator(host: parts[0], port: port)
        return (parts[0], port)
    }

    private static func url(_ text: String, path: [HTTPSURL.PathSegment] = []) throws -> HTTPSURL {
        let (host, port) = try address(text)
        return try HTTPSURL(host: host, port: port, path: path)
    }
}
#endif
