#if CommandLineTool
import AppleJWS
import ArgumentParser
import Foundation
import NotificationSimulator
import Normalizer

/// `lifecycle demo`
struct Demo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Plays a customer's story in signed notifications, verifies and maps it, and prints a timeline."
    )

    @Option(help: ArgumentHelp("Where the events go, one a line.", valueName: "file"))
    var out: String

    func run() async throws {
        let start = Date(timeIntervalSince1970: 1_767_225_600)
        let apple = try AppleSimulator(seed: "demo")
        let adapter = try AppleAdapter(
            AppleConfiguration(
                apps: [.init(bundleID: apple.bundleId, appAppleID: apple.appAppleId)],
                environments: [.production],
                trustAnchors: AppleTrustAnchors(der: [apple.rootCertificate])
            )
        )
        var lines: [UInt8] = []
        var ledger = AccountLedger()
        print("App Store, signed notifications of one subscription")
        let deliveries = try apple.deliveries(.demo, from: start)
        for delivery in deliveries {
            for event in try await adapter.receive(delivery).events {
                print(TimelineEntry(ledger.apply(event).event))
                for state in ledger.states {
                    print("      access then: \(AccessLine(state.access(at: event.assertedAt)))")
                }
                lines += try CanonicalJSON.bytes(event) + [0x0A]
            }
        }

        // The same words under a chain with the same names, but another root.
        let forger = try AppleSimulator(seed: "forger")
        guard let forged = try forger.deliveries(.demo, from: start).first else { return }
        do {
            _ = try await adapter.receive(forged)
            throw ValidationError("a forged notification was accepted")
        } catch let error as DeliveryError {
            let answer = adapter.acknowledgement(for: .failure(error)).status
            print("\nA forged SUBSCRIBED with certificates of the same names: refused, HTTP \(answer)\n  \(error)")
        }

        try Data(lines).write(to: URL(fileURLWithPath: out))
        print("\n\(deliveries.count) deliveries verified; their events are in \(out)")
    }
}
#endif
