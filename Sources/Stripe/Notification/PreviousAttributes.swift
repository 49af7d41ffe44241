import WireJSON

/// The attributes of a subscription before an update: only the changed ones, arrays whole.
///
/// It is read once, since the step of the subscription and its changes both follow from it: to read it for each would
/// take a twentieth more of a webhook's instructions.
struct PreviousAttributes {
    let fields: ObjectReader
    /// The items before, if the update says anything of items.
    let items: [SubscriptionObject.Item]?

    init(
        _ attributes: JSONValue,
        _ now: [SubscriptionObject.Item],
        addOns: Set<String>
    ) throws(JSONError) {
        fields = try ObjectReader(attributes)
        items = try Self.items(in: fields, now, addOns: addOns)
    }

    private static func items(
        in fields: ObjectReader,
        _ now: [SubscriptionObject.Item],
        addOns: Set<String>
    ) throws(JSONError) -> [SubscriptionObject.Item]? {
        if fields.optionalValue(.items) != nil {
            return try SubscriptionObject.items(in: fields, twins: now, addOns: addOns)
        }
        // With one item only, its plan and quantity are repeated at the top. Test events from the Dashboard hold parts
        // of a plan, which say nothing.
        guard now.count == 1, let item = now.first else { return nil }
        func before(_ price: PriceObject, _ quantity: Int64?) -> [SubscriptionObject.Item] {
            [
                SubscriptionObject.Item(
                    price: price,
                    quantity: quantity,
                    isAddOn: item.isAddOn,
                    start: item.start,
                    end: item.end
                )
            ]
        }
        if let plan = fields.optionalValue(.plan) {
            guard let price = try? PriceObject(plan) else { return nil }
            let quantity = fields.has(.quantity) ? try fields.optionalCount(.quantity) : item.quantity
            return before(price, quantity)
        }
        guard let quantity = try fields.optionalCount(.quantity) else { return nil }
        return before(item.price, quantity)
    }
}

extension StripeNotification {
    /// The members of its object before an update; nil if it shows none.
    func before() throws(JSONError) -> ObjectReader? {
        try previous.map { (value) throws(JSONError) in try ObjectReader(value) }
    }

    /// The attributes of a subscription before its update; nil for all other notifications.
    ///
    /// - Parameter now: the subscription since then.
    func previous(
        of now: SubscriptionObject,
        _ policy: StripeAdapter.Policy
    ) throws(JSONError) -> PreviousAttributes? {
        guard canonicalType == "customer.subscription.updated", let previous else { return nil }
        return try PreviousAttributes(previous, now.items, addOns: policy.addOnProducts)
    }
}
