public import FoundationEssentials
import LifecycleEvents
import JSONWebSignature
import SignatureCore
import SignatureIssuing
import WireJSON

/// Plays Apple's App Store Server API: answers requests from an app's sales, and refuses tokens that Apple refuses.
///
/// It is a value: change it between two requests as the App Store changes. Put it behind a server on the loopback interface, or
/// behind a stub of a transport.
public struct AppStoreServerSimulator: Sendable {
    /// A customer's purchase, as the App Store knows it now.
    public struct Purchase: Hashable, Sendable {
        /// The latest transaction, and before it those that it renewed.
        public var transactions: [AppleSimulator.Transaction]
        /// How a subscription renews.
        public var renewalInfo: AppleSimulator.RenewalInfo?
        /// The status of a subscription: 1 active, 2 expired, 3 billing retry, 4 grace, 5 revoked.
        public var status: Int64?
        /// Purchases of one customer have the same.
        public var customer: String

        /// Describes a purchase; the first transaction is the latest one.
        public init(
            _ transactions: [AppleSimulator.Transaction],
            renewalInfo: AppleSimulator.RenewalInfo? = nil,
            status: Int64? = nil,
            customer: String = "customer"
        ) {
            self.transactions = transactions
            self.renewalInfo = renewalInfo
            self.status = status
            self.customer = customer
        }
    }

    /// A notification, with true if the backend took it.
    public struct Sent: Hashable, Sendable {
        /// The notification.
        public var notification: AppleSimulator.Notification
        /// The outcome of each attempt, in the words of `sendAttemptResult`.
        public var attempts: [String]

        /// Describes what was sent.
        public init(_ notification: AppleSimulator.Notification, attempts: [String] = ["SUCCESS"]) {
            self.notification = notification
            self.attempts = attempts
        }
    }

    /// A request as it arrives.
    public struct Request: Hashable, Sendable {
        /// The method.
        public var method: String
        /// The encoded path, and the query behind `?`.
        public var target: String
        /// The `Authorization` header.
        public var authorization: String?
        /// The body.
        public var body: [UInt8]

        /// Describes a request.
        public init(_ method: String, target: String, authorization: String?, body: [UInt8] = []) {
            self.method = method
            self.target = target
            self.authorization = authorization
            self.body = body
        }
    }

    /// An answer.
    public struct Answer: Hashable, Sendable {
        /// The status.
        public var status: Int
        /// The headers, apart from those about the body.
        public var headers: [String: String] = [:]
        /// The body.
        public var body: [UInt8] = []
    }

    /// The most notifications and transactions that are on one page.
    public static let pageSize = 20

    /// Signs what the answers hold.
    public let apple: AppleSimulator
    /// The issuer id that tokens have to name.
    public let issuerID: String
    /// The key id that tokens have to name.
    public let keyID: String
    /// The private key in PEM, for the backend.
    public let privateKey: [UInt8]
    /// True if the app is on the App Store. Before that, Production answers with a bare `401`.
    public var isReleased = true
    /// True if a URL for notifications is configured.
    public var hasNotificationURL = true
    /// The sent notifications, the oldest first.
    public var sent: [Sent] = []
    /// True if the history begins with the newest notification. Apple documents no order.
    public var listsNewestFirst = false
    /// The purchases.
    public var purchases: [Purchase] = []
    /// When a transaction last changed, by its id. Without an entry it last changed when it was bought or revoked.
    var changes: [String: Date] = [:]
    private let publicPoint: [UInt8]

    /// Makes the key.
    ///
    /// - Throws: ``SimulatorError`` if libcrypto cannot make it.
    public init(
        _ apple: AppleSimulator,
        issuerID: String = "57246542-96fe-1a63-e053-0824d011072a",
        keyID: String = "2X9R4HXF34"
    ) throws(SimulatorError) {
        self.apple = apple
        self.issuerID = issuerID
        self.keyID = keyID
        let key = try SimulatorError.wrapping { () throws(SignatureError) in
            try SigningKey(.p256, seed: Seed(apple.seed), label: "App Store Server API")
        }
        privateKey = try SimulatorError.wrapping { () throws(SignatureError) in try key.privatePEM() }
        publicPoint = try SimulatorError.wrapping { () throws(SignatureError) in try key.uncompressedPoint() }
    }

    /// Answers a request as Apple does at `now`.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - now: the App Store's time. The answer is signed at it.
    ///   - arrival: the time that the token has to be valid at, if a story's time is not that of its host; `now` by default.
    /// - Throws: ``SimulatorError`` if libcrypto cannot sign.
    public func answer(
        _ request: Request,
        at now: Date,
        arrivingAt arrival: Date? = nil
    ) throws(SimulatorError) -> Answer {
        guard isAuthorized(request, at: arrival ?? now), isReleased || apple.environment == .sandbox else {
            return Self.refusal(401, at: now)
        }
        let parts = request.target.split(separator: "?", maxSplits: 1).map(String.init)
        let path = parts[0].split(separator: "/").map(String.init)
        let query = Query(parts.count > 1 ? parts[1] : "")
        switch (request.method, path.dropFirst().first, Array(path.dropFirst(2))) {
        case ("POST", "v1", ["notifications", "history"]): return try history(request.body, query, at: now)
        case ("POST", "v1", ["notifications", "test"]): return requestTest()
        case ("GET", "v1", let rest) where rest.starts(with: ["notifications", "test"]): return try testStatus(at: now)
        case ("GET", "v1", let rest) where rest.first == "subscriptions" && rest.count == 2:
            return try statuses(of: rest[1], query, at: now)
        case ("GET", "v1", let rest) where rest.first == "transactions" && rest.count == 2:
            return try transaction(rest[1], at: now)
        case ("GET", "v1", let rest) where rest.starts(with: ["transactions", "appTransactions"]) && rest.count == 3:
            return try appTransaction(of: rest[2], at: now)
        case ("GET", "v2", let rest) where rest.first == "history" && rest.count == 2:
            return try transactions(of: rest[1], query, at: now) { _ in true }
        case ("GET", "v2", let rest) where rest.starts(with: ["refund", "lookup"]) && rest.count == 3:
            return try transactions(of: rest[2], query, at: now) { $0.revocationDate != nil }
        case ("GET", "v1", let rest) where rest.first == "lookup" && rest.count == 2:
            return try order(rest[1], at: now)
        default: return Self.error(404, code: 4_040_000, "Not Found")
        }
    }
}

extension AppStoreServerSimulator {
    private struct Query {
        private var items: [(name: String, value: String)]

        init(_ text: String) {
            items = text.split(separator: "&").map { item in
                let parts = item.split(separator: "=", maxSplits: 1).map(String.init)
                return (parts[0], parts.count > 1 ? parts[1] : "")
            }
        }

        subscript(name: String) -> String? { items.first { $0.name == name }?.value }
        func values(_ name: String) -> [String] { items.filter { $0.name == name }.map(\.value) }
    }

    private static func error(_ status: Int, code: Int64, _ message: String) -> Answer {
        let body: JSONText = ["errorCode": .integer(code), "errorMessage": .string(message)]
        return Answer(status: status, body: body.bytes)
    }

    /// Apple's answer to a request that it refuses with a status, whatever was asked. After `429` it accepts requests again in
    /// half a second, which `Retry-After` states as a time in milliseconds
    /// (<https://developer.apple.com/documentation/appstoreserverapi/identifying-rate-limits>).
    ///
    /// - Parameters:
    ///   - status: the status of the refusal.
    ///   - now: the time on the clock of the one who asks.
    public static func refusal(_ status: Int, at now: Date) -> Answer {
        switch status {
        case 401: return Answer(status: 401, body: Array("Unauthenticated\n".utf8))
        case 429:
            var answer = error(429, code: 4_290_000, "Rate limit exceeded.")
            answer.headers["Retry-After"] = String(now.millisecondsSince1970 + 500)
            return answer
        case 500...: return error(status, code: 5_000_000, "An unknown error occurred.")
        default: return error(status, code: Int64(status) * 10_000, "Bad request.")
        }
    }

    private func isAuthorized(_ request: Request, at now: Date) -> Bool {
        guard let header = request.authorization, header.hasPrefix("Bearer "),
            let key = try? P256PublicKey(uncompressedPoint: publicPoint.span),
            let token = try? CompactJWS(Array(header.dropFirst(7).utf8)),
            let bytes = try? token.header(),
            let fields = try? JWSProtectedHeader(reading: bytes, algorithm: .es256, certificates: .ignored),
            fields.keyID == Array(keyID.utf8), fields.type == "JWT",
            let payload = try? token.payload(verifiedBy: key),
            let claims = try? ObjectReader(parsing: payload),
            let issuedAt = try? claims.int64("iat"), let expiry = try? claims.int64("exp")
        else { return false }
        let seconds = now.millisecondsSince1970 / 1000
        return (try? claims.string("iss")) == issuerID && (try? claims.string("bid")) == apple.bundleId
            && (try? claims.string("aud")) == "appstoreconnect-v1" && issuedAt <= seconds && seconds < expiry
            && expiry - issuedAt <= 3600
    }

    // MARK: Notifications

    private func history(_ body: [UInt8], _ query: Query, at now: Date) throws(SimulatorError) -> Answer {
        guard let reader = try? ObjectReader(parsing: body), let start = try? reader.int64("startDate"),
            let end = try? reader.int64("endDate")
        else { return Self.error(400, code: 4_000_000, "Bad request.") }
        guard start < end else {
            return Self.error(400, code: 4_000_013, "Invalid request. The end date must be after the start date.")
        }
        let days: Int64 = apple.environment == .production ? 180 : 30
        guard start >= now.millisecondsSince1970 - days * 86_400_000 else {
            return Self.error(
                400,
                code: 4_000_012,
                "Invalid request. The start date is earlier than the allowed start date."
            )
        }
        let transaction = try? reader.optionalString("transactionId")
        let type = try? reader.optionalString("notificationType")
        guard transaction == nil || type == nil else {
            return Self.error(
                400,
                code: 4_000_019,
                "Invalid request. Supply either a transaction id or a notification type."
            )
        }
        let onlyFailures = (try? reader.optionalBool("onlyFailures")) ?? false
        let matching = (listsNewestFirst ? sent.reversed() : sent).filter { entry in
            let signed = entry.notification.signedDate.millisecondsSince1970
            let wants = !onlyFailures || !entry.attempts.contains("SUCCESS")
            let isOfType = type.map { $0 == entry.notification.notificationType } ?? true
            return start <= signed && signed <= end && wants && isOfType
                && (transaction.map { isAbout(entry, $0) } ?? true)
        }
        // A token holds the beginning of a page and the request, since the same request must come with it.
        var first = 0
        if let token = query["paginationToken"] {
            let parts = token.split(separator: "_").map(String.init)
            guard parts.count == 3, parts[0] == String(start), parts[1] == String(end), let index = Int(parts[2]) else {
                return Self.error(400, code: 4_000_014, "Invalid request. Pagination token is invalid.")
            }
            first = index
        }
        let page = matching.dropFirst(first).prefix(Self.pageSize)
        let hasMore = matching.count > first + page.count
        var entries: [JSONText] = []
        for entry in page { entries.append(try item(entry)) }
        var members = JSONMembers([("notificationHistory", .array(entries)), ("hasMore", .bool(hasMore))])
        if hasMore { members.append("paginationToken", .string("\(start)_\(end)_\(first + page.count)")) }
        return Answer(status: 200, body: members.bytes)
    }

    private func isAbout(_ entry: Sent, _ id: String) -> Bool {
        guard case .data(let data) = entry.notification.content, let transaction = data.transactionInfo else {
            return false
        }
        let customer = purchases.first { $0.transactions.contains { $0.transactionId == id } }?.customer
        return transaction.transactionId == id || transaction.originalTransactionId == id
            || purchases.contains { purchase in
                purchase.customer == customer
                    && purchase.transactions.contains { $0.originalTransactionId == transaction.originalTransactionId }
            }
    }

    private func item(_ entry: Sent) throws(SimulatorError) -> JSONText {
        let signed = String(decoding: try apple.signed(entry.notification), as: UTF8.self)
        let date = entry.notification.signedDate.millisecondsSince1970
        let attempts = entry.attempts.enumerated().map { index, result in
            [
                "attemptDate": .integer(date + Int64(index) * 3_600_000), "sendAttemptResult": .string(result),
            ] as JSONText
        }
        return ["signedPayload": .string(signed), "sendAttempts": .array(attempts)]
    }

    private func requestTest() -> Answer {
        guard hasNotificationURL else {
            return Self.error(404, code: 4_040_007, "No App Store Server Notification URL found.")
        }
        let body: JSONText = ["testNotificationToken": "ce3af791-365e-4c60-841b-1674b43c1609_1"]
        return Answer(status: 200, body: body.bytes)
    }

    private func testStatus(at now: Date) throws(SimulatorError) -> Answer {
        guard let last = sent.last(where: { $0.notification.notificationType == "TEST" }) else {
            return Self.error(
                404,
                code: 4_040_008,
                "Either the test notification token is expired or the notification and status are not yet available."
            )
        }
        return Answer(status: 200, body: try item(last).bytes)
    }

    // MARK: Purchases

    private func statuses(of id: String, _ query: Query, at now: Date) throws(SimulatorError) -> Answer {
        guard let customer = customer(of: id) else { return Self.unknownTransaction }
        let wanted = Set(query.values("status").compactMap { Int64($0) })
        var groups: [(String, [JSONText])] = []
        for purchase in purchases where purchase.customer == customer {
            guard let status = purchase.status, wanted.isEmpty || wanted.contains(status),
                let latest = purchase.transactions.first
            else { continue }
            var item = JSONMembers([
                ("originalTransactionId", .string(latest.originalTransactionId)), ("status", .integer(status)),
                ("signedTransactionInfo", .string(try signed(latest, at: now))),
            ])
            if let renewalInfo = purchase.renewalInfo {
                let text = String(decoding: try apple.signed(renewalInfo, at: now), as: UTF8.self)
                item.append("signedRenewalInfo", .string(text))
            }
            let group = latest.subscriptionGroupIdentifier ?? ""
            if let index = groups.firstIndex(where: { $0.0 == group }) {
                groups[index].1.append(.object(item))
            } else {
                groups.append((group, [.object(item)]))
            }
        }
        let data = groups.map { group, items in
            ["subscriptionGroupIdentifier": .string(group), "lastTransactions": .array(items)] as JSONText
        }
        return Answer(
            status: 200,
            body: JSONMembers([
                ("environment", .string(apple.environment.rawValue)), ("bundleId", .string(apple.bundleId)),
                ("appAppleId", .integer(apple.appAppleId)), ("data", .array(data)),
            ]).bytes
        )
    }

    private func transaction(_ id: String, at now: Date) throws(SimulatorError) -> Answer {
        let all = purchases.flatMap(\.transactions)
        guard let found = all.first(where: { $0.transactionId == id }) else { return Self.unknownTransaction }
        let body: JSONText = ["signedTransactionInfo": .string(try signed(found, at: now))]
        return Answer(status: 200, body: body.bytes)
    }

    /// The customer got the app with the first purchase in it.
    private func appTransaction(of id: String, at now: Date) throws(SimulatorError) -> Answer {
        guard let customer = customer(of: id) else { return Self.unknownTransaction }
        let all = purchases.filter { $0.customer == customer }.flatMap(\.transactions)
        guard let name = all.lazy.compactMap(\.appTransactionId).first, let first = all.map(\.purchaseDate).min() else {
            return Self.error(404, code: 4_040_019, "No AppTransaction exists for the customer.")
        }
        let appTransaction = AppleSimulator.AppTransaction(appTransactionId: name, originalPurchaseDate: first)
        let text = String(decoding: try apple.signed(appTransaction, at: now), as: UTF8.self)
        let body: JSONText = ["signedAppTransactionInfo": .string(text)]
        return Answer(status: 200, body: body.bytes)
    }

    private func transactions(
        of id: String,
        _ query: Query,
        at now: Date,
        where isWanted: (AppleSimulator.Transaction) -> Bool
    ) throws(SimulatorError) -> Answer {
        guard let customer = customer(of: id) else { return Self.unknownTransaction }
        var start = Revision.start
        if let text = query["revision"] {
            guard let revision = Revision(text) else {
                return Self.error(400, code: 4_000_005, "Invalid request revision.")
            }
            start = revision
        }
        // The first moment belongs to the stretch of time that a query names, and the last one does not.
        let first = query["startDate"].flatMap { Int64($0) } ?? .min
        let end = query["endDate"].flatMap { Int64($0) } ?? .max
        let groups = query.values("subscriptionGroupIdentifier")
        let all = purchases.filter { $0.customer == customer }.flatMap(\.transactions).filter(isWanted)
            .filter { transaction -> Bool in
                let time = transaction.purchaseDate.millisecondsSince1970
                let isInGroup = groups.isEmpty || transaction.subscriptionGroupIdentifier.map(groups.contains) == true
                return first <= time && time < end && isInGroup
            }
            .map { (transaction: $0, revision: Revision(changed($0), $0.transactionId)) }
            .filter { start < $0.revision }
            .sorted { $0.revision < $1.revision }
        let page = all.prefix(Self.pageSize)
        var list: [JSONText] = []
        for (transaction, _) in page { list.append(.string(try signed(transaction, at: now))) }
        return Answer(
            status: 200,
            body: JSONMembers([
                ("signedTransactions", .array(list)), ("revision", .string((page.last?.revision ?? start).text)),
                ("hasMore", .bool(page.count < all.count)), ("bundleId", .string(apple.bundleId)),
                ("environment", .string(apple.environment.rawValue)),
            ]).bytes
        )
    }

    /// A place in a list of transactions, which is in the order of their last changes. So a list from there on has those that
    /// are new or have changed
    /// (<https://developer.apple.com/documentation/appstoreserverapi/get-transaction-history>).
    private struct Revision: Comparable {
        static let start = Revision(Date(millisecondsSince1970: 0), "")
        private let time: Int64
        private let id: String

        init(_ time: Date, _ id: String) { (self.time, self.id) = (time.millisecondsSince1970, id) }

        init?(_ text: String) {
            let parts = text.split(separator: "_", omittingEmptySubsequences: false)
            guard parts.count == 2, let time = Int64(parts[0]) else { return nil }
            (self.time, id) = (time, String(parts[1]))
        }

        var text: String { "\(time)_\(id)" }

        static func < (one: Revision, other: Revision) -> Bool { (one.time, one.id) < (other.time, other.id) }
    }

    private func changed(_ transaction: AppleSimulator.Transaction) -> Date {
        changes[transaction.transactionId]
            ?? max(transaction.purchaseDate, transaction.revocationDate ?? transaction.purchaseDate)
    }

    /// The order of a transaction has its id behind an `M`.
    private func order(_ id: String, at now: Date) throws(SimulatorError) -> Answer {
        var list: [JSONText] = []
        for transaction in purchases.flatMap(\.transactions) where "M\(transaction.transactionId)" == id {
            list.append(.string(try signed(transaction, at: now)))
        }
        let body: JSONText = ["status": list.isEmpty ? 1 : 0, "signedTransactions": .array(list)]
        return Answer(status: 200, body: body.bytes)
    }

    private func customer(of id: String) -> String? {
        purchases.first { purchase in
            purchase.transactions.contains { $0.transactionId == id || $0.originalTransactionId == id }
        }?.customer
    }

    private func signed(_ transaction: AppleSimulator.Transaction, at now: Date) throws(SimulatorError) -> String {
        String(decoding: try apple.signed(transaction, at: now), as: UTF8.self)
    }

    private static let unknownTransaction = error(404, code: 4_040_010, "Transaction id not found.")
}
