public import FoundationEssentials
public import HTTPTransport
public import LifecycleEvents

/// Access tokens for a service account (RFC 7523), renewed shortly before their end.
///
/// One request serves all waiting callers. Callers wait only if there is no valid token; a canceled caller returns at once.
public final class ServiceAccountTokenSource: AccessTokenSource {
    /// The purpose of a token.
    public struct Scope: Hashable, Sendable {
        /// The scope's URL.
        public var url: String

        /// Keeps a scope.
        public init(url: String) { self.url = url }

        /// The Play Developer API.
        public static let androidPublisher = Scope(url: "https://www.googleapis.com/auth/androidpublisher")
        /// Pulling from Pub/Sub.
        public static let pubSub = Scope(url: "https://www.googleapis.com/auth/pubsub")
    }

    /// Google's libraries renew a token when less than this remains.
    private static let refreshMargin: Duration = .seconds(225)
    /// Where tokens are refused again within this time, it is not the token that is at fault.
    private static let refusalInterval: Duration = .seconds(60)

    private let tokens: RefreshingValue<SecretBytes, AccessTokenError>

    /// Prepares the source; it sends no request before a token is asked for.
    ///
    /// - Parameters:
    ///   - account: the account whose key signs.
    ///   - scopes: the scopes of the tokens.
    ///   - transport: sends the requests for tokens.
    ///   - clock: measures how long tokens are kept.
    ///   - now: the time of day, for the account's signature.
    /// - Throws: `ConfigurationError` without a scope.
    public convenience init(
        _ account: ServiceAccount,
        scopes: [Scope] = [.androidPublisher],
        transport: any HTTPTransportProtocol,
        clock: any Clock<Duration> = ContinuousClock(),
        now: @escaping @Sendable () -> Date
    ) throws(ConfigurationError) {
        try self.init(account, scopes: scopes, transport: transport, clock: clock, tokenURL: nil, now: now)
    }

    /// - Parameter tokenURL: Google's own endpoint unless a test plays it.
    package init(
        _ account: ServiceAccount,
        scopes: [Scope] = [.androidPublisher],
        transport: any HTTPTransportProtocol,
        clock: any Clock<Duration> = ContinuousClock(),
        tokenURL: HTTPSURL?,
        now: @escaping @Sendable () -> Date
    ) throws(ConfigurationError) {
        guard !scopes.isEmpty, scopes.allSatisfy({ !$0.url.isBlank }) else {
            throw ConfigurationError("scopes must name at least one scope, and no blank one")
        }
        let url: HTTPSURL
        do {
            url = try tokenURL ?? HTTPSURL(host: ServiceAccount.tokenHost, path: ["token"])
        } catch {
            throw ConfigurationError("token endpoint: \(error)")
        }
        let endpoint = TokenEndpoint(
            url: url,
            account: account,
            scopes: scopes,
            transport: transport,
            clock: clock,
            now: now
        )
        let time = ElapsedTime(clock)
        tokens = RefreshingValue(time: time, failureInterval: .seconds(5)) { () throws(AccessTokenError) in
            // Its life is counted from before the request, so that no delay of ours lengthens it.
            let start = time.now
            let (token, lifetime) = try await endpoint.token()
            let expiry = start + lifetime
            return (token, expiry - Self.refreshMargin, expiry)
        }
    }

    /// A token that is valid now. Another one is asked for when less than 225 seconds of it are left.
    ///
    /// - Throws: ``AccessTokenError``, which can be retried where Google could not be reached or had trouble, if it refuses
    ///   the tokens that it gives, and where the task was canceled; it cannot where Google refuses the account, its key or its
    ///   scopes, and where the transport was shut down.
    public func accessToken() async throws(AccessTokenError) -> SecretBytes {
        switch await tokens.value() {
        case .success(let token)?: return token
        case .failure(let error)?: throw error
        case nil:
            throw TokenEndpoint.failure(HTTPTransportError(.canceled, "canceled while an access token was asked for"))
        }
    }

    /// Forgets the token, if it is still the one that is given out.
    ///
    /// The first time, another one is asked for at once. Where that is refused as well, Google is asked every five seconds at most.
    public func discard(_ token: SecretBytes) {
        tokens.discard(
            repeatedWithin: Self.refusalInterval,
            failure: AccessTokenError("access tokens are refused as soon as they are given", isRetryable: true)
        ) { $0.bytes == token.bytes }
    }
}
