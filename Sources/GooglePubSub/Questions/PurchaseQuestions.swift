import FoundationEssentials
public import LifecycleEvents

extension GooglePlayAdapter: LineageQuestions {
    /// A quarter of the 3000 questions a minute that an app may ask.
    public var pace: Duration { .milliseconds(80) }

    /// Asks about the purchase token that the question's handle holds; without one, Google cannot be asked.
    ///
    /// - Throws: `DeliveryError` as `receive(purchaseToken:of:packageName:receivedAt:)`.
    public func ask(_ question: LineageQuestion) async throws(DeliveryError) -> LineageAnswer {
        guard let handle = question.handle, let kind = GooglePurchase.Kind(rawValue: handle.kind),
            configuration.packageNames.contains(handle.app)
        else { return .unknown }
        let result = try await receive(
            purchaseToken: PurchaseToken(handle.token),
            of: kind,
            packageName: handle.app,
            receivedAt: question.askedAt
        )
        return result.noChange?.reason == .purchaseGone && result.statements.allSatisfy(\.facts.isEmpty)
            ? .unknown : .stated([result])
    }
}

extension ResolutionMapping {
    /// How Google Play has to be asked about the lineages of a result again: all that share the token that was asked about.
    func handles(for result: Normalization) -> [PurchaseHandle] {
        guard let first = lookups.first(where: { $0.resource == .subscription || $0.resource == .product }) else {
            return []
        }
        let token = PurchaseToken(first.key)
        let kind: GooglePurchase.Kind = first.resource == .subscription ? .subscription : .product
        let name = token.fingerprint
        return result.lineages.filter { $0.id == name || $0.id.hasPrefix(LineageName(name).item("")) }
            .map { PurchaseHandle($0, app: packageName, kind: kind.rawValue, token: token.value) }
    }
}
