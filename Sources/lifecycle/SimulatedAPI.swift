#if CommandLineTool
import Foundation
import HTTPTransport
import LoopbackServer
import Normalizer
import NotificationSimulator
import StoryReceiving

/// The providers' answers to look-ups, on the loopback interface: with TLS, and without.
///
/// It stands at the end of the story, unless ``advance(to:of:)`` or `PUT /simulator/position` moves it.
final class SimulatedAPI: Sendable {
    private let stage: Stage
    private let servers: [LoopbackServer]
    /// Where everything is and how a receiver is configured, in JSON.
    let description: [UInt8]

    init(_ stories: [(any StorySimulator, StoryAPI)], files folder: String?) throws {
        let stage = Stage(stories, accessToken: "ya29.\(UUID().uuidString)")
        self.stage = stage
        let script: LoopbackServer.Script = { exchange in stage.serve(&exchange) }
        let authority = try TestAuthority(name: "lifecycle simulator")
        let identity = try authority.issue("DNS:localhost,IP:127.0.0.1")
        let secure = try LoopbackServer(LoopbackServer.TLS(identity), script: script)
        let plain = try LoopbackServer(nil, script: script)
        servers = [secure, plain]
        let base = "https://localhost:\(secure.port)"

        let folder =
            folder.map { URL(fileURLWithPath: $0) }
            ?? FileManager.default.temporaryDirectory.appendingPathComponent("lifecycle-\(UUID().uuidString)")
        let certificate = folder.appendingPathComponent("ca.pem")
        try writeFile(authority.certificate, to: certificate)
        var members = JSONMembers([
            ("https", .string(base)), ("http", .string("http://127.0.0.1:\(plain.port)")),
            ("ca_certificate", .string(certificate.path)),
        ])
        var receivers = JSONMembers()
        for (simulator, _) in stories {
            receivers.append(
                simulator.provider.rawValue,
                .raw(String(decoding: simulator.receiverConfiguration, as: UTF8.self))
            )
            guard let google = simulator as? GoogleSimulator else { continue }
            let keyFile = folder.appendingPathComponent("service-account.json")
            try writeFile(google.serviceAccountKeyFile(tokenURI: "\(base)/token").bytes, to: keyFile)
            members.append(
                "google",
                [
                    "jwks_uri": .string("\(base)/oauth2/v3/certs"), "token_uri": .string("\(base)/token"),
                    "play_api": .string(base),
                    "service_account_key_file": .string(keyFile.path), "access_token": .string(stage.accessToken),
                ]
            )
        }
        members.append("receivers", .object(receivers))
        description = members.bytes
    }

    deinit {
        for server in servers { server.stop() }
    }

    /// The provider has made so many notifications, and answers as of then.
    func advance(to position: Int, of provider: Provider) { stage.advance(to: position, of: provider) }
}

/// The look-ups and their answers.
private final class Stage: Sendable {
    private struct PlayedStory: Sendable {
        var simulator: any StorySimulator
        var api: StoryAPI
        /// How many of its notifications the provider has made.
        var position: Int

        mutating func advance(to position: Int) { self.position = min(max(position, 0), api.notifications.count) }
    }

    private let stories: Locked<[PlayedStory]>
    let accessToken: String

    init(_ stories: [(any StorySimulator, StoryAPI)], accessToken: String) {
        self.stories = Locked(
            stories.map { PlayedStory(simulator: $0, api: $1, position: $1.notifications.count) }
        )
        self.accessToken = accessToken
    }

    /// - Parameter provider: nil for all.
    func advance(to position: Int, of provider: Provider?) {
        stories.withLock { stories in
            for index in stories.indices where provider == nil || stories[index].simulator.provider == provider {
                stories[index].advance(to: position)
            }
        }
    }
}

// MARK: Answers

extension Stage {
    private static let json = ("Content-Type", "application/json; charset=UTF-8")

    func serve(_ exchange: inout LoopbackServer.Exchange) {
        let request = exchange.request
        let stories = stories.withLock { $0 }
        let json = Self.json
        switch (request.method, request.target) {
        case ("GET", "/oauth2/v3/certs"):
            let keys = stories.lazy.compactMap { $0.simulator as? GoogleSimulator }.first?.keySet
            exchange.respond(keys == nil ? 404 : 200, [json, ("Cache-Control", "max-age=3600")], body: keys ?? [])
        case ("POST", "/token"):
            answerToken(&exchange)
        case ("PUT", "/simulator/position"):
            guard let position = Int(String(decoding: request.body, as: UTF8.self)) else {
                exchange.respond(400)
                return
            }
            advance(to: position, of: nil)
            exchange.respond(204)
        case ("POST", let target) where target.hasSuffix(":acknowledge"):
            exchange.respond(isAllowed(request) ? 204 : 401)
        case ("GET", let target):
            guard isAllowed(request) else {
                exchange.respond(401, [json], body: Self.error(401, "authError"))
                return
            }
            for story in stories where story.position > 0 && story.simulator.provider != .apple {
                let now = story.api.notifications[story.position - 1].occurredAt.addingTimeInterval(1)
                let asked = StoryAPI.Request("GET", target: target)
                guard let answer = try? story.api.answer(asked, after: story.position, at: now), answer.status != 404
                else { continue }
                exchange.respond(answer.status, [json, ("Date", HTTPDateText.text(now))], body: answer.body)
                return
            }
            exchange.respond(404, [json], body: Self.error(404, "purchaseTokenNotFound"))
        default:
            exchange.respond(405)
        }
    }

    /// Google's API takes its own token, the others any key that is one of theirs.
    private func isAllowed(_ request: LoopbackServer.Request) -> Bool {
        let credentials = request.values("Authorization")
        guard credentials.count == 1, let credential = credentials.first, credential.hasPrefix("Bearer ") else {
            return false
        }
        let token = credential.dropFirst(7)
        return request.target.hasPrefix("/androidpublisher/")
            ? token == accessToken : token.hasPrefix("sk_") || token.hasPrefix("rk_")
    }

    /// RFC 7523, section 2.1. Who signed the assertion is not looked at.
    private func answerToken(_ exchange: inout LoopbackServer.Exchange) {
        let json = Self.json
        let form = String(decoding: exchange.request.body, as: UTF8.self).split(separator: "&")
        let isGrant = form.contains { $0 == "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer" }
        let hasAssertion = form.contains {
            $0.hasPrefix("assertion=") && $0.dropFirst(10).split(separator: ".").count == 3
        }
        guard isGrant, hasAssertion else {
            exchange.respond(400, [json], body: Array(#"{"error":"invalid_grant"}"#.utf8))
            return
        }
        let body = JSONMembers([
            ("access_token", .string(accessToken)), ("expires_in", 3599), ("token_type", "Bearer"),
        ])
        exchange.respond(200, [json], body: body.bytes)
    }

    private static func error(_ code: Int64, _ reason: String) -> [UInt8] {
        JSONMembers([
            (
                "error",
                [
                    "code": .integer(code), "message": "refused",
                    "errors": [["domain": "global", "reason": .string(reason), "message": "refused"]],
                ]
            )
        ]).bytes
    }
}
#endif
