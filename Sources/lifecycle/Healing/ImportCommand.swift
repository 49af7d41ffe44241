#if CommandLineTool
import ArgumentParser
import Foundation
import GooglePubSub
import LifecycleJournal
import Stripe
import Synchronization

/// `lifecycle import`
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Imports the purchases that you had before you had a journal. None of them is news.",
        discussion: """
            Stripe lists its subscriptions itself, and RevenueCat its customers, with a `project` in the configuration. Of RevenueCat's \
            purchases, those of Google Play and those that were bought once are imported; App Store subscriptions with an \
            `appStoreFile`; others are `missing`. For Apple and Google, give a file with one purchase on each line:

              apple    TRANSACTION, or TRANSACTION,sandbox for a test purchase
              google   TOKEN,subscription or TOKEN,product; with several apps TOKEN,subscription,PACKAGE

            After an interruption, run it again with the same file: it continues where it stopped. A list that was read to its end is \
            not read again, apart from purchases that were missing or refused. A file with another content is another list. Prints a report as a JSON object; \
            `missing` lists purchases that the provider does not know. Set LIFECYCLE_SEALING_KEY, or Google Play cannot be asked \
            again later.

            \(ProviderAccess.help)

            Exit status: 1 if a purchase is missing or was refused, 69 if the provider could not be asked.
            """
    )

    @OptionGroup var options: ProviderOptions
    @OptionGroup var database: DatabaseOptions

    @Option(help: ProviderOptions.sourceHelp)
    var source: String?

    @Argument(help: ArgumentHelp("The purchases, one on each line.", valueName: "file"))
    var file: String?

    func run() async throws { try await options.withAccess(run) }

    private func run(with access: ProviderAccess) async throws {
        let journal = try await database.journal()
        let report: Journal.Import
        if let file {
            let text = try contents(of: file)
            // A corrected list is another one, also in a file of the same name.
            let content = BodyDigest(of: text).text.prefix(8)
            let list = ListedPurchases(
                "\(access.provider)/\(URL(fileURLWithPath: file).lastPathComponent)/\(content)",
                try questions(text, of: file, access)
            )
            report = try await take(list, from: access, into: journal)
        } else {
            guard let list = access.purchases else {
                throw ValidationError("\(access.provider) lists no purchases: give a file")
            }
            report = try await take(list, from: access, into: journal)
        }
        try StandardOutput.write(line: CanonicalJSON.bytes(report))
        if !report.missing.isEmpty || !report.refused.isEmpty { throw ExitCode.differs }
    }

    private func take(
        _ list: some PurchaseList,
        from access: ProviderAccess,
        into journal: Journal
    ) async throws -> Journal.Import {
        let isAsked = Atomic(false)
        do {
            let report = try await journal.importPurchases(from: list, as: source, with: access.questions) { progress in
                isAsked.store(true, ordering: .relaxed)
                StandardError.write("\(progress.list): \(progress.purchases) purchases, \(progress.found) found")
            }
            if !isAsked.load(ordering: .relaxed) {
                StandardError.write("\(report.list) was imported before: nothing was asked")
            }
            return report
        } catch {
            StandardError.write("\(error)")
            throw ExitCode.unavailable
        }
    }

    private func questions(
        _ content: [UInt8],
        of file: String,
        _ access: ProviderAccess
    ) throws -> [LineageQuestion] {
        let text = String(decoding: content, as: UTF8.self)
        var questions: [LineageQuestion] = []
        for (index, line) in text.split(whereSeparator: \.isNewline).enumerated() {
            let parts = line.split(separator: ",", omittingEmptySubsequences: false)
                .map { $0.trimmingCharacters(in: .whitespaces) }
            guard let question = question(parts, access) else {
                // The line has a purchase token, which is not shown.
                throw ValidationError(
                    "\(file): line \(index + 1) is no purchase of \(access.provider), see `lifecycle help import`"
                )
            }
            questions.append(question)
        }
        return questions
    }

    private func question(_ parts: [String], _ access: ProviderAccess) -> LineageQuestion? {
        guard let id = parts.first, !id.isEmpty else { return nil }
        let present = Date()
        switch access.provider {
        case .apple:
            guard parts.count < 3, id.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            let world = parts.count > 1 ? parts[1] : "production"
            guard ["production", "sandbox"].contains(world) else { return nil }
            let lineage = SubscriptionID(store: .appStore, environment: StoreEnvironment(rawValue: world), id: id)
            return LineageQuestion(lineage, askedAt: present)
        case .google:
            let only = access.apps.count == 1 ? access.apps.first : nil
            guard parts.count > 1, GooglePurchase.Kind(rawValue: parts[1]) != nil,
                let app = parts.count > 2 ? parts[2] : only
            else { return nil }
            let lineage = SubscriptionID(
                store: .playStore,
                environment: .unknown,
                id: PurchaseToken(id).fingerprint
            )
            var question = LineageQuestion(lineage, askedAt: present)
            question.handle = PurchaseHandle(lineage, app: app, kind: parts[1], token: id)
            return question
        default: return nil
        }
    }
}
#endif
