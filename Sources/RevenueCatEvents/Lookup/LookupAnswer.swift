import FoundationEssentials
import LifecycleEvents
import WireJSON

/// An answer of RevenueCat's about a webhook, as it came.
struct LookupAnswer: Sendable, Hashable {
    /// Which version of the API it is from.
    enum Form: String, Sendable, Hashable, Codable {
        case v1, v2
    }

    var form: Form
    var body: [UInt8]

    /// The subscription that the webhook is about: of several, the one whose period began last.
    func subscription(about event: RevenueCatEvent) throws(JSONError) -> RevenueCatSubscription? {
        let subscriptions: [RevenueCatSubscription]
        switch form {
        case .v2:
            subscriptions = try RevenueCatSubscription.list(body).items
        case .v1:
            let store = event.store?.canonical
            let product = event.productID.map { PurchaseStatement.product($0, store ?? .unknown).id }
            subscriptions = try RevenueCatSubscription.subscriber(body).filter {
                $0.product?.id == product && $0.store == store
            }
        }
        return subscriptions.max {
            ($0.period?.start ?? .distantPast) < ($1.period?.start ?? .distantPast)
        }
    }
}

extension LookupAnswer: Codable {
    private enum CodingKeys: String, CodingKey { case form, body }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        form = try container.decode(Form.self, forKey: .form)
        body = Array(try container.decode(Data.self, forKey: .body))
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(form, forKey: .form)
        try container.encode(Data(body), forKey: .body)
    }
}
