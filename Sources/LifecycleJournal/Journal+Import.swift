import FoundationEssentials
public import Normalizer

extension Journal {
    /// The outcome of taking over the purchases that a team had before it had a journal.
    public struct Import: Hashable, Sendable, Codable {
        /// How many purchases ``missing`` and ``refused`` name at the most.
        static let most = 1000

        /// The list, by `PurchaseList.name`.
        public var list: String
        /// How many purchases were asked about.
        public var purchases = 0
        /// How many of them the provider knows.
        public var found = 0
        /// The first thousand of those that it does not know, or that cannot be asked about.
        public var missing: [SubscriptionID] = []
        /// The first thousand of those whose answer could not be used, or only in part.
        public var refused: [SubscriptionID] = []
        /// True once the list was read to its end.
        public var isComplete = false
    }

    /// Where an import was left.
    private struct ImportMark: Codable {
        var report: Import
        var position: String?
        /// When it began; nil in one that an earlier version began.
        @OptionalEventTime var began: Date?
        /// The purchases that the list is read for once more; nil for all.
        var again: Set<SubscriptionID>?

        /// Begins again with those that were not taken in.
        ///
        /// - Returns: false if there are none.
        mutating func beginAgain(at time: Date) -> Bool {
            let left = report.missing + report.refused
            guard !left.isEmpty else { return false }
            // A report that is full does not name all of them.
            let isWhole = max(report.missing.count, report.refused.count) < Import.most
            var next = Import(list: report.list)
            if isWhole {
                next.purchases = report.purchases - left.count
                // One that was refused in part was found as well.
                next.found = min(report.found, next.purchases)
            }
            self = ImportMark(report: next, began: time, again: isWhole ? Set(left) : nil)
            return true
        }
    }

    /// Imports the purchases of a list: looks each one up, within the rate of its provider, and stores the answer. None
    /// of it is news, since it happened before you had a journal. An event that happened after the import began, or up to an hour
    /// before, is news once its notification comes.
    ///
    /// Called again, it continues where it stopped. If the list was read to its end, it asks only about the purchases that were
    /// missing or refused.
    ///
    /// - Parameters:
    ///   - list: the purchases.
    ///   - source: your name for the app or account, if two have lists of one name, as two accounts of Stripe have.
    ///   - sources: the providers to ask; the first that knows a purchase counts.
    ///   - report: is called after each page.
    /// - Throws: `DeliveryError` if the provider cannot be asked now or refuses the credentials, and ``JournalError``.
    ///   Call it again.
    @discardableResult
    public func importPurchases(
        from list: some PurchaseList,
        as source: String? = nil,
        with sources: [any LineageQuestions],
        progress report: @Sendable (Import) -> Void = { _ in }
    ) async throws -> Import {
        let name = Self.place("import/\(list.name)", of: source)
        var checkpoint = try await checkpoint(of: name)
        var mark = ImportMark(report: Import(list: list.name), began: now())
        if let text = checkpoint?.value {
            do { mark = try CanonicalJSON.value(from: Array(text.utf8)) } catch {
                throw JournalError(.corrupt, "the checkpoint \(name) cannot be read", underlying: error)
            }
        }
        if mark.report.isComplete, !mark.beginAgain(at: now()) { return mark.report }
        repeat {
            let time = now()
            let page = try await list.page(at: mark.position, askedAt: time)
            let unnamed = page.unnamed.filter { mark.again?.contains($0) ?? true }
            mark.report.purchases += unnamed.count
            mark.report.missing += unnamed.prefix(max(0, Import.most - mark.report.missing.count))
            for question in page.questions
            where mark.again.map({ !$0.isDisjoint(with: question.names) }) ?? true {
                try await take(over: question, from: sources, at: time, since: mark.began ?? time, into: &mark.report)
            }
            mark.position = page.next
            mark.report.isComplete = page.next == nil
            let text = String(decoding: try CanonicalJSON.bytes(mark), as: UTF8.self)
            guard try await setCheckpoint(text, of: name, after: checkpoint) else {
                throw JournalError(.conflict, "another process imports \(list.name)")
            }
            checkpoint = try await self.checkpoint(of: name)
            report(mark.report)
        } while !mark.report.isComplete
        return mark.report
    }

    private func take(
        over question: LineageQuestion,
        from sources: [any LineageQuestions],
        at time: Date,
        since start: Date,
        into report: inout Import
    ) async throws {
        var (isFound, isRefused) = (false, false)
        for source in sources {
            let answer: LineageAnswer
            do throws(DeliveryError) {
                answer = try await source.ask(question)
            } catch {
                guard error.code != .unavailable, error.code != .denied else { throw error }
                isRefused = true
                continue
            }
            try await clock.sleep(for: source.pace)
            let results: [Normalization]
            switch answer {
            case .unknown: continue
            case .stated(let stated): (results, isRefused) = (stated, false)
            case .incomplete(let stated, _): (results, isRefused) = (stated, true)
            }
            try await write { transaction in
                for result in results {
                    _ = try await join(result, in: transaction, at: time, importedSince: start)
                }
                let lineages = results.flatMap(\.lineages)
                _ = try await reportUnknownChanges(of: lineages, in: transaction, at: time, importedSince: start)
            }
            isFound = true
            break
        }
        report.purchases += 1
        if isFound { report.found += 1 }
        if isRefused {
            if report.refused.count < Import.most { report.refused += question.names.prefix(1) }
        } else if !isFound, report.missing.count < Import.most {
            report.missing += question.names.prefix(1)
        }
    }
}
