import AppleJWS
public import FoundationEssentials
public import LifecycleEvents

/// The notifications that Apple sent, or tried to send, to the app's URL in one environment, for a backfill.
public struct AppStoreHistory: DeliveryHistory {
    private let server: AppStoreServerClient
    private let environment: AppStoreServerClient.Environment

    init(_ server: AppStoreServerClient, _ environment: AppStoreServerClient.Environment) {
        self.server = server
        self.environment = environment
    }

    /// `apple/<bundle id>/<environment>`
    public var name: String { "apple/\(server.configuration.bundleID)/\(environment)" }

    /// Apple.
    public var provider: Provider { .apple }

    /// 180 days in Production and 30 in Sandbox, less an hour, since Apple refuses an earlier start.
    public var reach: Duration { .seconds((environment == .production ? 180 : 30) * 86_400 - 3600) }

    /// True for the app and the environment.
    public func lists(_ event: NormalizedEvent) -> Bool {
        event.provider == provider && event.app == server.configuration.bundleID
            && event.environment == (environment == .production ? .production : .sandbox)
    }

    /// How many of Apple's pages of twenty one page has at most, unless more were sent in one millisecond.
    package var maximumPages = 10

    /// Reads a stretch of the window from the oldest notification to the newest, and verifies each as one that a webhook
    /// brings.
    ///
    /// Apple's documentation promises no order within the history, and news has to come in the order in which it happened. So
    /// a page is all of a stretch of time that is short enough to be sorted.
    public func page(
        of window: Range<Date>,
        at position: String?
    ) async throws(DeliveryError) -> DeliveryHistoryPage {
        guard var stretch = Stretch(position, in: window) else {
            throw DeliveryError(.stale, "the notification history: the position is of another kind")
        }
        while true {
            guard let listed = try await notifications(in: stretch) else {
                stretch.halve()
                continue
            }
            var entries: [(Date, DeliveryHistoryPage.Entry)] = []
            for notification in listed { entries.append(await entry(notification)) }
            let sorted = entries.enumerated().sorted { ($0.element.0, $0.offset) < ($1.element.0, $1.offset) }
            return DeliveryHistoryPage(
                sorted.map(\.element.1),
                next: stretch.next(in: window, isQuiet: listed.count <= Self.pageSize * maximumPages / 4)
            )
        }
    }

    private static let pageSize = 20

    /// All notifications of a stretch; nil if there are too many to be sorted.
    private func notifications(in stretch: Stretch) async throws(DeliveryError) -> [NotificationHistoryPage.Entry]? {
        // A token may expire while the pages are read. They are read once more then.
        var mayBeginAgain = true
        while true {
            do throws(AppStoreServerError) {
                return try await pages(of: stretch)
            } catch {
                // The window was opened so long ago that Apple has forgotten this part of it (StartDateTooFarInPastError).
                guard error.number != 4_000_012 else {
                    throw DeliveryError(.stale, "the notification history: the start is too old", underlying: error)
                }
                // Apple calls a token that has expired so, and one that it does not know.
                let isTokenRefused = [4_000_014, 4_000_017].contains(error.number)
                guard isTokenRefused, mayBeginAgain else { throw error.asDeliveryError("the notification history") }
                mayBeginAgain = false
            }
        }
    }

    private func pages(of stretch: Stretch) async throws(AppStoreServerError) -> [NotificationHistoryPage.Entry]? {
        let query = NotificationHistoryQuery(from: stretch.start, to: stretch.end)
        var entries: [NotificationHistoryPage.Entry] = []
        var token: String?
        var count = 0
        repeat {
            guard count < maximumPages || !stretch.canBeHalved else { return nil }
            let answer = try await server.notificationHistory(query, page: token, in: environment)
            entries += answer.entries
            count += 1
            token = answer.next
        } while token != nil
        return entries
    }

    /// A notification with the time by which it is sorted.
    private func entry(_ entry: NotificationHistoryPage.Entry) async -> (Date, DeliveryHistoryPage.Entry) {
        let adapter = server.adapter
        let attempt = entry.attempts.map(\.date).min()
        // In quarantine it is as old as the webhook would have brought it: a replay asks for more than the history does.
        var delivery = entry.delivery
        if let attempt { delivery.receivedAt = min(attempt, delivery.receivedAt) }
        do throws(DeliveryError) {
            let notification = try await adapter.settlingRevocation { () throws(DeliveryError) in
                try adapter.authenticate(entry.delivery, channel: .history)
            }
            let date = notification.value.signedDate
            do throws(DeliveryError) {
                return (date, .init(entry.delivery, .success(try adapter.normalize(notification))))
            } catch {
                return (date, .init(delivery, .failure(error)))
            }
        } catch {
            // Apple itself answers so: what cannot be proven now, for want of a root or of an app in the settings, is Apple's all the same.
            var error = error
            error.isAuthentic = error.isAuthentic || error.code != .revoked
            return (attempt ?? .distantFuture, .init(delivery, .failure(error)))
        }
    }
}

/// A part of the time that a history is read for, in milliseconds.
private struct Stretch {
    private var from: Int64
    private var length: Int64

    /// Begins where a position says, or at the beginning of the window; nil if there is no such place in it.
    init?(_ position: String?, in window: Range<Date>) {
        let first = window.lowerBound.millisecondsSince1970
        let last = window.upperBound.millisecondsSince1970
        guard let position else {
            (from, length) = (first, max(1, last - first))
            return
        }
        let parts = position.split(separator: "+").map { Int64($0) }
        guard parts.count == 2, let start = parts[0], let length = parts[1], (first...max(first, last)).contains(start),
            length > 0
        else { return nil }
        (from, self.length) = (start, max(1, min(length, last - start)))
    }

    var start: Date { Date(millisecondsSince1970: from) }
    var end: Date { Date(millisecondsSince1970: from + length) }
    var canBeHalved: Bool { length > 1 }

    mutating func halve() { length = max(1, length / 2) }

    /// The position of the following stretch; nil behind the end of the window. The end of one is the start of the next: Apple
    /// does not say to which of them a notification of that millisecond belongs.
    ///
    /// - Parameter isQuiet: true if the following one may be longer.
    func next(in window: Range<Date>, isQuiet: Bool) -> String? {
        let (start, last) = (from + length, window.upperBound.millisecondsSince1970)
        guard start < last else { return nil }
        return "\(start)+\(isQuiet ? min(2 * length, last - start) : length)"
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

extension AppStoreServerClient {
    /// Apple's notifications in an environment, for a journal's `backfill(from:)`. Use a copy whose ``priority`` is `background`,
    /// so that no customer waits for it.
    public func history(in environment: Environment) -> AppStoreHistory { AppStoreHistory(self, environment) }
}
