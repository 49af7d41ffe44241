import AppleJWS
public import FoundationEssentials
public import LifecycleEvents

/// The notifications that Apple sent, or tried to send, to the app's URL in one environment, for a backfill.
public struct AppStoreHistory: DeliveryHistory {
    private let server: AppStoreServer
    private let environment: AppStoreServer.Environment

    init(_ server: AppStoreServer, _ environment: AppStoreServer.Environment) {
        self.server = server
        self.environment = environment
    }

    /// `apple/<bundle id>/<environment>`
    public var name: String { "apple/\(server.configuration.bundleID)/\(environment)" }

    /// Apple.
    public var provider: Provider { .apple }

    /// 180 days in Production and 30 in Sandbox, less an hour, since Apple refuses an earlier start.
    public var reach: Duration { .seconds((environment == .production ? 180 : 30) * 86_400 - 3600) }

    /// Reads a page of twenty. Every notification on it is verified as one that a webhook brings.
    public func page(
        of window: Range<Date>,
        at position: String?
    ) async throws(DeliveryError) -> DeliveryHistoryPage {
        let answer: NotificationHistoryPage
        do throws(AppStoreServerError) {
            answer = try await server.notificationHistory(
                NotificationHistoryQuery(from: window.lowerBound, to: window.upperBound),
                page: position,
                in: environment
            )
        } catch {
            // Apple calls a token that has expired so, and one that it does not know.
            let isTokenRefused = position != nil && [4_000_014, 4_000_017].contains(error.number)
            guard !isTokenRefused else {
                throw DeliveryError(.stale, "the notification history: the page token has expired", underlying: error)
            }
            throw error.asDeliveryError("the notification history")
        }
        let page = DeliveryHistoryPage(answer.entries.map(entry), next: answer.next)
        let isUndecided = page.entries.contains { entry in
            if case .failure(let error) = entry.outcome { error.code.isRetryable } else { false }
        }
        guard isUndecided else { return page }
        // The revocation of a certificate that was not met before; its issuer is being asked.
        await server.adapter.settleRevocation()
        return DeliveryHistoryPage(answer.entries.map(entry), next: answer.next)
    }

    private func entry(_ entry: NotificationHistoryPage.Entry) -> DeliveryHistoryPage.Entry {
        let adapter = server.adapter
        do throws(DeliveryError) {
            let notification = try adapter.authenticate(entry.delivery, channel: .history)
            return .init(entry.delivery, .success(try adapter.normalize(notification)))
        } catch {
            return .init(entry.delivery, .failure(error))
        }
    }
}

extension AppStoreServerError {
    /// The error of a question that no delivery has caused.
    func asDeliveryError(_ subject: String) -> DeliveryError {
        let code: DeliveryError.Code =
            switch self.code {
            case .unauthorized, .forbidden: .denied
            case .invalidRequest, .unreadable: .malformed
            default: .unavailable
            }
        return DeliveryError(code, "\(subject): \(self.code.rawValue)", underlying: self)
    }
}

extension AppStoreServer {
    /// Apple's notifications in an environment, for a journal's `backfill(from:)`. Use a copy whose ``priority`` is `background`,
    /// so that no customer waits for it.
    public func history(in environment: Environment) -> AppStoreHistory { AppStoreHistory(self, environment) }
}
