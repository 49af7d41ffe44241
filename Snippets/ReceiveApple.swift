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
        for event in result.events where await ledger.isNew(event.id) {
            switch event.event {
            case .started, .renewed, .productChanged: await ledger.grant(event)
            case .expired, .revoked: await ledger.remove(event)
            default: break  // recorded like the others, and nothing this shop acts on
            }
        }
        return apple.acknowledgement(for: .success(result)).status
    } catch { return apple.acknowledgement(for: .failure(error)).status }
    // snippet.hide
}

protocol Ledger: Sendable {
    func isNew(_ id: EventID) async -> Bool
    func grant(_ event: NormalizedEvent) async
    func remove(_ event: NormalizedEvent) async
}
