public import Normalizer

extension Quarantine {
    /// Tries the deliveries in quarantine again, in the order in which they were received.
    ///
    /// If five deliveries of a source in a row fail because its provider cannot be asked, the rest of its deliveries is not tried.
    /// A single one that the provider fails at does not keep the others from being tried.
    public struct Replay: Sendable {
        let quarantine: Quarantine
        let adapters: [String: any ProviderAdapter]
        var isChosen: @Sendable (Entry) -> Bool = { _ in true }
        /// True for an answer that counts as one of the five.
        var isFailure: @Sendable (Acknowledgement) -> Bool = { $0.decision == .retryLater }

        /// The sources whose provider could not be asked, so that the rest of their deliveries is not tried.
        public private(set) var stopped: Set<String> = []
        private var failures: [String: Int] = [:]
        /// Few, since each may be long.
        private var page: ArraySlice<Entry> = []
        private var last: Entry?

        init(quarantine: Quarantine, adapters: [String: any ProviderAdapter]) {
            self.quarantine = quarantine
            self.adapters = adapters
        }

        /// Tries the next delivery.
        ///
        /// - Returns: the delivery with the answer that a provider would get; nil if no other is to be tried, or if the task was
        ///   cancelled.
        /// - Throws: ``JournalError``.
        public mutating func next() async throws(JournalError) -> (entry: Entry, answer: Acknowledgement)? {
            while stopped.count < adapters.count, !Task.isCancelled {
                guard let entry = page.popFirst() else {
                    page = try await quarantine.list(after: last, limit: 50)[...]
                    guard let end = page.last else { return nil }
                    last = end
                    continue
                }
                let source = entry.source
                guard let adapter = adapters[source], !stopped.contains(source), isChosen(entry) else { continue }
                let answer = await quarantine.replay(entry, with: adapter)
                let count = isFailure(answer) ? failures[source, default: 0] + 1 : 0
                failures[source] = count
                if count == 5 { stopped.insert(source) }
                return (entry, answer)
            }
            return nil
        }
    }
}
