public import FoundationEssentials

/// The life of one customer of the App Store, as data: a list of steps, each an act and the time that it takes place.
public struct AppleStory: Sendable, Hashable {
    /// A stable name, such as `trial-conversion`.
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

    /// An act, and when it happens.
    public typealias Step = StoryStep<Act>

    /// An act of the customer, the developer or the App Store. Each act gives one notification.
    @nonexhaustive
    public enum Act: Sendable, Hashable {
        /// The customer subscribes, for the first time or again.
        case subscribe(Product, offer: Offer? = nil)
        /// The App Store renews.
        case renew
        /// A charge for the renewal fails; with a grace period where one is given.
        case failToRenew(grace: Duration?)
        /// The grace period ends without payment.
        case endGrace
        /// An outstanding charge succeeds.
        case recover
        /// Access ends.
        case expire(Ending)
        /// The customer turns renewal off.
        case turnRenewalOff
        /// The customer turns renewal on.
        case turnRenewalOn
        /// The customer changes to a product that begins now.
        case upgrade(Product)
        /// The customer chooses a product that begins with the next period.
        case downgrade(Product)
        /// The customer goes back to the current product.
        case withdrawDowngrade
        /// The customer redeems an offer that begins with the next period.
        case redeem(Offer)
        /// The developer raises the price, in thousandths of the currency's unit.
        case raisePrice(to: Int64, needsConsent: Bool)
        /// The customer agrees to the new price.
        case acceptPrice
        /// The developer changes the price through the Advanced Commerce API.
        case changePrice(to: Int64)
        /// The developer changes names or descriptions through the Advanced Commerce API.
        case updateMetadata
        /// The developer moves the subscription to the Advanced Commerce API.
        case migrate
        /// The customer buys something that does not renew.
        case buy(Product, quantity: Int64 = 1)
        /// The customer asks for a refund of the latest transaction, for a reason of Apple's list.
        case requestRefund(reason: String)
        /// Apple refunds a transaction; in part where a percentage is given, in thousandths of a percent.
        case refund(Purchase, percentage: Int64? = nil)
        /// Apple declines the refund of the latest transaction.
        case declineRefund
        /// Apple undoes the last refund.
        case reverseRefund
        /// A family member begins to share the current purchase.
        case shareWithFamily
        /// The family member loses it.
        case stopSharing
        /// The developer moves the renewal date by so many days.
        case extend(days: Int64)
        /// A mass extension does not succeed for this subscription.
        case failToExtend
        /// A mass extension comes to its end.
        case finishMassExtension(succeeded: Int64, failed: Int64)
        /// Apple speaks of a token for purchases outside the App Store.
        case externalPurchaseToken(TokenStage)
        /// A parent withdraws consent.
        case rescindConsent
        /// The developer asks for a test notification.
        case test
    }

    /// A product of the story's app.
    public struct Product: Sendable, Hashable {
        /// How long a period lasts.
        public typealias Period = CustomerStory.Plan.Period

        /// `productId`
        public var id: String
        /// `type`
        public var type: String
        /// The regular price, in thousandths of a US dollar.
        public var price: Int64
        /// How long a period of a subscription lasts; nil for a one-time product.
        public var period: Period?

        /// Describes a product.
        public init(id: String, type: String, price: Int64, period: Period? = nil) {
            self.id = id
            self.type = type
            self.price = price
            self.period = period
        }

        /// A subscription of 4.99 a month.
        public static let basicMonthly = subscription("com.example.app.basic.monthly", price: 4990, every: .months(1))
        /// A subscription of 9.99 a month, of a higher level.
        public static let proMonthly = subscription("com.example.app.pro.monthly", price: 9990, every: .months(1))
        /// A subscription of 99.99 a year, of the higher level.
        public static let proYearly = subscription("com.example.app.pro.yearly", price: 99_990, every: .months(12))
        /// Coins to be used up, for 1.99.
        public static let coins = Product(id: "com.example.app.coins", type: "Consumable", price: 1990)
        /// Something to keep, for 49.99.
        public static let lifetime = Product(id: "com.example.app.lifetime", type: "Non-Consumable", price: 49_990)
        /// A season for 19.99, which the developer keeps time of.
        public static let season = Product(
            id: "com.example.app.season",
            type: "Non-Renewing Subscription",
            price: 19_990
        )

        private static func subscription(_ id: String, price: Int64, every period: Period) -> Product {
            Product(id: id, type: "Auto-Renewable Subscription", price: price, period: period)
        }
    }

    /// A price below the regular one.
    public struct Offer: Sendable, Hashable {
        /// `offerType`
        public var type: Int64
        /// `offerIdentifier`
        public var identifier: String?
        /// `offerDiscountType`
        public var discountType: String?
        /// `offerPeriod`
        public var offerPeriod: String?
        /// The price of a period under the offer, in thousandths of a US dollar.
        public var price: Int64
        /// How long a period lasts under the offer; nil for as long as without it.
        public var period: Product.Period?

        /// Describes an offer.
        public init(
            type: Int64,
            identifier: String? = nil,
            discountType: String?,
            offerPeriod: String?,
            price: Int64,
            period: Product.Period? = nil
        ) {
            self.type = type
            self.identifier = identifier
            self.discountType = discountType
            self.offerPeriod = offerPeriod
            self.price = price
            self.period = period
        }

        /// A week for nothing.
        public static let freeWeek = Offer(
            type: 1,
            discountType: "FREE_TRIAL",
            offerPeriod: "P1W",
            price: 0,
            period: .days(7)
        )
        /// A month for 1.99.
        public static let cheapMonth = Offer(
            type: 1,
            discountType: "PAY_AS_YOU_GO",
            offerPeriod: "P1M",
            price: 1990
        )
        /// A month for 2.99, with a code.
        public static let code = Offer(
            type: 3,
            identifier: "autumn-code",
            discountType: "PAY_AS_YOU_GO",
            offerPeriod: "P1M",
            price: 2990
        )
        /// A month for 3.99, from the developer.
        public static let promotional = Offer(
            type: 2,
            identifier: "loyal-month",
            discountType: "PAY_AS_YOU_GO",
            offerPeriod: "P1M",
            price: 3990
        )
        /// A month for 0.99, for those who left.
        public static let winBack = Offer(
            type: 4,
            identifier: "come-back",
            discountType: "PAY_AS_YOU_GO",
            offerPeriod: "P1M",
            price: 990
        )
    }

    /// Why access ends.
    @nonexhaustive
    public enum Ending: String, Sendable, Hashable {
        /// The customer had turned renewal off.
        case voluntary = "VOLUNTARY"
        /// No charge succeeded.
        case billingRetry = "BILLING_RETRY"
        /// The customer did not agree to a price.
        case priceIncrease = "PRICE_INCREASE"
        /// The product was not for sale.
        case productNotForSale = "PRODUCT_NOT_FOR_SALE"
        /// Apple gives no reason.
        case other = ""
    }

    /// Which transaction an act is about.
    @nonexhaustive
    public enum Purchase: Sendable, Hashable {
        /// The latest.
        case latest
        /// The one before it.
        case previous
    }

    /// The occasion of a notification about an external purchase token.
    @nonexhaustive
    public enum TokenStage: String, Sendable, Hashable {
        /// It was made.
        case created = "CREATED"
        /// It still lives.
        case activeTokenReminder = "ACTIVE_TOKEN_REMINDER"
        /// It was not reported.
        case unreported = "UNREPORTED"
    }
}

extension AppleStory {
    /// The App Store's notifications, each with the time of its signing.
    ///
    /// - Throws: ``SimulatorError`` for an act that makes no sense where it stands, such as a renewal of nothing.
    public func notifications(from start: Date) throws(SimulatorError) -> [AppleSimulator.Notification] {
        var teller = AppleStoryteller(story: id, start: start)
        var notifications: [AppleSimulator.Notification] = []
        for step in steps { notifications.append(try teller.tell(step)) }
        return notifications
    }
}
