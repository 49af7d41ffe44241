// Receives one App Store Server Notification and says what to answer.

import AppleJWS
import Foundation
import Normalizer

func makeApple(rootG3: [UInt8]) throws -> AppleAdapter {
    try AppleAdapter(
        AppleConfiguration(
            apps: [.init(bundleID: "com.example.app", appAppleID: 1_234_567_890)],
            environments: [.production, .sandbox],
            trustAnchors: AppleTrustAnchors(der: [rootG3])
        )
    )
}

func receive(_ body: [UInt8], with apple: AppleAdapter, into ledger: any Ledger) async -> Int {
    // snippet.show
    do {
        let result = try await apple.receive(Delivery(body: body, receivedAt: Date()))
        // One transaction stores the ids, and makes the changes of those that were not there.
        try await ledger.store(result.events) { event, account in
            switch event.event {
            case .started, .renewed, .productChanged: account.grant(event)
            case .expired, .revoked: account.remove(event)
            default: break  // recorded like the others, and nothing this shop acts on
            }
        }
        return apple.acknowledgement(for: .success(result)).status
    } catch { return apple.acknowledgement(for: .failure(error)).status }
    // snippet.hide
}

protocol Ledger: Sendable {
    /// Throws `unavailable` where nothing could be stored, so that Apple sends the notification again.
    func store(
        _ events: [NormalizedEvent],
        _ change: (_ event: NormalizedEvent, _ account: inout any LedgerAccount) -> Void
    ) async throws(DeliveryError)
}

protocol LedgerAccount {
    mutating func grant(_ event: NormalizedEvent)
    mutating func remove(_ event: NormalizedEvent)
}
