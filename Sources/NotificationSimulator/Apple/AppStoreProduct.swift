/// A product of the stories' app, as the App Store sells it.
package struct AppStoreProduct: Sendable, Hashable {
    /// `productId`
    package let id: String
    /// `type`
    let type: String
    /// The regular price, in thousandths of a US dollar.
    var price: Int64
    /// How long a period of a subscription lasts; nil for a one-time product.
    let period: CustomerStory.Plan.Period?

    package init(_ plan: CustomerStory.Plan) {
        id = "com.example.app.\(plan.product).\(plan.rhythm)"
        type = "Auto-Renewable Subscription"
        price = plan.price
        period = plan.period
    }

    init(_ item: CustomerStory.Item) {
        self.init(oneTime: item.rawValue, type: item == .coins ? "Consumable" : "Non-Consumable", price: item.price)
    }

    /// A season, which the developer keeps time of.
    static let season = AppStoreProduct(oneTime: "season", type: "Non-Renewing Subscription", price: 19_990)

    private init(oneTime name: String, type: String, price: Int64) {
        id = "com.example.app.\(name)"
        self.type = type
        self.price = price
        period = nil
    }
}
