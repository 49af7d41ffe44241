import HTTPTransport
import LifecycleEvents
import WireJSON

/// The three requests of pulling (Pub/Sub API v1, `projects.subscriptions`).
struct PubSubAPI: Sendable {
    enum Failure: Error {
        /// The same may succeed later.
        case transient(String)
        /// More came than was allowed.
        case tooLarge
        case canceled
        case permanent(PullError)
        /// The request is refused; the verdicts name the reason for some ids.
        case refused(PullError, [String: Verdict])

        var reason: String {
            switch self {
            case .transient(let reason): reason
            case .tooLarge: "responseTooLarge"
            case .canceled: "canceled"
            case .permanent(let error), .refused(let error, _): error.message
            }
        }
    }

    /// The verdict on one id in a request that names others, too.
    enum Verdict {
        case transient, permanent
    }

    /// The outcome of a request to Pub/Sub for each of its ids.
    struct IDOutcomes {
        var taken: [String] = []
        /// They cannot be acknowledged any more, as when their deadline has passed.
        var void: [String] = []
        /// Pub/Sub refuses the request as a whole.
        var denied: [String] = []
        /// They can be sent later.
        var left: [String] = []
        /// Why not all were taken.
        var failure: Failure?
    }

    struct Received: Sendable {
        var acknowledgementID: String
        var content: Content
    }

    enum Content: Sendable {
        case message(PubSubMessage)
        /// The octets of the message, and its id where that much can be read.
        case unreadable([UInt8], messageID: String?, JSONError)
    }

    /// How many ids one request names; the limit of a request is 512 KiB.
    static let idsPerRequest = 500
    /// How many requests are made to find the ids that one request is refused for, before they are given up with others.
    private static let requestsForOne = 32
    /// An answer can name every id, of some 200 octets each.
    private static let maximumAnswerBytes = 1 << 20
    private static let retry = RetryPolicy(
        maximumAttempts: 3,
        baseDelay: .milliseconds(200),
        maximumDelay: .seconds(1),
        deadline: .seconds(5)
    )

    private let transport: any HTTPTransportProtocol
    private let tokens: (any AccessTokenSource)?
    private let clock: any Clock<Duration>
    private let base: HTTPSURL
    private let name: SubscriptionName
    private let subscription: String

    init(
        _ configuration: PullWorker.Configuration,
        transport: any HTTPTransportProtocol,
        tokens: (any AccessTokenSource)?,
        clock: any Clock<Duration>
    ) throws(ConfigurationError) {
        guard let name = SubscriptionName(configuration.subscription) else {
            throw ConfigurationError("subscription must be projects/P/subscriptions/S")
        }
        do {
            base = try configuration.endpoint ?? HTTPSURL(host: "pubsub.googleapis.com")
        } catch {
            throw ConfigurationError("Pub/Sub: \(error)")
        }
        guard tokens != nil || base.isEmulator else {
            throw ConfigurationError("pulling from Google needs `tokens`; only an emulator does without")
        }
        guard tokens == nil || !base.isEmulator else {
            throw ConfigurationError("an emulator has no TLS, so it must not get access tokens: pass `tokens: nil`")
        }
        self.transport = transport
        self.tokens = tokens
        self.clock = clock
        self.name = name
        subscription = configuration.subscription
    }

    func pull(_ count: Int, timeout: Duration, maximumBytes: Int) async throws(Failure) -> [Received] {
        let response = try await post(
            "pull",
            [("maxMessages", .integer(Int64(count)))],
            timeout: timeout,
            maximumBytes: maximumBytes,
            retrying: .never
        )
        var limits = JSONLimits()
        limits.maximumBytes = maximumBytes
        limits.maximumNodes = 1 << 20
        do throws(JSONError) {
            let reader = try ObjectReader(parsing: response.body, limits: limits)
            guard let entries = try reader.optionalArray("receivedMessages") else { return [] }
            var received: [Received] = []
            for entry in entries {
                // Without an id it cannot be acknowledged. It comes again, and must not keep the others away.
                if let one = self.received(entry) { received.append(one) }
            }
            return received
        } catch {
            throw .transient("answer to a pull: \(error)")
        }
    }

    private func received(_ entry: JSONValue) -> Received? {
        guard var reader = try? ObjectReader(entry), let id = try? reader.string("ackId"), !id.isEmpty else {
            return nil
        }
        let attempt = reader.descriptiveInt64("deliveryAttempt")
        do throws(JSONError) {
            return Received(
                acknowledgementID: id,
                content: .message(
                    try PubSubMessage(
                        reading: try reader.value("message"),
                        subscription: subscription,
                        deliveryAttempt: attempt
                    )
                )
            )
        } catch {
            let value = reader.optionalValue("message")
            let messageID = try? value?.object()["messageId"]?.string()
            return Received(
                acknowledgementID: id,
                content: .unreadable(Array((value ?? entry).rawBytes), messageID: messageID, error)
            )
        }
    }

    func acknowledge(_ ids: [String]) async -> IDOutcomes {
        await tell("acknowledge", ids)
    }

    /// - Parameter deadline: from now on; zero gives the messages back.
    func modifyAckDeadline(_ ids: [String], _ deadline: Duration) async -> IDOutcomes {
        await tell("modifyAckDeadline", ids, with: [("ackDeadlineSeconds", .integer(deadline.components.seconds))])
    }

    /// Sends the acknowledgement or new deadline of each id.
    ///
    /// Where a subscription delivers exactly once, one id whose deadline has passed fails the request. The answer names those
    /// that were not taken, and the others were. Where it names none, as for an id that is malformed, halves are tried.
    private func tell(_ verb: StaticString, _ ids: [String], with members: [(String, JSONText)] = []) async
        -> IDOutcomes
    {
        var outcomes = IDOutcomes()
        var groups = [ids[...]]
        var requests = 0
        while let group = groups.popLast() {
            requests += 1
            do throws(Failure) {
                _ = try await post(verb, [("ackIds", .array(group.map { .string($0) }))] + members)
                outcomes.taken += group
            } catch {
                outcomes.failure = error
                switch error {
                case .refused(_, let verdicts) where group.contains { verdicts[$0] != nil }:
                    for id in group {
                        switch verdicts[id] {
                        case nil: outcomes.taken.append(id)
                        case .transient?: outcomes.left.append(id)
                        case .permanent?: outcomes.void.append(id)
                        }
                    }
                case .refused where group.count > 1 && requests < Self.requestsForOne:
                    let middle = group.startIndex + group.count / 2
                    groups += [group[middle...], group[..<middle]]
                case .refused: outcomes.void += group
                case .permanent:
                    outcomes.denied += group + groups.joined()
                    return outcomes
                case .transient, .tooLarge, .canceled:
                    outcomes.left += group + groups.joined()
                    return outcomes
                }
            }
        }
        return outcomes
    }

    private func post(
        _ verb: StaticString,
        _ members: [(String, JSONText)],
        timeout: Duration = .seconds(10),
        maximumBytes: Int = maximumAnswerBytes,
        retrying policy: RetryPolicy = retry
    ) async throws(Failure) -> HTTPTransportResponse {
        var isSecond = false
        while true {
            let (request, token) = try await request(verb, members, timeout: timeout, maximumBytes: maximumBytes)
            let response: HTTPTransportResponse
            do throws(HTTPTransportError) {
                response = try await transport.send(request, retrying: policy, clock: clock)
            } catch {
                switch error.code {
                case .responseTooLarge: throw .tooLarge
                case .canceled: throw .canceled
                case .invalidRequest: throw .permanent(PullError(cause: .invalid, message: error.message))
                case .shutDown: throw .permanent(PullError(cause: .shutDown, message: error.message))
                default: throw .transient(error.code.rawValue)
                }
            }
            if response.isSuccess { return response }
            let error = APIErrorBody(response.body)
            if response.status == 401, !isSecond, let token, !error.isAboutPermissions {
                isSecond = true
                tokens?.discard(token)
                continue
            }
            throw Self.failure(response.status, error, body: response.body)
        }
    }

    private func request(
        _ verb: StaticString,
        _ members: [(String, JSONText)],
        timeout: Duration,
        maximumBytes: Int
    ) async throws(Failure) -> (HTTPTransportRequest, SecretBytes?) {
        let token: SecretBytes?
        do throws(AccessTokenError) {
            token = try await tokens?.accessToken()
        } catch {
            if Task.isCancelled { throw .canceled }
            if error.isRetryable { throw .transient(error.message) }
            let cause: PullError.Cause = error.underlying?.code == .shutDown ? .shutDown : .denied
            throw .permanent(PullError(cause: cause, message: error.message))
        }
        do throws(HTTPTransportError) {
            let url = try base.appending(path: [
                "v1", "projects", .init(name.project), "subscriptions", .init(name.name, verb: verb),
            ])
            var request = try HTTPTransportRequest(
                .post,
                url,
                headers: ["Accept": "application/json", "Content-Type": "application/json"],
                body: JSONMembers(members).bytes,
                timeout: timeout,
                maximumResponseBytes: maximumBytes
            )
            if let token {
                try request.setHeader("Authorization", to: "Bearer \(String(decoding: token.bytes, as: UTF8.self))")
            }
            // To acknowledge, or to move a deadline, twice does no harm.
            request.isIdempotent = true
            return (request, token)
        } catch {
            throw .permanent(PullError(cause: .invalid, message: error.message))
        }
    }

    private static func failure(_ status: Int, _ error: APIErrorBody, body: [UInt8]) -> Failure {
        let message = "status \(status)\(error.reason.map { ", \($0)" } ?? "")"
        switch status {
        case 403 where error.isAboutQuota: return .transient(message)
        case 401, 403: return .permanent(PullError(cause: .denied, message: message))
        case 404: return .permanent(PullError(cause: .notFound, message: message))
        // Google's APIs call a request that was broken off on their side 499, CANCELLED.
        case 408, 409, 429, 499: return .transient(message)
        case 400: return .refused(PullError(cause: .invalid, message: message), verdicts(body))
        case 400..<500: return .permanent(PullError(cause: .invalid, message: message))
        default: return .transient(message)
        }
    }

    /// The verdicts of `google.rpc.ErrorInfo` on single ids.
    private static func verdicts(_ body: [UInt8]) -> [String: Verdict] {
        guard let error = try? ObjectReader(parsing: body).optionalValue("error")?.object(),
            let details = try? error["details"]?.array()
        else { return [:] }
        var verdicts: [String: Verdict] = [:]
        for detail in details {
            guard let metadata = try? detail.object()["metadata"]?.object() else { continue }
            for (id, value) in metadata.members {
                guard let text = try? value.string() else { continue }
                if text.hasPrefix("TRANSIENT_") { verdicts[id] = .transient }
                if text.hasPrefix("PERMANENT_") { verdicts[id] = .permanent }
            }
        }
        return verdicts
    }
}
