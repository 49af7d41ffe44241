import LifecycleEvents
import WireJSON

/// The first page of a customer's features, the newest first.
private struct FeaturePage {
    let features: [String]
    /// True if there are more than are shown.
    let isPartial: Bool

    /// - Parameter holder: a summary, or its previous attributes, which do not say if there were more.
    init(_ holder: ObjectReader) throws(JSONError) {
        var features: [String] = []
        if let values = try holder.list("entitlements") {
            for value in values {
                if let name = try Self.name(of: value) { features.append(name) }
            }
        }
        self.features = features
        isPartial = try holder.hasMore("entitlements")
    }

    /// The host's name for a feature, else Stripe's name.
    static func name(of entitlement: JSONValue) throws(JSONError) -> String? {
        let reader = try ObjectReader(entitlement)
        if let name = try reader.optionalString("lookup_key") { return name }
        return try reader.reference("feature")
    }

    /// The features that certainly are in this list and not in the other.
    ///
    /// A page that shows only the first features may lose one at its end to a new one at its beginning, or gain one. So
    /// a feature that the other page lacks counts only if a feature that both pages show comes after it.
    func missing(in other: FeaturePage, isComplete: Bool) -> Set<String> {
        let others = Set(other.features)
        if isComplete { return Set(features).subtracting(others) }
        guard let last = features.lastIndex(where: others.contains) else { return [] }
        return Set(features[..<last]).subtracting(others)
    }
}

extension ListPages<String> {
    init(entitlementsIn answers: StripeNotification.Answers) {
        self.init("active_entitlements", in: answers) { (value) throws(JSONError) in try FeaturePage.name(of: value) }
    }
}

extension Mapping {
    /// The list of a customer's features, with its changes
    /// (https://docs.stripe.com/billing/entitlements).
    func entitlements(_ value: JSONValue) throws(JSONError) -> Outcome {
        let reader = try ObjectReader(value)
        let page = try FeaturePage(reader)
        let all = page.isPartial ? ListPages<String>(entitlementsIn: occasion.answers).all : page.features
        var facts = ["entitlements": Set(all ?? page.features).sorted().joined(separator: ",")]
        if let before = try notification?.before().map(FeaturePage.init) {
            // A list of this many may have gone on; Stripe shows as many.
            let wasComplete = before.features.count < 10
            let added = page.missing(in: before, isComplete: wasComplete)
            let removed =
                all.map { Set(before.features).subtracting($0) } ?? before.missing(in: page, isComplete: false)
            facts["added"] = added.sorted().joined(separator: ",")
            facts["removed"] = removed.sorted().joined(separator: ",")
        }
        if all == nil { facts["is_partial"] = "true" }
        let customer = try reader.customer()
        return .events([
            notice(.other, facts, about: EventSubject(account: account(customer: customer, metadata: nil)))
        ])
    }
}
