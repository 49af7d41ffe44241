import WireJSON

/// The members that are read of a subscription and of its previous attributes.
enum SubscriptionField: Int, CaseIterable {
    case id
    case status
    case customer
    case customerAccount
    case items
    case plan
    case quantity
    case currentPeriodStart
    case currentPeriodEnd
    case startDate
    case cancelAtPeriodEnd
    case cancelAt
    case canceledAt
    case endedAt
    case cancellationDetails
    case trialStart
    case trialEnd
    case trialSettings
    case collectionMethod
    case latestInvoice
    case schedule
    case pauseCollection
    case statusDetails
    case pendingUpdate
    case billingSchedules
    case discount
    case discounts
    case testClock
    case metadata

    var name: MemberName {
        switch self {
        case .id: "id"
        case .status: "status"
        case .customer: "customer"
        case .customerAccount: "customer_account"
        case .items: "items"
        case .plan: "plan"
        case .quantity: "quantity"
        case .currentPeriodStart: "current_period_start"
        case .currentPeriodEnd: "current_period_end"
        case .startDate: "start_date"
        case .cancelAtPeriodEnd: "cancel_at_period_end"
        case .cancelAt: "cancel_at"
        case .canceledAt: "canceled_at"
        case .endedAt: "ended_at"
        case .cancellationDetails: "cancellation_details"
        case .trialStart: "trial_start"
        case .trialEnd: "trial_end"
        case .trialSettings: "trial_settings"
        case .collectionMethod: "collection_method"
        case .latestInvoice: "latest_invoice"
        case .schedule: "schedule"
        case .pauseCollection: "pause_collection"
        case .statusDetails: "status_details"
        case .pendingUpdate: "pending_update"
        case .billingSchedules: "billing_schedules"
        case .discount: "discount"
        case .discounts: "discounts"
        case .testClock: "test_clock"
        case .metadata: "metadata"
        }
    }

    static let table = MemberTable(allCases.map(\.name))
}

/// The fields of one subscription, found all at once.
struct SubscriptionFields: MemberSource {
    private let found: FoundMembers

    init(_ value: JSONValue) throws(JSONError) {
        found = FoundMembers(SubscriptionField.table, in: try value.object())
    }

    /// True if the field is present, even as null.
    func has(_ field: SubscriptionField) -> Bool { found.contains(field.rawValue) }

    func optionalString(_ field: SubscriptionField) throws(JSONError) -> String? {
        try found.optionalString(field.rawValue)
    }
    func optionalInt64(_ field: SubscriptionField) throws(JSONError) -> Int64? {
        try found.optionalInt64(field.rawValue)
    }
    func optionalBool(_ field: SubscriptionField) throws(JSONError) -> Bool? { try found.optionalBool(field.rawValue) }
    func optionalValue(_ field: SubscriptionField) -> JSONValue? { found.optionalValue(field.rawValue) }

    /// A field that has to be there and a string.
    func string(_ field: SubscriptionField) throws(JSONError) -> String {
        if let string = try optionalString(field) { return string }
        return try found.object.required(field.name).string()
    }
}
