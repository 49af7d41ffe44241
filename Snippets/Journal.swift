// Takes one delivery in, and answers who has access and credits.

import FoundationEssentials
import LifecycleJournal
import SQLiteJournal

func openJournal(timeOfDay: @escaping @Sendable () -> Date) async throws -> Journal {
    // snippet.show
    Journal(try await SQLiteJournal(path: "billing.sqlite"), now: timeOfDay)
    // snippet.hide
}

func answer(_ delivery: Delivery, with adapter: some ProviderAdapter, _ journal: Journal) async -> Int {
    // snippet.show
    await journal.receive(delivery, with: adapter).status
    // snippet.hide
}

func spend(
    _ credits: Int64,
    for job: String,
    of user: String,
    under policy: CreditPolicy,
    _ journal: Journal,
    at now: Date
) async throws -> Bool {
    // snippet.show
    let account = Account.Identifier(user, .appUserID)
    guard try await journal.access(of: account, at: now).decision.isGranted else { return false }
    return try await journal.use(credits, id: job, of: account, under: policy, at: now) != nil
    // snippet.hide
}
