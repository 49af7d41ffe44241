import FoundationEssentials

extension LifecycleEvent: Codable {
    package enum CodingKeys: String, CodingKey { case kind, detail }

    /// Reads `{"kind":…,"detail":{…}}`.
    ///
    /// A kind that this version does not know, written by a later one, throws `DecodingError.dataCorrupted`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func detail<Detail: Decodable>(_ type: Detail.Type = Detail.self) throws -> Detail {
            try container.decode(type, forKey: .detail)
        }
        let kind = try container.decode(Kind.self, forKey: .kind)
        switch kind {
        case .purchasePending: self = .purchasePending(try detail())
        case .purchasePendingCanceled: self = .purchasePendingCanceled(try detail())
        case .started: self = .started(try detail())
        case .renewed: self = .renewed(try detail())
        case .billingIssue: self = .billingIssue(try detail())
        case .gracePeriodExpired: self = .gracePeriodExpired
        case .autoRenewDisabled: self = .autoRenewDisabled(try detail())
        case .autoRenewEnabled: self = .autoRenewEnabled
        case .expired: self = .expired(try detail())
        case .productChangeScheduled: self = .productChangeScheduled(try detail())
        case .productChangeReverted: self = .productChangeReverted(try detail())
        case .productChanged: self = .productChanged(try detail())
        case .pauseScheduled: self = .pauseScheduled(try detail())
        case .paused: self = .paused(try detail())
        case .extended: self = .extended(try detail())
        case .priceChange: self = .priceChange(try detail())
        case .offerRedeemed: self = .offerRedeemed(try detail())
        case .oneTimePurchased: self = .oneTimePurchased(try detail())
        case .refundRequested: self = .refundRequested(try detail())
        case .refunded: self = .refunded(try detail())
        case .refundDeclined: self = .refundDeclined(try detail())
        case .refundReversed: self = .refundReversed(try detail())
        case .chargeback: self = .chargeback(try detail())
        case .revoked: self = .revoked(try detail())
        case .transferred: self = .transferred(try detail())
        case .acknowledgementRequired: self = .acknowledgementRequired(try detail())
        case .notice: self = .notice(try detail())
        case .unmapped: self = .unmapped(try detail())
        default:
            throw container.refusal("unknown kind of event", at: .kind)
        }
    }

    /// Writes `{"kind":…,"detail":{…}}`; `detail` is left out where there is none.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(kind, forKey: .kind)
        switch self {
        case .gracePeriodExpired, .autoRenewEnabled: break
        case .purchasePending(let detail), .purchasePendingCanceled(let detail):
            try container.encode(detail, forKey: .detail)
        case .started(let detail): try container.encode(detail, forKey: .detail)
        case .renewed(let detail): try container.encode(detail, forKey: .detail)
        case .billingIssue(let detail): try container.encode(detail, forKey: .detail)
        case .autoRenewDisabled(let detail): try container.encode(detail, forKey: .detail)
        case .expired(let detail): try container.encode(detail, forKey: .detail)
        case .productChangeScheduled(let detail), .productChangeReverted(let detail), .productChanged(let detail):
            try container.encode(detail, forKey: .detail)
        case .pauseScheduled(let detail), .paused(let detail): try container.encode(detail, forKey: .detail)
        case .extended(let detail): try container.encode(detail, forKey: .detail)
        case .priceChange(let detail): try container.encode(detail, forKey: .detail)
        case .offerRedeemed(let detail): try container.encode(detail, forKey: .detail)
        case .oneTimePurchased(let detail): try container.encode(detail, forKey: .detail)
        case .refundRequested(let detail): try container.encode(detail, forKey: .detail)
        case .refunded(let detail): try container.encode(detail, forKey: .detail)
        case .refundDeclined(let detail), .refundReversed(let detail): try container.encode(detail, forKey: .detail)
        case .chargeback(let detail): try container.encode(detail, forKey: .detail)
        case .revoked(let detail): try container.encode(detail, forKey: .detail)
        case .transferred(let detail): try container.encode(detail, forKey: .detail)
        case .acknowledgementRequired(let detail): try container.encode(detail, forKey: .detail)
        case .notice(let detail): try container.encode(detail, forKey: .detail)
        case .unmapped(let detail): try container.encode(detail, forKey: .detail)
        }
    }
}

extension LifecycleEvent.Renewed.Cause: Codable {
    private static let named: [String: LifecycleEvent.Renewed.Cause] = [
        "scheduled": .scheduled,
        "trial_conversion": .trialConversion,
        "introductory_conversion": .introductoryConversion,
        "recovery_from_grace": .recovery(from: .grace),
        "recovery_from_retry": .recovery(from: .retry),
        "recovery_from_hold": .recovery(from: .hold),
        "recovery": .recovery(from: .unknown),
        "resumption": .resumption,
        "plan_change": .planChange,
        "top_up": .topUp,
        "unknown": .unknown,
    ]

    /// The name used in JSON.
    package var name: String {
        switch self {
        case .scheduled: "scheduled"
        case .trialConversion: "trial_conversion"
        case .introductoryConversion: "introductory_conversion"
        case .recovery(.unknown): "recovery"
        case .recovery(let trouble): "recovery_from_\(trouble.rawValue)"
        case .resumption: "resumption"
        case .planChange: "plan_change"
        case .topUp: "top_up"
        case .unknown: "unknown"
        }
    }

    /// Reads the name of a cause.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let cause = Self.named[try container.decode(String.self)] else {
            throw decoder.refusal("unknown cause of renewal")
        }
        self = cause
    }

    /// Writes the name of the cause.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(name)
    }
}

extension LifecycleEvent.BillingIssue: Codable {
    private enum CodingKeys: String, CodingKey {
        case access
        case graceUntil = "grace_until"
        case retryUntil = "retry_until"
        case actionRequired = "action_required"
    }

    /// Reads `{"access":"grace","grace_until":…}`, or `access` alone if it is `suspended` or `unknown`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let access: Access
        switch try container.decode(String.self, forKey: .access) {
        case "grace":
            access = .grace(until: try container.decode(EventTime.self, forKey: .graceUntil).wrappedValue)
        case "suspended":
            access = .suspended
        case "unknown":
            access = .unknown
        default:
            throw container.refusal("neither grace, suspended nor unknown", at: .access)
        }
        self.init(
            access: access,
            retryUntil: try container.decode(OptionalEventTime.self, forKey: .retryUntil).wrappedValue,
            actionRequired: try container.decode(Bool.self, forKey: .actionRequired)
        )
    }

    /// Writes the form that `init(from:)` reads.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch access {
        case .grace(let until):
            try container.encode("grace", forKey: .access)
            try container.encode(EventTime(wrappedValue: until), forKey: .graceUntil)
        case .suspended:
            try container.encode("suspended", forKey: .access)
        case .unknown:
            try container.encode("unknown", forKey: .access)
        }
        try container.encode(OptionalEventTime(wrappedValue: retryUntil), forKey: .retryUntil)
        try container.encode(actionRequired, forKey: .actionRequired)
    }
}

extension LifecycleEvent.ProductChange: Codable {
    private enum CodingKeys: String, CodingKey {
        case from, to, direction, timing, basis, proration, period
        case effectiveAt = "effective_at"
        case fromBasePlan = "from_base_plan"
        case toBasePlan = "to_base_plan"
    }

    /// Reads a product change; `timing` is `immediate` or `at_period_end`, with `effective_at` where the date is known.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        from = try container.decodeIfPresent(ProductID.self, forKey: .from)
        to = try container.decode(ProductID.self, forKey: .to)
        direction = try container.decode(Direction.self, forKey: .direction)
        switch try container.decode(String.self, forKey: .timing) {
        case "immediate":
            timing = .immediate
        case "at_period_end":
            timing = .atPeriodEnd(try container.decode(OptionalEventTime.self, forKey: .effectiveAt).wrappedValue)
        default:
            throw container.refusal("neither immediate nor at_period_end", at: .timing)
        }
        basis = try container.decode(Basis.self, forKey: .basis)
        proration = try container.decodeIfPresent(Proration.self, forKey: .proration)
        period = try container.decodeIfPresent(ServicePeriod.self, forKey: .period)
        fromBasePlan = try container.decodeIfPresent(String.self, forKey: .fromBasePlan)
        toBasePlan = try container.decodeIfPresent(String.self, forKey: .toBasePlan)
    }

    /// Writes the form that `init(from:)` reads.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(fromBasePlan, forKey: .fromBasePlan)
        try container.encodeIfPresent(toBasePlan, forKey: .toBasePlan)
        try container.encodeIfPresent(from, forKey: .from)
        try container.encode(to, forKey: .to)
        try container.encode(direction, forKey: .direction)
        switch timing {
        case .immediate:
            try container.encode("immediate", forKey: .timing)
        case .atPeriodEnd(let date):
            try container.encode("at_period_end", forKey: .timing)
            try container.encode(OptionalEventTime(wrappedValue: date), forKey: .effectiveAt)
        }
        try container.encode(basis, forKey: .basis)
        try container.encodeIfPresent(proration, forKey: .proration)
        try container.encodeIfPresent(period, forKey: .period)
    }
}

extension LifecycleEvent.Refund.Scope: Codable {
    private enum CodingKeys: String, CodingKey { case type, fraction, quantity, amount }

    /// Reads `{"type":"full"}`, or a type with the member of its name.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        switch try container.decode(String.self, forKey: .type) {
        case "full": self = .full
        case "fraction": self = .fraction(try container.decode(ExactDecimal.self, forKey: .fraction))
        case "quantity": self = .quantity(try container.decode(Int64.self, forKey: .quantity))
        case "amount": self = .amount(try container.decode(Money.self, forKey: .amount))
        default:
            throw container.refusal("unknown scope of a refund", at: .type)
        }
    }

    /// Writes the form that `init(from:)` reads.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .full:
            try container.encode("full", forKey: .type)
        case .fraction(let fraction):
            try container.encode("fraction", forKey: .type)
            try container.encode(fraction, forKey: .fraction)
        case .quantity(let quantity):
            try container.encode("quantity", forKey: .type)
            try container.encode(quantity, forKey: .quantity)
        case .amount(let money):
            try container.encode("amount", forKey: .type)
            try container.encode(money, forKey: .amount)
        }
    }
}
