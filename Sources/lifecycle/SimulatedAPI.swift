#if CommandLineTool
import Foundation
import LoopbackServer
import Normalizer
import NotificationSimulator
import StoryReceiving
import Synchronization
import WireJSON

/// The providers' answers to look-ups, on the loopback interface: with TLS, and without.
///
/// It stands at the end of the story, unless ``advance(to:of:)`` or `PUT /simulator/position` moves it. `PUT /simulator/trouble`
/// has the next requests refused.
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
        let access = SimulatedAccess(folder: folder, certificate: certificate, port: secure.port)
        var receivers = JSONMembers()
        var configurations = JSONMembers()
        for (simulator, api) in stories {
            let name = simulator.provider.rawValue
            receivers.append(name, .raw(String(decoding: simulator.receiverConfiguration, as: UTF8.self)))
            configurations.add(name, try access.configuration(of: simulator, api))
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
        members.append("config_files", .object(configurations))
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

    /// The outcome of a request instead of an answer.
    private enum Trouble: Sendable {
        case refusal(status: Int)
        case lostConnection

        init?(_ word: Substring) {
            if word == "drop" {
                self = .lostConnection
            } else if let status = Int(word), (400...599).contains(status) {
                self = .refusal(status: status)
            } else {
                return nil
            }
        }
    }

    private let stories: Mutex<[PlayedStory]>
    /// The trouble of the next requests, one each.
    private let troubles = Mutex<[Trouble]>([])
    let accessToken: String

    init(_ stories: [(any StorySimulator, StoryAPI)], accessToken: String) {
        self.stories = Mutex(
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
    func serve(_ exchange: inout LoopbackServer.Exchange) {
        let request = exchange.request
        switch (request.method, request.target) {
        case ("GET", "/oauth2/v3/certs"):
            let google = stories.withLock { $0 }.lazy.compactMap { $0.simulator as? GoogleSimulator }.first
            let headers = [Self.json, ("Cache-Control", "max-age=3600")]
            exchange.respond(google == nil ? 404 : 200, headers, body: google?.keySet ?? [])
        case ("POST", "/token"):
            answerToken(&exchange)
        case ("PUT", "/simulator/position"):
            guard let position = Int(String(decoding: request.body, as: UTF8.self)) else {
                exchange.respond(400)
                return
            }
            advance(to: position, of: nil)
            exchange.respond(204)
        case ("PUT", "/simulator/trouble"):
            let text = String(decoding: request.body, as: UTF8.self)
            let words = text.isEmpty ? [] : text.split(separator: ",", omittingEmptySubsequences: false)
            let troubles = words.compactMap(Trouble.init)
            guard troubles.count == words.count else {
                exchange.respond(400)
                return
            }
            self.troubles.withLock { $0 = troubles }
            exchange.respond(204)
        default: answerAsProvider(&exchange)
        }
    }

    private func answerAsProvider(_ exchange: inout LoopbackServer.Exchange) {
        let request = exchange.request
        let claims = stories.withLock { $0 }.compactMap { story in
            story.api.claim(on: request.target).map { (story: story, length: $0) }
        }
        guard let story = claims.max(by: { $0.length < $1.length })?.story else {
            exchange.respond(404)
            return
        }
        let present = Date()
        let answer: StoryAPI.Answer
        switch troubles.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
        case .lostConnection?:
            exchange.close()
            return
        case .refusal(let status)?: answer = story.api.refusal(status, at: present)
        case nil:
            let asked = StoryAPI.Request(
                request.method,
                target: request.target,
                authorization: request.values("Authorization").first,
                body: request.body,
                arrivedAt: present
            )
            answer =
                isAllowed(request, by: story.api.credentials)
                ? (try? story.api.answer(asked, after: story.position)) ?? story.api.refusal(500, at: present)
                : story.api.refusal(401, at: present)
        }
        exchange.respond(answer.status, answer.headers.map { ($0.key, $0.value) }, body: answer.body)
    }

    private func isAllowed(_ request: LoopbackServer.Request, by credentials: StoryAPI.Credentials) -> Bool {
        let values = request.values("Authorization")
        let token = values.count == 1 && values[0].hasPrefix("Bearer ") ? values[0].dropFirst(7) : ""
        return switch credentials {
        case .accessToken: token == accessToken
        case .secretKey(let beginnings): beginnings.contains { token.hasPrefix($0) }
        case .signedToken: true
        }
    }

    private static let json = ("Content-Type", "application/json; charset=UTF-8")

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
}
#endif
