import AppleJWS
import FoundationEssentials
import NormalizerTesting
import NotificationSimulator
import Normalizer
import Testing

/// Notifications as production has sent them, written member by member: what the simulator never says can be said here.
struct AppleReportedCases {
    let fixture: AppleFixture

    init() throws { fixture = try AppleFixture(seed: "reported") }

    func day(_ days: Double) -> Date { AppleFixture.start.addingTimeInterval(days * 86_400) }
    static func minutes(_ minutes: Double) -> Double { minutes / 1440 }
    private func milliseconds(_ days: Double) -> String { String(Int64(day(days).timeIntervalSince1970 * 1000)) }

    /// A month that is paid in full, with members of its own; a value that begins with `@` is a day.
    func transaction(_ id: String = "1", from: Double = 0, to: Double = 30, _ members: [String: String] = [:])
        -> [String: String]
    {
        [
            "transactionId": #""\#(id)""#, "originalTransactionId": #""1""#, "bundleId": #""com.example.app""#,
            "productId": #""basic""#, "purchaseDate": "@\(from)", "expiresDate": "@\(to)",
            "type": #""Auto-Renewable Subscription""#, "inAppOwnershipType": #""PURCHASED""#, "price": "9990",
            "currency": #""USD""#, "environment": #""Production""#,
            "transactionReason": id == "1" ? #""PURCHASE""# : #""RENEWAL""#,
        ].merging(members) { $1 }
    }

    func renewal(until: Double = 30, _ members: [String: String] = [:]) -> [String: String] {
        [
            "originalTransactionId": #""1""#, "productId": #""basic""#, "autoRenewProductId": #""basic""#,
            "autoRenewStatus": "1", "renewalDate": "@\(until)", "environment": #""Production""#,
        ].merging(members) { $1 }
    }

    private func json(_ members: [String: String], signedAt days: Double) -> String {
        let written = members.merging(["signedDate": "@\(days)"]) { $1 }.filter { !$0.value.isEmpty }
            .sorted { $0.key < $1.key }
            .map { name, value in
                let text = value.hasPrefix("@") ? milliseconds(Double(value.dropFirst()) ?? 0) : value
                return "\"\(name)\":\(text)"
            }
        return "{\(written.joined(separator: ","))}"
    }

    func jws(_ members: [String: String], signedAt days: Double) throws -> String {
        String(decoding: try fixture.simulator.jws(Array(json(members, signedAt: days).utf8)), as: UTF8.self)
    }

    func delivery(
        _ type: String,
        _ subtype: String? = nil,
        of transaction: [String: String],
        with renewal: [String: String]? = nil,
        status: Int? = 1,
        at days: Double
    ) throws -> Delivery {
        var data = [
            "appAppleId": "1234567890", "bundleId": #""com.example.app""#, "environment": #""Production""#,
            "signedTransactionInfo": "\"\(try jws(transaction, signedAt: days))\"",
        ]
        if let renewal { data["signedRenewalInfo"] = "\"\(try jws(renewal, signedAt: days))\"" }
        if let status { data["status"] = String(status) }
        let written = data.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }
        var notification = [
            "notificationType": "\"\(type)\"", "notificationUUID": "\"\(type)-\(days)\"",
            "data": "{\(written.joined(separator: ","))}",
        ]
        if let subtype { notification["subtype"] = "\"\(subtype)\"" }
        let signed = try fixture.simulator.jws(Array(json(notification, signedAt: days).utf8))
        return AppleSimulator.delivery(of: signed, receivedAt: day(days))
    }

    func notified(
        _ type: String,
        _ subtype: String? = nil,
        of transaction: [String: String],
        with renewal: [String: String]? = nil,
        status: Int? = 1,
        at days: Double
    ) throws -> Normalization {
        let delivery = try delivery(type, subtype, of: transaction, with: renewal, status: status, at: days)
        return try fixture.adapter.normalize(try fixture.adapter.authenticate(delivery))
    }

    func uploaded(_ transaction: [String: String], at days: Double) throws -> Normalization {
        try fixture.adapter.receive(
            signedTransaction: Array(try jws(transaction, signedAt: days).utf8),
            receivedAt: day(days)
        )
    }

    /// The state of results: the same in the order given, the reverse, and with each of them first.
    func state(_ results: [Normalization]) throws -> SubscriptionState {
        var orders = [results, results.reversed()]
        for index in results.indices { orders.append([results[index]] + results) }
        let states = try orders.map { order in
            let ledger = AccountLedger(applying: order)
            return try #require(ledger.states.first)
        }
        for state in states { #expect(state == states[0]) }
        #expect(try CanonicalJSON.value(SubscriptionState.self, from: CanonicalJSON.bytes(states[0])) == states[0])
        return states[0]
    }
}
