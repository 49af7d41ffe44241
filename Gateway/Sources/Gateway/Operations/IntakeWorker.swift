import Foundation
import LifecycleJournal
import Logging
import Normalizer
import ServiceLifecycle

/// Takes in deliveries that were answered already: asks the provider, maps, joins.
struct IntakeWorker: Service {
    let journal: Journal
    let adapters: [String: any ProviderAdapter]
    let logger: Logger

    func run() async {
        await repeatUntilShutdown(logger: logger, "intake") {
            try await self.journal.work(with: self.adapters)
        }
    }
}

/// Once an hour, removes raw deliveries that were kept long enough, and duties that were done a month ago.
struct PruneWorker: Service {
    let journal: Journal
    let logger: Logger
    let now: @Sendable () -> Date

    func run() async {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do {
                    try await self.journal.prune(before: self.now().addingTimeInterval(-30 * 86_400))
                    // A process with another catalogue may have come and gone, as in an update that was taken back.
                    try await self.journal.noteCatalog()
                } catch {
                    self.logger.error("pruning failed, or noting the catalogue", metadata: ["error": "\(error)"])
                }
                try? await Task.sleep(for: .seconds(3600))
            }
        }
    }
}
