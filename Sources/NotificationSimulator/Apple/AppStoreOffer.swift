/// A price of the App Store below the regular one.
public struct AppStoreOffer: Sendable, Hashable {
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
    public var period: CustomerStory.Plan.Period?

    /// Describes an offer.
    public init(
        type: Int64,
        identifier: String? = nil,
        discountType: String?,
        offerPeriod: String?,
        price: Int64,
        period: CustomerStory.Plan.Period? = nil
    ) {
        self.type = type
        self.identifier = identifier
        self.discountType = discountType
        self.offerPeriod = offerPeriod
        self.price = price
        self.period = period
    }

    /// A week for nothing.
    public static let freeWeek = AppStoreOffer(
        type: 1,
        discountType: "FREE_TRIAL",
        offerPeriod: "P1W",
        price: 0,
        period: .days(7)
    )
    /// A month for 1.99.
    public static let cheapMonth = AppStoreOffer(
        type: 1,
        discountType: "PAY_AS_YOU_GO",
        offerPeriod: "P1M",
        price: 1990
    )
    /// A month for 2.99, with a code.
    public static let code = AppStoreOffer(
        type: 3,
        identifier: "autumn-code",
        discountType: "PAY_AS_YOU_GO",
        offerPeriod: "P1M",
        price: 2990
    )
    /// A month for 3.99, from the developer.
    public static let promotional = AppStoreOffer(
        type: 2,
        identifier: "loyal-month",
        discountType: "PAY_AS_YOU_GO",
        offerPeriod: "P1M",
        price: 3990
    )
    /// A month for 0.99, for those who left.
    public static let winBack = AppStoreOffer(
        type: 4,
        identifier: "come-back",
        discountType: "PAY_AS_YOU_GO",
        offerPeriod: "P1M",
        price: 990
    )
}

extension AppStoreOffer {
    init(_ offer: CustomerStory.Offer) {
        switch offer {
        case .freeWeek: self = .freeWeek
        case .cheapMonth: self = .cheapMonth
        }
    }
}
