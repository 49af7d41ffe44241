import WireJSON

/// The members that are read of every event and of its items.
enum EventField: Int, CaseIterable {
    case type
    case id
    case appID
    case environment
    case purchaseEnvironment
    case store
    case eventTimestamp
    case appUserID
    case originalAppUserID
    case aliases
    case productID
    case newProductID
    case entitlementIDs
    case periodType
    case purchasedAt
    case expirationAt
    case gracePeriodExpirationAt
    case autoResumeAt
    case transactionID
    case originalTransactionID
    case isFamilyShare
    case isTrialConversion
    case cancelReason
    case expirationReason
    case offerCode
    case countryCode
    case price
    case priceInPurchasedCurrency
    case currency
    case quantity
    case renewalNumber
    case transferredFrom
    case transferredTo
    case redeemedFrom
    case redeemedBy
    case items
    case adjustments
    case paywallID
    case sessionID

    var name: MemberName {
        switch self {
        case .type: "type"
        case .id: "id"
        case .appID: "app_id"
        case .environment: "environment"
        case .purchaseEnvironment: "purchase_environment"
        case .store: "store"
        case .eventTimestamp: "event_timestamp_ms"
        case .appUserID: "app_user_id"
        case .originalAppUserID: "original_app_user_id"
        case .aliases: "aliases"
        case .productID: "product_id"
        case .newProductID: "new_product_id"
        case .entitlementIDs: "entitlement_ids"
        case .periodType: "period_type"
        case .purchasedAt: "purchased_at_ms"
        case .expirationAt: "expiration_at_ms"
        case .gracePeriodExpirationAt: "grace_period_expiration_at_ms"
        case .autoResumeAt: "auto_resume_at_ms"
        case .transactionID: "transaction_id"
        case .originalTransactionID: "original_transaction_id"
        case .isFamilyShare: "is_family_share"
        case .isTrialConversion: "is_trial_conversion"
        case .cancelReason: "cancel_reason"
        case .expirationReason: "expiration_reason"
        case .offerCode: "offer_code"
        case .countryCode: "country_code"
        case .price: "price"
        case .priceInPurchasedCurrency: "price_in_purchased_currency"
        case .currency: "currency"
        case .quantity: "quantity"
        case .renewalNumber: "renewal_number"
        case .transferredFrom: "transferred_from"
        case .transferredTo: "transferred_to"
        case .redeemedFrom: "redeemed_from"
        case .redeemedBy: "redeemed_by"
        case .items: "items"
        case .adjustments: "adjustments"
        case .paywallID: "paywall_id"
        case .sessionID: "session_id"
        }
    }

    static let table = MemberTable(allCases.map(\.name))
}

/// The fields of one event or item, found all at once.
struct EventFields: FieldSource {
    var reader: ObjectReader
    private let found: FoundMembers

    init(_ reader: ObjectReader) {
        self.reader = reader
        found = FoundMembers(EventField.table, in: reader.object)
    }

    func optionalString(_ field: EventField) throws(JSONError) -> String? { try found.optionalString(field.rawValue) }
    func optionalInt64(_ field: EventField) throws(JSONError) -> Int64? { try found.optionalInt64(field.rawValue) }
    func optionalDecimal(_ field: EventField) throws(JSONError) -> JSONDecimal? {
        try found.optionalDecimal(field.rawValue)
    }
    func optionalBool(_ field: EventField) throws(JSONError) -> Bool? { try found.optionalBool(field.rawValue) }
    func optionalValue(_ field: EventField) -> JSONValue? { found.optionalValue(field.rawValue) }
}
