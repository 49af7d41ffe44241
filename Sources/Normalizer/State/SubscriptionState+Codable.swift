import FoundationEssentials

// Maps are written as lists in a fixed order, and read by joining their entries: a list with repetitions, or one that
// was put together from two states, reads as their join.
extension SubscriptionState: Codable {
    private enum CodingKeys: String, CodingKey {
        case lineages, periods, ends, interruptions, refunds, withdrawals, charges, purchases, accounts, transfer
        case successions, links
        case switches = "product_switches"
        case foreignLinks = "foreign_links"
        case transactionNames = "transaction_names"
        case snapshots, reports
    }

    private struct Lineage: Codable {
        var subscription: SubscriptionID
        var registers: Registers

        private enum CodingKeys: String, CodingKey { case subscription }

        init(subscription: SubscriptionID, registers: Registers) {
            self.subscription = subscription
            self.registers = registers
        }

        init(from decoder: any Decoder) throws {
            subscription = try decoder.container(keyedBy: CodingKeys.self).decode(
                SubscriptionID.self,
                forKey: .subscription
            )
            registers = try Registers(from: decoder)
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(subscription, forKey: .subscription)
            try registers.encode(to: encoder)
        }
    }

    private struct NamedAccount: Codable {
        var account: Account.Identifier
        var claim: AccountClaim

        init(account: Account.Identifier, claim: AccountClaim) {
            self.account = account
            self.claim = claim
        }

        init(from decoder: any Decoder) throws {
            account = try Account.Identifier(from: decoder)
            claim = try AccountClaim(from: decoder)
        }

        func encode(to encoder: any Encoder) throws {
            try account.encode(to: encoder)
            try claim.encode(to: encoder)
        }
    }

    /// Reads the form of `docs/state-schema.md`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let lineages = try container.decode([Lineage].self, forKey: .lineages)
        guard let environment = lineages.first?.subscription.environment,
            lineages.allSatisfy({ $0.subscription.environment == environment })
        else {
            throw container.refusal("no lineage, or lineages of several environments", at: .lineages)
        }
        func list<Element: Decodable>(_ key: CodingKeys) throws -> [Element] {
            try container.decodeIfPresent([Element].self, forKey: key) ?? []
        }
        for lineage in lineages {
            merge(lineage.registers, of: lineage.subscription)
        }
        let entries: [PeriodEntry] = try list(.periods)
        note(entries.map { (key: PeriodKey($0.fact), value: $0) })
        for entry in entries where !entry.fact.isProvisional { noteSnapshot(of: entry.fact.transaction, by: entry.by) }
        for register in try list(.ends) as [Register<Fact.PeriodEnd>] {
            ends.merge(register)
        }
        interruptions = Set(try list(.interruptions) as [Assertion<Fact.Interruption>])
        for register in try list(.refunds) as [Register<Fact.RefundState>] {
            refunds.merge(register, at: RefundKey(register.value))
            note(register.latest)
        }
        for step in try list(.withdrawals) as [RefundStep] { note(step) }
        for register in try list(.charges) as [Register<Fact.Charge>] {
            charges.merge(register, at: register.value.transaction)
        }
        for register in try list(.purchases) as [Register<Fact.OneTimePurchase>] {
            note(PurchaseEntry(register))
            noteSnapshot(of: register.value.transaction, by: register.by)
        }
        for stored in try list(.snapshots) as [StoredSnapshot] {
            noteSnapshot(of: stored.transaction, at: stored.times)
        }
        for register in try list(.switches) as [Register<Fact.ProductSwitch>] {
            switches.merge(register, at: SwitchKey(register.value))
        }
        for named in try list(.accounts) as [NamedAccount] {
            if claims[named.account]?.merge(named.claim) == nil { claims[named.account] = named.claim }
        }
        claims.settleAliases()
        transfer = try container.decodeIfPresent(Register<LifecycleEvent.Transfer>.self, forKey: .transfer)
        for name in try list(.transactionNames) as [Fact.TransactionName] { note(name.name, of: name.transaction) }
        successions = Set(try list(.successions) as [Fact.Succession])
        foreignLinks = Set(try list(.foreignLinks) as [SubscriptionID])
        for other in try list(.links) as [SubscriptionID] { link(to: other) }
        if let reports = try container.decodeIfPresent(ReportLog.self, forKey: .reports) {
            self.reports = reports
        } else {
            reportNotifications()
        }
    }

    /// Writes the form of `docs/state-schema.md`: equal states give equal bytes through `CanonicalJSON`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        func write<Element: Encodable>(_ elements: [Element], _ key: CodingKeys) throws {
            if !elements.isEmpty { try container.encode(elements, forKey: key) }
        }
        try container.encode(
            lineages.map { Lineage(subscription: $0, registers: registers[$0] ?? Registers()) },
            forKey: .lineages
        )
        try write(periods.valuesInOrder, .periods)
        try write(ends.inOrder, .ends)
        try write(interruptions.sorted { $0.precedes($1) }, .interruptions)
        try write(refunds.valuesInOrder, .refunds)
        try write(unstatedRefundSteps, .withdrawals)
        try write(charges.valuesInOrder, .charges)
        try write(purchases.valuesInOrder.flatMap(\.registers), .purchases)
        try write(switches.valuesInOrder, .switches)
        try write(
            unstatedSnapshots.sorted { $0.key < $1.key }.map {
                StoredSnapshot(transaction: $0.key, times: $0.value)
            },
            .snapshots
        )
        try write(
            claims.keys.inOrder.compactMap { key in claims[key].map { NamedAccount(account: key, claim: $0) } },
            .accounts
        )
        try container.encodeIfPresent(transfer, forKey: .transfer)
        try container.encode(reports, forKey: .reports)
        try write(
            transactionNames.sorted { $0.key < $1.key }.map {
                Fact.TransactionName(transaction: $0.value, name: $0.key)
            },
            .transactionNames
        )
        try write(successions.inOrder, .successions)
        try write(links.inOrder, .links)
        try write(foreignLinks.inOrder, .foreignLinks)
    }
}

extension SubscriptionState.PeriodKey: Comparable {
    package static func < (lhs: Self, rhs: Self) -> Bool {
        switch (lhs, rhs) {
        case (.transaction(let left), .transaction(let right)): left < right
        case (.start(let left), .start(let right)): left < right
        case (.item(let left, let item), .item(let right, let other)): (left, item) < (right, other)
        case (.unpaid(let left), .unpaid(let right)): left < right
        default: lhs.rank < rhs.rank
        }
    }
}

extension SubscriptionState.PeriodKey {
    private var rank: Int {
        switch self {
        case .start: 0
        case .transaction: 1
        case .item: 2
        case .unpaid: 3
        }
    }
}

extension Collection<SubscriptionID> {
    package var inOrder: [SubscriptionID] { sorted { $0.precedes($1) } }
}
