#if CommandLineTool
import Foundation
import Normalizer
import NotificationSimulator
import StoryReceiving
import WireJSON

/// Writes the files with which `lifecycle backfill` and its like ask simulated providers: for each a configuration as
/// ``ProviderAccess`` reads it, its keys, and what its deliveries are proven with.
struct SimulatedAccess {
    let folder: URL
    /// The root of the simulator's certificate.
    let certificate: URL
    /// The port of its APIs.
    let port: Int

    /// - Returns: the path of the configuration; nil if ``ProviderAccess`` does not ask the provider.
    func configuration(of simulator: any StorySimulator, _ api: StoryAPI) throws -> String? {
        let name = simulator.provider.rawValue
        var members = JSONMembers([
            ("trustRootsFile", .string(certificate.path)), ("emulator", .integer(Int64(port))),
        ])
        switch simulator {
        case let apple as AppleSimulator:
            guard let server = api.appStoreServer else { throw SimulatorError("there is no API key", .nonsense) }
            members.append("bundleIds", [.string(apple.bundleId)])
            members.append("appAppleId", .integer(apple.appAppleId))
            members.append("environments", [.string(apple.environment.rawValue.lowercased())])
            members.append("rootsFile", try file("\(name)-root.pem", Self.pem(certificate: apple.rootCertificate)))
            members.append("issuerId", .string(server.issuerID))
            members.append("keyId", .string(server.keyID))
            members.append("keyFile", try file("\(name)-key.p8", server.privateKey))
        case let google as GoogleSimulator:
            members.append("packageNames", [.string(google.packageName)])
            members.append(
                "serviceAccountFile",
                try file("\(name)-service-account.json", google.serviceAccountKeyFile().bytes)
            )
            members.append("audience", .string(google.audience))
            members.append("pushServiceAccount", .string(google.serviceAccountEmail))
        case let relay as RevenueCatSimulator:
            members.append("apiKeyFile", try file("\(name)-key", Array("sk_simulated".utf8)))
            members.append("project", "proj1")
            if let authorization = relay.authorization {
                members.append("authorizationsFile", try file("\(name)-authorization", authorization.bytes))
            }
            if let secret = relay.signingSecret {
                members.append("signingSecretsFile", try file("\(name)-secret", secret.bytes))
            }
        case let stripe as StripeSimulator:
            members.append("apiKeyFile", try file("\(name)-key", Array("rk_live_simulated".utf8)))
            members.append("signingSecretsFile", try file("\(name)-secret", stripe.signingSecret.bytes))
        default: return nil
        }
        let configuration = folder.appendingPathComponent("\(name).json")
        try writeFile(members.bytes, to: configuration)
        return configuration.path
    }

    private func file(_ name: String, _ content: [UInt8]) throws -> JSONText {
        let file = folder.appendingPathComponent(name)
        try writeFile(content, to: file)
        return .string(file.path)
    }

    private static func pem(certificate: [UInt8]) -> [UInt8] {
        let text = Data(certificate).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        return Array("-----BEGIN CERTIFICATE-----\n\(text)\n-----END CERTIFICATE-----\n".utf8)
    }
}
#endif
