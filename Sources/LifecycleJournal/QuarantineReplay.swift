public import Normalizer

extension Quarantine {
    /// Tries the deliveries in quarantine again, each once, those first whose last attempt is longest ago.
    ///
    /// If five deliveries of a source in a row fail because its provider cannot be asked or refuses, the rest of its deliveries is not
    /// tried. The next replay begins with them. So no delivery that the provider always fails at keeps the others from being tried.
    public struct Replay: Sendable {
        let quarantine: Quarantine
        let adapters: [String: any ProviderAdapter]
        var isChosen: @Sendable (Entry) -> Bool = { _ in true }

        /// The sources whose provider could not be asked, so that the rest of their deliveries is not tried.
        public private(set) var stopped: Set<String> = []
        private var failures: [String: Int] = [:]
        /// Few, since each may be long.
        private var page: ArraySlice<Entry> = []
        /// The parts that are still to be read. The first is what a clock noted that was ahead: it would stay behind all others until
        /// that time.
        private var selections: [JournalSelection]
        /// The rows of the deliveries that were tried. They are behind the others by now, and are read again.
        private var tried: Set<Int64> = []

        init(quarantine: Quarantine, adapters: [String: any ProviderAdapter]) {
            self.quarantine = quarantine
            self.adapters = adapters
            let time = quarantine.journal.now().milliseconds
            let group = DeliveryPlace.quarantined.rawValue
            selections = [
                JournalSelection(group: group, after: time, number: .max, limit: 50),
                JournalSelection(group: group, limit: 50),
            ]
        }

        /// Tries the next delivery.
        ///
        /// - Returns: the delivery with the answer that a provider would get; nil if no other is to be tried, or if the task was
        ///   cancelled.
        /// - Throws: ``JournalError``.
        public mutating func next() async throws(JournalError) -> (entry: Entry, answer: Acknowledgement)? {
            while stopped.count < adapters.count, !Task.isCancelled {
                guard let entry = page.popFirst() else {
                    guard let selection = selections.first else { return nil }
                    page = try await quarantine.list(selection)[...]
                    if let end = page.last {
                        selections[0] = selection.following(end.record)
                    } else {
                        selections.removeFirst()
                    }
                    continue
                }
                let source = entry.source
                guard let adapter = adapters[source], !stopped.contains(source), isChosen(entry),
                    tried.insert(entry.record.number).inserted
                else { continue }
                let answer = await quarantine.replay(entry, with: adapter)
                let isFailure = answer.code.map { DeliveryError.Code.sayingNothing.contains($0) }
                let count = isFailure == true ? failures[source, default: 0] + 1 : 0
                failures[source] = count
                if count == 5 { stopped.insert(source) }
                return (entry, answer)
            }
            return nil
        }
    }
}
