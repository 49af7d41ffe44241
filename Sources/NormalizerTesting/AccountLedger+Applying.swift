package import Normalizer

extension AccountLedger {
    /// The ledger after these events.
    package init(applying events: some Sequence<NormalizedEvent>) {
        self.init()
        for event in events { _ = apply(event) }
    }

    /// The ledger after these statements.
    package init(applying statements: some Sequence<StoreStatement>) {
        self.init()
        for statement in statements { apply(statement) }
    }

    /// The ledger after these results.
    package init(applying results: some Sequence<Normalization>) {
        self.init()
        for result in results { _ = apply(result) }
    }
}
