/// The life of one customer, as data: a list of steps, each an act and the time that it takes place.
///
/// A story's acts are those of all providers. Each simulator plays them in its provider's notifications, or refuses with
/// ``SimulatorError/Reason/notOffered(by:)`` if its provider has no such act. An act that one provider alone has is a
/// ``ProviderAct``, and its simulator brings it. Times are virtual: they follow from the
/// start of the story, and no clock is read.
public struct CustomerStory: Sendable, Hashable {
    /// A stable name, such as `trial-converts`.
    public let id: String
    /// One sentence about it.
    public let title: String
    /// The steps, in order.
    public let steps: [Step]

    /// Writes a story.
    public init(_ id: String, _ title: String, steps: [Step]) {
        self.id = id
        self.title = title
        self.steps = steps
    }

    /// An act of the customer, the developer or the provider.
    @nonexhaustive
    public enum Act: Sendable, Hashable {
        /// The customer subscribes, for the first time or again.
        case subscribe(Plan, offer: Offer? = nil)
        /// The customer subscribes and has still to pay.
        case subscribePending(Plan)
        /// The outstanding payment of a pending purchase arrives.
        case completePayment
        /// The outstanding payment of a pending purchase never arrives.
        case abandonPayment
        /// The provider charges for the next period at the end of this one.
        case renew
        /// The provider charges for the next period some hours ahead.
        case renewEarly
        /// The provider charges for the next period although the customer has just canceled: the charge was under way.
        case renewAfterCancel
        /// A charge for the renewal fails. With a grace period, access continues for that long.
        case failCharge(grace: Duration?)
        /// The grace period ends without payment, and access with it; the provider continues to try.
        case endGrace
        /// The outstanding charge succeeds.
        case recover
        /// The customer turns renewal off.
        case cancel
        /// The customer turns renewal on again.
        case uncancel
        /// The customer turns renewal off while instalments of a commitment remain to be paid.
        case cancelCommitment
        /// Access ends.
        case expire(Ending)
        /// The customer changes to a higher level, at once.
        case upgrade(Plan)
        /// The customer changes to the same level in another rhythm.
        case crossgrade(Plan)
        /// The customer chooses a lower level from the next period on.
        case downgrade(Plan)
        /// The customer thinks better of it.
        case withdrawDowngrade
        /// The customer plans a pause from the end of the period on, for so long.
        case schedulePause(Duration)
        /// The pause begins.
        case pause
        /// The pause ends, and the next period is charged.
        case resume
        /// The developer moves the renewal date by so many days.
        case extend(days: Int64)
        /// The developer raises the price of the next period, in thousandths of the currency's unit.
        case raisePrice(to: Int64, needsConsent: Bool)
        /// The customer agrees to the new price.
        case acceptPrice
        /// The customer buys something that does not renew.
        case buy(Item, quantity: Int64 = 1)
        /// The customer adds a period to one that was paid in advance.
        case topUp
        /// The customer asks for a refund of the latest purchase.
        case requestRefund
        /// Money goes back.
        case refund(Purchase, Share = .full)
        /// A refund that was asked for is declined.
        case declineRefund
        /// The last refund is undone.
        case reverseRefund
        /// The customer's bank takes the latest charge back.
        case disputeCharge
        /// The bank decides for the developer.
        case winDispute
        /// The bank decides for the customer.
        case loseDispute
        /// A family member begins to share the current purchase.
        case shareWithFamily
        /// The family member loses it.
        case stopSharing
        /// The purchase moves to another account of the app.
        case transfer
        /// The developer asks for a test notification.
        case test
        /// An act that one provider alone has.
        case own(OwnAct)
    }

    /// A subscription on sale. Every provider sells the same, under names of its own.
    public struct Plan: Sendable, Hashable {
        /// How long a period lasts.
        @nonexhaustive
        public enum Period: Sendable, Hashable {
            /// So many days.
            case days(Int64)
            /// So many calendar months.
            case months(Int64)
        }

        /// The billing of the plan.
        @nonexhaustive
        public enum Billing: Sendable, Hashable {
            /// Charged at the end of each period.
            case renewing
            /// Paid in advance, and over unless it is topped up.
            case prepaid
            /// Charged monthly with a commitment for longer.
            case instalments
        }

        /// The product, such as `pro`.
        public var product: String
        /// In which rhythm, such as `monthly`.
        public var rhythm: String
        /// The regular price, in thousandths of a US dollar.
        public var price: Int64
        /// How long a period lasts.
        public var period: Period
        /// The billing of the plan.
        public var billing: Billing

        /// Describes a subscription.
        public init(_ product: String, _ rhythm: String, price: Int64, period: Period, billing: Billing = .renewing) {
            self.product = product
            self.rhythm = rhythm
            self.price = price
            self.period = period
            self.billing = billing
        }

        /// 4.99 a month.
        public static let basicMonthly = Plan("basic", "monthly", price: 4990, period: .months(1))
        /// 9.99 a month, of a higher level.
        public static let proMonthly = Plan("pro", "monthly", price: 9990, period: .months(1))
        /// 99.99 a year, of the higher level.
        public static let proYearly = Plan("pro", "yearly", price: 99_990, period: .months(12))
        /// 5.49 for thirty days, paid in advance.
        public static let basicPrepaid = Plan(
            "basic",
            "prepaid",
            price: 5490,
            period: .days(30),
            billing: .prepaid
        )
        /// 7.99 a month, for a year at least.
        public static let proInstalments = Plan(
            "pro",
            "instalments",
            price: 7990,
            period: .months(1),
            billing: .instalments
        )

        /// All of these.
        package static let all = [basicMonthly, basicPrepaid, proMonthly, proYearly, proInstalments]
    }

    /// A price below the regular one for the first period.
    @nonexhaustive
    public enum Offer: Sendable, Hashable {
        /// A week for nothing.
        case freeWeek
        /// A first month for 1.99.
        case cheapMonth
    }

    /// Something on sale that does not renew.
    @nonexhaustive
    public enum Item: String, Sendable, Hashable, CaseIterable {
        /// A hundred coins to be used up, for 1.99.
        case coins
        /// Something to keep, for 49.99.
        case lifetime
    }

    /// Why access ends.
    @nonexhaustive
    public enum Ending: Sendable, Hashable {
        /// The customer had turned renewal off.
        case customer
        /// No charge succeeded.
        case billing
        /// The customer did not agree to a price.
        case priceDeclined
        /// The time that was paid in advance is used up.
        case ranOut
    }

    /// Which purchase a refund is of.
    @nonexhaustive
    public enum Purchase: Sendable, Hashable {
        /// The latest.
        case latest
        /// The one before it.
        case previous
    }

    /// How much goes back.
    @nonexhaustive
    public enum Share: Sendable, Hashable {
        /// Everything.
        case full
        /// Half of the money.
        case half
    }
}

extension CustomerStory.Item {
    /// The price in thousandths of a US dollar.
    package var price: Int64 {
        switch self {
        case .coins: 1990
        case .lifetime: 49_990
        }
    }
}

extension CustomerStory.Offer {
    /// The price of the first period, in thousandths of a US dollar.
    package var price: Int64 {
        switch self {
        case .freeWeek: 0
        case .cheapMonth: 1990
        }
    }

    /// How long it lasts.
    package var period: CustomerStory.Plan.Period {
        switch self {
        case .freeWeek: .days(7)
        case .cheapMonth: .months(1)
        }
    }
}
