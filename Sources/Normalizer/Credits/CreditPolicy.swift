/// The credits that products give. With the states, the uses and a time, it makes a ``CreditStatement``.
public struct CreditPolicy: Hashable, Sendable, Codable {
    /// The credits that a product gives.
    public struct Allowance: Hashable, Sendable, Codable {
        /// The credits of a period, of an instalment where ``every`` is set, or of one item of a product bought once.
        public var credits: Int64
        /// The credits of a free trial. If absent, a trial gives as many as any other period.
        public var trialCredits: Int64?
        /// The credits of a period, or an item, that a family member shares. If absent, it gives none: there is one payment, and each
        /// member has a purchase of their own.
        public var familySharedCredits: Int64?
        /// The regular price of a period. A change is prorated by the charges; this price is used if no store states
        /// the charge.
        public var price: Money?
        /// How far apart the instalments of a longer period are: `.month` pays the credits of a yearly plan each month. If absent, a period
        /// pays out once, when it begins.
        public var every: CalendarDuration?

        /// Makes an allowance.
        public init(
            credits: Int64,
            trialCredits: Int64? = nil,
            familySharedCredits: Int64? = nil,
            price: Money? = nil,
            every: CalendarDuration? = nil
        ) {
            self.credits = credits
            self.trialCredits = trialCredits
            self.familySharedCredits = familySharedCredits
            self.price = price
            self.every = every
        }
    }

    /// The allowance of each product. A key is the product as `Fact.Period.product` names it, which names the base plan
    /// on Google Play (`pro:yearly`), and a billing plan other than up front on the App Store (`pro_year:MONTHLY`). On
    /// Google Play, a key without a plan is for all plans without a key. On the App Store it is not, since each monthly
    /// payment would give a year's credits. Other products give nothing.
    public var allowances: [ProductID: Allowance]
    /// How shares of credits become whole numbers.
    public var rounding: Rounding
    /// True if credits that are left at an immediate product change are kept until they are used.
    public var carriesOver: Bool
    /// True if used credits are owed when their payment is refunded. Then a balance may be below zero, and the next
    /// grant makes up for it. If false, no balance is ever below zero. For example, after a refund of 500 credits of
    /// which 300 were used, the balance is -300 or 0.
    public var owes: Bool

    /// Makes a policy.
    public init(
        _ allowances: [ProductID: Allowance],
        rounding: Rounding = .down,
        carriesOver: Bool = true,
        owes: Bool = false
    ) {
        self.allowances = allowances
        self.rounding = rounding
        self.carriesOver = carriesOver
        self.owes = owes
    }

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case allowances, rounding, owes
        case carriesOver = "carries_over"
    }

    /// Reads the JSON of a policy. Absent members have the values that ``init(_:rounding:carriesOver:owes:)`` gives them.
    ///
    /// - Throws: `DecodingError.dataCorrupted` for an unknown member, such as a misspelled one.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.closedContainer(keyedBy: CodingKeys.self)
        allowances = try container.decode([ProductID: Allowance].self, forKey: .allowances)
        rounding = try container.decodeIfPresent(Rounding.self, forKey: .rounding) ?? .down
        carriesOver = try container.decodeIfPresent(Bool.self, forKey: .carriesOver) ?? true
        owes = try container.decodeIfPresent(Bool.self, forKey: .owes) ?? false
    }
}

extension CreditPolicy {
    /// The allowance of a product: by its name, and where relays leave out the plan, by the name without it.
    func allowance(of product: ProductID, in store: PurchaseStore) -> Allowance? {
        allowances[product] ?? (store.rules.relaysOmitPlans ? allowances[product.subscription] : nil)
    }
}

extension CreditPolicy.Allowance {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case credits, price, every
        case trialCredits = "trial_credits"
        case familySharedCredits = "family_shared_credits"
    }

    private static let names: [(name: String, duration: CalendarDuration)] = [
        ("day", CalendarDuration(days: 1)), ("week", .week), ("month", .month), ("quarter", .quarter), ("year", .year),
    ]

    /// Reads an allowance. `every` is `"day"`, `"week"`, `"month"`, `"quarter"`, `"year"`, or an object with `months` and `days`.
    ///
    /// - Throws: `DecodingError.dataCorrupted` for a duration that does not lead forward, and for an unknown member.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.closedContainer(keyedBy: CodingKeys.self)
        credits = try container.decode(Int64.self, forKey: .credits)
        trialCredits = try container.decodeIfPresent(Int64.self, forKey: .trialCredits)
        familySharedCredits = try container.decodeIfPresent(Int64.self, forKey: .familySharedCredits)
        price = try container.decodeIfPresent(Money.self, forKey: .price)
        guard container.contains(.every) else { return }
        if let name = try? container.decode(String.self, forKey: .every) {
            every = Self.names.first { $0.name == name }?.duration
        } else {
            every = try container.decode(CalendarDuration.self, forKey: .every)
        }
        guard let every, every.leadsForward else {
            throw container.refusal("not a duration that leads forward", at: .every)
        }
    }

    /// Writes the form that `init(from:)` reads.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(credits, forKey: .credits)
        try container.encodeIfPresent(trialCredits, forKey: .trialCredits)
        try container.encodeIfPresent(familySharedCredits, forKey: .familySharedCredits)
        try container.encodeIfPresent(price, forKey: .price)
        guard let every else { return }
        if let named = Self.names.first(where: { $0.duration == every }) {
            try container.encode(named.name, forKey: .every)
        } else {
            try container.encode(every, forKey: .every)
        }
    }
}
