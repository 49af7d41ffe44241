public import FoundationEssentials
import HTTPTransport
public import LifecycleEvents
import WireJSON

/// Which past notifications to ask for
/// (<https://developer.apple.com/documentation/appstoreserverapi/get-notification-history>).
public struct NotificationHistoryQuery: Hashable, Sendable {
    /// Restricts the answer. Apple refuses a type and a transaction together.
    @nonexhaustive
    public enum Filter: Hashable, Sendable {
        /// Every notification.
        case everything
        /// Notifications of a type, and of a subtype where one is given.
        case type(String, subtype: String?)
        /// Notifications about one customer's purchases, by any of their transactions.
        case transaction(String)
    }

    /// The earliest moment. Apple keeps 180 days in Production and 30 in Sandbox, and refuses an earlier one.
    public var start: Date
    /// The latest moment.
    public var end: Date
    /// Restricts the answer.
    public var filter: Filter
    /// Only notifications that your server has never answered with a success.
    ///
    /// An entry stays in this list for months where no retry succeeded. So use it to catch up first, and do not wait for it to
    /// become empty.
    public var onlyFailures: Bool

    /// Describes the notifications to ask for.
    public init(from start: Date, to end: Date, filter: Filter = .everything, onlyFailures: Bool = false) {
        self.start = start
        self.end = end
        self.filter = filter
        self.onlyFailures = onlyFailures
    }
}

/// One page of past notifications, at most twenty.
public struct NotificationHistoryPage: Sendable {
    /// A notification as Apple sent it, or tried to.
    public struct Entry: Sendable {
        /// The notification as a webhook delivers it. Give it to the adapter with the channel `history`:
        /// `AppleJWS.AppleAdapter.authenticate(_:channel:)`. It is not verified yet.
        public var delivery: Delivery
        /// The times and results of Apple's attempts to send it, at most six.
        public var attempts: [SendAttempt]
    }

    /// The notifications.
    public var entries: [Entry]
    /// Asks for the next page together with the same query; absent after the last one.
    public var next: String?
}

/// An attempt of Apple's to send a notification.
public struct SendAttempt: Hashable, Sendable {
    /// The outcome of an attempt, from an open set.
    public struct Result: OpenValue {
        /// Apple's name.
        public let rawValue: String
        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Your server answered with a status of 200 to 206.
        public static let success: Result = "SUCCESS"
        /// Your server did not answer in time.
        public static let timedOut: Result = "TIMED_OUT"
        /// TLS could not be agreed on.
        public static let tlsIssue: Result = "TLS_ISSUE"
        /// Your server redirected in a circle.
        public static let circularRedirect: Result = "CIRCULAR_REDIRECT"
        /// Your server sent no response.
        public static let noResponse: Result = "NO_RESPONSE"
        /// The connection broke.
        public static let socketIssue: Result = "SOCKET_ISSUE"
        /// The character set is not supported.
        public static let unsupportedCharset: Result = "UNSUPPORTED_CHARSET"
        /// Your server's response was not valid.
        public static let invalidResponse: Result = "INVALID_RESPONSE"
        /// Your server closed the connection too early.
        public static let prematureClose: Result = "PREMATURE_CLOSE"
        /// Your server answered with another status.
        public static let unsuccessfulStatus: Result = "UNSUCCESSFUL_HTTP_RESPONSE_CODE"
        /// Something else.
        public static let other: Result = "OTHER"
    }

    /// When Apple tried.
    public var date: Date
    /// The outcome.
    public var result: Result
}

extension AppStoreServerClient {
    /// One page of the notifications that Apple sent, or tried to send.
    ///
    /// Apple keeps only notifications that it tried to send. For a time without a configured URL there are none, and
    /// only ``subscriptionStatuses(ofTransaction:statuses:in:)`` helps.
    ///
    /// - Parameters:
    ///   - query: the time window and filters.
    ///   - page: ``NotificationHistoryPage/next`` of the page before, with the same query; absent for the first page.
    ///   - environment: the server to ask. History is asked of one server at a time, since each has its own.
    /// - Throws: ``AppStoreServerError``. `invalidRequest` with number 4000017 means that the page token has expired: begin
    ///   the query's time window again.
    public func notificationHistory(
        _ query: NotificationHistoryQuery,
        page: String? = nil,
        in environment: Environment
    ) async throws(AppStoreServerError) -> NotificationHistoryPage {
        guard query.start < query.end else {
            throw AppStoreServerError(.invalidRequest, "the start of the history must lie before its end")
        }
        let call = Call(
            endpoint: .notificationHistory,
            method: .post,
            path: ["v1", "notifications", "history"],
            query: page.map { [.init("paginationToken", $0)] } ?? [],
            body: try Self.body(HistoryRequest(query))
        )
        let answer = try await answer(to: call, in: environment)
        let (entries, next) = try Self.reading { () throws(JSONError) in
            let list = try answer.reader.optionalArray("notificationHistory")
            var entries: [NotificationHistoryPage.Entry] = []
            for element in list.map(Array.init) ?? [] {
                entries.append(try Self.entry(ObjectReader(element), receivedAt: answer.receivedAt))
            }
            let hasMore = try answer.reader.optionalBool("hasMore") ?? false
            return (entries, hasMore ? try answer.reader.string("paginationToken") : nil)
        }
        // A list that breaks off must not pass for a whole one.
        guard next == nil || next != page else {
            throw AppStoreServerError(.unreadable, "answer: a page of the history leads to itself")
        }
        return NotificationHistoryPage(entries: entries, next: next)
    }

    /// A `signedPayload` with its attempts, as the history and the status of a test have it.
    static func entry(
        _ reader: ObjectReader,
        receivedAt: Date
    ) throws(JSONError) -> NotificationHistoryPage.Entry {
        let payload = try reader.string("signedPayload")
        var attempts: [SendAttempt] = []
        for element in try reader.optionalArray("sendAttempts").map(Array.init) ?? [] {
            let attempt = try ObjectReader(element)
            guard let milliseconds = try attempt.optionalInt64("attemptDate"),
                let result = try attempt.optionalString("sendAttemptResult")
            else { continue }
            let bounded = min(max(milliseconds, 0), 253_402_300_799_999)
            attempts.append(
                SendAttempt(date: Date(millisecondsSince1970: bounded), result: .init(rawValue: result))
            )
        }
        // A JWS consists of characters that need no escape; the verifier refuses any others.
        let isPlain = payload.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x5C }
        let body = Array(#"{"signedPayload":""#.utf8) + Array((isPlain ? payload : "").utf8) + Array(#""}"#.utf8)
        return .init(delivery: Delivery(headers: [:], body: body, receivedAt: receivedAt), attempts: attempts)
    }
}

private struct HistoryRequest: Encodable {
    var startDate: Int64
    var endDate: Int64
    var notificationType: String?
    var notificationSubtype: String?
    var transactionId: String?
    var onlyFailures: Bool?

    init(_ query: NotificationHistoryQuery) {
        startDate = query.start.millisecondsSince1970
        endDate = query.end.millisecondsSince1970
        switch query.filter {
        case .everything: break
        case .type(let type, let subtype): (notificationType, notificationSubtype) = (type, subtype)
        // An empty id is refused, so it is left out.
        case .transaction(let id): transactionId = id.isEmpty ? nil : id
        }
        onlyFailures = query.onlyFailures ? true : nil
    }
}
