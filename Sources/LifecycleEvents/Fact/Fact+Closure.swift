public import FoundationEssentials

extension Fact {
    /// The end or suspension of a purchase as a whole, in spite of the ends of its periods.
    ///
    /// A ``PeriodEnd`` is about one period. A store that calls the purchase expired, on hold or paused speaks of all of
    /// them: none that was stated by then gives access beyond ``at``, neither of this lineage nor of those in ``covers``. A
    /// period that the store states later is not meant, and a later ``open`` takes the statement back.
    public struct Closure: Hashable, Sendable, Codable {
        /// From when on nothing of the purchase gives access; absent if it is open.
        @OptionalEventTime public var at: Date?
        /// Why; absent if it is open.
        public var reason: LifecycleEvent.Expired.Reason?
        /// Further lineages that end with it: purchases that it replaced, and a relay's names of it.
        public var covers: [SubscriptionID]
        /// True if it also ends the items of the purchase that have lineages of their own, whichever they are.
        public var coversItems: Bool

        /// The purchase is neither over nor withheld: its periods decide about access.
        public static let open = Closure(at: nil, reason: nil, covers: [], coversItems: false)

        /// Makes the fact that the purchase gives no access from a moment on.
        public init(
            at: Date,
            reason: LifecycleEvent.Expired.Reason,
            covering covers: [SubscriptionID] = [],
            coversItems: Bool = false
        ) {
            self.init(at: at as Date?, reason: reason, covers: covers, coversItems: coversItems)
        }

        private init(
            at: Date?,
            reason: LifecycleEvent.Expired.Reason?,
            covers: [SubscriptionID],
            coversItems: Bool
        ) {
            self.at = at
            self.reason = reason
            self.covers = covers
            self.coversItems = coversItems
        }

        private enum CodingKeys: String, CodingKey {
            case at, reason, covers
            case coversItems = "covers_items"
        }

        /// Reads the fact; an empty object says that the purchase is open.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            let at = try container.decode(OptionalEventTime.self, forKey: .at).wrappedValue
            self.init(
                at: at,
                reason: at == nil
                    ? nil
                    : try container.decodeIfPresent(LifecycleEvent.Expired.Reason.self, forKey: .reason) ?? .unknown,
                covers: at == nil ? [] : try container.decodeIfPresent([SubscriptionID].self, forKey: .covers) ?? [],
                coversItems: at == nil ? false : try container.decodeIfPresent(Bool.self, forKey: .coversItems) ?? false
            )
        }

        /// Writes the fact, without absent members.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(_at, forKey: .at)
            try container.encodeIfPresent(reason, forKey: .reason)
            if !covers.isEmpty { try container.encode(covers, forKey: .covers) }
            if coversItems { try container.encode(true, forKey: .coversItems) }
        }
    }
}
