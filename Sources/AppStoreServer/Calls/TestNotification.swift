import FoundationEssentials
import HTTPTransport
import WireJSON

extension AppStoreServerClient {
    /// Has Apple send a test notification to the URL in App Store Connect
    /// (<https://developer.apple.com/documentation/appstoreserverapi/request-a-test-notification>).
    ///
    /// - Returns: the token to ask with how it went.
    /// - Throws: ``AppStoreServerError``; number 4040007 means that no URL is configured.
    public func requestTestNotification(in environment: Environment) async throws(AppStoreServerError) -> String {
        let call = Call(
            endpoint: .testNotification,
            method: .post,
            path: ["v1", "notifications", "test"],
            isIdempotent: false
        )
        let answer = try await answer(to: call, in: environment)
        return try Self.reading { () throws(JSONError) in try answer.reader.string("testNotificationToken") }
    }

    /// How a test notification went; it can take Apple a few seconds to know.
    ///
    /// - Throws: ``AppStoreServerError``; number 4040008 means that Apple does not know yet.
    public func testNotificationStatus(
        _ token: String,
        in environment: Environment
    ) async throws(AppStoreServerError) -> NotificationHistoryPage.Entry {
        let call = Call(endpoint: .testStatus, path: ["v1", "notifications", "test", .init(token)])
        let answer = try await answer(to: call, in: environment)
        return try Self.reading { () throws(JSONError) in
            try Self.entry(answer.reader, receivedAt: answer.receivedAt)
        }
    }
}
