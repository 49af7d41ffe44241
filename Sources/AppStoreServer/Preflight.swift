import AppleJWS
import FoundationEssentials
import HTTPTransport
public import LifecycleEvents

/// The findings of a check of the set-up, before anything depends on it.
public struct Preflight: Sendable, Hashable {
    /// The answer of one environment, from an open set.
    public struct Finding: OpenValue {
        /// The name used in output.
        public let rawValue: String
        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The credentials are accepted, and Apple delivered a test notification to your URL.
        public static let delivered: Finding = "delivered"
        /// The credentials are accepted. Apple did not report the fate of the test notification in time.
        public static let accepted: Finding = "accepted"
        /// The credentials are accepted; your URL did not take the test notification.
        public static let notDelivered: Finding = "not_delivered"
        /// The credentials are accepted; no URL for notifications is configured in App Store Connect.
        public static let noURL: Finding = "no_url"
        /// Apple refuses the credentials.
        public static let refused: Finding = "refused"
        /// Apple could not be asked.
        public static let unavailable: Finding = "unavailable"
    }

    /// The outcome for one environment.
    public struct Result: Sendable, Hashable {
        /// The server that was asked.
        public var environment: AppStoreServerClient.Environment
        /// Its answer.
        public var finding: Finding
        /// Advice, in a sentence fit for a terminal.
        public var advice: String
    }

    /// One result for each configured environment.
    public var results: [Result]

    /// True if every environment accepts the credentials.
    public var isPassed: Bool {
        results.allSatisfy { ![.refused, .unavailable].contains($0.finding) }
    }
}

extension AppStoreServerClient {
    /// Asks each configured environment for a test notification, and names the problem if it is refused.
    ///
    /// Apple answers a wrong key, key id, issuer id and bundle id alike. So the answers of both environments are read
    /// together with the answer's date. If both refuse and your clock is right, one of the four is wrong. If only
    /// Production refuses, the app has not been released.
    ///
    /// - Parameter attempts: how often to check, a second apart, if the notification arrived.
    public func preflight(attempts: Int = 5) async -> Preflight {
        var results: [Preflight.Result] = []
        for environment in configuration.environments {
            results.append(await check(environment, attempts: attempts))
        }
        let production = results.firstIndex { $0.environment == .production && $0.finding == .refused }
        let isSandboxFine = results.contains {
            $0.environment == .sandbox && $0.finding != .refused && $0.finding != .unavailable
        }
        if let production, isSandboxFine {
            results[production].advice =
                "Sandbox accepts the same credentials: the app has no release on the App Store yet, or bundleID is of another app"
        }
        return Preflight(results: results)
    }

    private func check(_ environment: Environment, attempts: Int) async -> Preflight.Result {
        func result(_ finding: Preflight.Finding, _ advice: String) -> Preflight.Result {
            Preflight.Result(environment: environment, finding: finding, advice: advice)
        }
        let token: String
        do throws(AppStoreServerError) {
            token = try await requestTestNotification(in: environment)
        } catch {
            switch error.code {
            case .unauthorized: return result(.refused, error.message)
            case .notFound where error.number == 4_040_007:
                return result(.noURL, "set a URL for App Store Server Notifications in App Store Connect")
            default: return result(.unavailable, error.details)
            }
        }
        for _ in 0..<max(attempts, 1) {
            await pause()
            guard let entry = try? await testNotificationStatus(token, in: environment),
                let last = entry.attempts.last
            else { continue }
            return last.result == .success
                ? result(.delivered, "nothing to do")
                : result(.notDelivered, "your URL did not answer with success: \(last.result)")
        }
        return result(.accepted, "ask Apple again in a minute whether the test notification arrived")
    }
}
