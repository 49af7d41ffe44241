// Receives one App Store Server Notification and says what to answer.

import AppleJWS
import Foundation
import Normalizer

func makeApple(rootG3: [UInt8]) throws -> AppleAdapter {
    try AppleAdapter(
        AppleAdapter.Configuration(
            apps: [.init(bundleID: "com.example.app", appAppleID: 1_234_567_890)],
            environments: [.production, .sandbox],
            trustAnchors: AppleTrustAnchors(der: [rootG3])
        )
    )
}

func receive(_ body: [UInt8], with apple: AppleAdapter, into store: any PurchaseStore) async -> Int {
    // snippet.show
    let delivery = Delivery(body: body, receivedAt: Date())
    let answer: Acknowledgement
    do {
        let result = try await apple.receive(delivery)
        // One transaction: reads the states that the result is about, writes them back, and what is news to an outbox.
        try await store.update(for: result) { ledger, isFirst in
            ledger.apply(result).filter { $0.isNews && isFirst($0.event.id) }
        }
        answer = apple.acknowledgement(for: .success(result))
    } catch { answer = apple.acknowledgement(for: .failure(error)) }
    if answer.decision == .acceptAndQuarantine, await !store.keep(delivery) { return 503 }
    return answer.status
    // snippet.hide
}

func hasAccess(_ user: String, by ledger: AccountLedger) -> Bool {
    // snippet.show
    ledger.access(of: .init(user, .appAccountToken), in: .production, at: Date()).decision.isGranted
    // snippet.hide
}

struct Upload {
    let signedTransaction: String
}

func receive(_ upload: Upload, with apple: AppleAdapter) throws -> Normalization {
    // snippet.show
    let jws: String = upload.signedTransaction  // what StoreKit calls jwsRepresentation
    let result = try apple.receive(signedTransaction: jws.utf8, receivedAt: Date())
    // snippet.hide
    return result
}

protocol PurchaseStore: Sendable {
    /// Throws `unavailable` where nothing could be stored, so that Apple sends the notification again.
    func update(
        for result: Normalization,
        _ news: (_ ledger: inout AccountLedger, _ isFirst: (EventID) -> Bool) -> [AppliedEvent]
    ) async throws(DeliveryError)

    /// Keeps what is Apple's and cannot be taken in yet, such as by this version.
    ///
    /// - Returns: whether it is kept.
    func keep(_ delivery: Delivery) async -> Bool
}
