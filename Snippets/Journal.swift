// Takes deliveries in, and answers who has access and credits.

import AppleJWS
import Foundation
import LifecycleJournal
import SQLiteJournal

func openJournal() async throws -> Journal {
    // snippet.show
    let journal = Journal(try await SQLiteJournalStorage(path: "billing.sqlite"), now: { Date() })
    // snippet.hide
    return journal
}

func answer(_ body: [UInt8], with apple: AppleAdapter, _ journal: Journal) async -> Int {
    // snippet.show
    // In the handler of your webhook: the exact bytes, and when you received them.
    let answer = await journal.receive(Delivery(body: body, receivedAt: Date()), with: apple)
    return answer.status  // 200: kept. 503: send it again. 400 and 401: never proven to be Apple's.
    // snippet.hide
}

func spend(job: String, of userID: String, under policy: CreditPolicy, _ journal: Journal) async throws -> Bool {
    // snippet.show
    let user = Account.Identifier(userID, .appAccountToken)
    guard try await journal.access(of: [user], at: Date()).decision.isGranted else { return false }
    return try await journal.use(30, id: job, of: [user], under: policy, at: Date()) != nil  // once for each id
    // snippet.hide
}

func handIn(_ jwsRepresentation: String, by userID: String, with apple: AppleAdapter, _ journal: Journal) async throws {
    // snippet.show
    let result = try apple.receive(signedTransaction: jwsRepresentation.utf8, receivedAt: Date())
    try await journal.upload(result, by: Account(userID, .appAccountToken))
    // snippet.hide
}
