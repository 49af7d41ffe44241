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

    /// The subscription that the webhook is about: of several, the one that counts now.
    func subscription(about event: RevenueCatEvent) throws(JSONError) -> RevenueCatSubscription? {
        switch form {
        case .v2:
            return try RevenueCatSubscription.list(body).items.current
        case .v1:
            guard let purchase = event.purchase, let customer = event.customerIDs.first else { return nil }
            let entries = try RevenueCatSubscription.subscriber(body, of: customer)
            return CustomerEntries(entries).subscription(of: purchase)
        }
    }
}

extension RevenueCatEvent {
    /// The purchase that it is about; nil if it names none.
    fileprivate var purchase: LineageQuestion? {
        let transactions = [originalTransactionID, transactionID].compactMap(\.self)
        guard let id = transactions.first else { return nil }
        let (store, environment) = (store?.canonical ?? .unknown, environment?.canonical ?? .unknown)
        var purchase = LineageQuestion(
            PurchaseStatement.lineage(id, in: store, environment),
            askedAt: timestamp ?? .distantPast
        )
        purchase.product = productID.map(ProductID.init)
        purchase.transactions = Set(transactions.map(TransactionID.init))
        return purchase
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
