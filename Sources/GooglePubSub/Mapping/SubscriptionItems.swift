import FoundationEssentials
import LifecycleEvents

extension ResolutionMapping {
    func subscription(
        _ token: PurchaseToken,
        _ reason: PlayItem.Reason
    ) throws(DeliveryError) -> Normalization {
        guard let answer = lookups.answer(.subscription, token.value) else {
            return Normalization(noChange: .init(.needsLookup))
        }
        guard answer.outcome == .found else {
            return try unanswered(answer, token: token) { lineage in
                let event: LifecycleEvent
                switch reason {
                case .notification(.expired): event = .expired(.init(reason: .unknown))
                case .notification(.revoked): event = .revoked(.init(reason: .unknown))
                default: return []
                }
                let id = EventID.notified(lineage, by: .google, notification: "unverified/\(notificationKey)")
                let subject = EventSubject(facts: [closure(of: answer)])
                return [LineageDraft(lineage, drafts: [EventDraft(id: id, event: event)], subject: subject)]
            }
        }
        let items = try items(answer, token: token, reason)
        let lineages =
            items.map { item in
                lineage(item, drafts: SubscriptionMapping(item: item).drafts)
            } + replacedPurchases(environment: items.first?.environment ?? .unknown)
        return normalization(
            of: lineages,
            environment: items.first?.environment ?? .unknown,
            assertedAt: assertedAt(answer),
            anomalies: items.first?.purchase.anomalies ?? []
        )
    }

    /// The owned items of a purchase, the main one first; of a purchase without owned items its first.
    func items(
        _ answer: PlayAnswer,
        token: PurchaseToken,
        _ reason: PlayItem.Reason,
        voided row: VoidedPurchase? = nil
    ) throws(DeliveryError) -> [PlayItem] {
        let purchase = try decoded(answer.body, SubscriptionPurchase.init(payload:))
        let predecessors = lookups.predecessors
        let predecessor = predecessors.first { $0.answer.outcome == .found }
            .flatMap { try? SubscriptionPurchase(payload: $0.answer.body) }
        // As of the answer: a notification of long ago may find that the change it planned has taken effect.
        let time = assertedAt(answer)
        let owned = purchase.ownedItems(addOns)
        let chain = PurchaseChain(purchase, predecessors, at: time, addOns: addOns)
        func successors(_ item: SubscriptionPurchase.LineItem) -> [SubscriptionPurchase.LineItem] {
            item.successors(in: purchase, after: predecessor, at: time)
        }
        func isOutlived(_ item: SubscriptionPurchase.LineItem) -> Bool { !successors(item).isEmpty }
        // One lineage for each product, whatever base plans it is listed under: for what still runs of it.
        guard let names = ItemNames(of: purchase, addOns, after: predecessor, at: time) else {
            throw DeliveryError(.malformed, "purchase has no items", isAuthentic: isAuthentic)
        }
        switch purchase.state {
        case .active, .canceled, .inGracePeriod:
            // A subscription without an end would never stop granting access.
            guard !owned.isEmpty else {
                throw DeliveryError(
                    .malformed,
                    "purchase that gives access has no expiryTime",
                    isAuthentic: isAuthentic
                )
            }
        default: break
        }
        let first = names.item
        var products: Set<String> = [first.productID]
        let others = (owned.filter { !isOutlived($0) } + owned.filter(isOutlived))
            .filter { products.insert($0.productID).inserted }
        return ([first] + others).enumerated().map { index, item in
            let hasPurchaseName = index == 0 || successors(item).contains { $0.productID == first.productID }
            return PlayItem(
                purchase: purchase,
                item: item,
                isMain: index == 0,
                hasPurchaseName: hasPurchaseName,
                nameProduct: hasPurchaseName ? names.main : item.productID,
                formerNameProducts: index == 0
                    ? names.former(outlived: others.filter { successors($0).contains(item) }.map(\.productID)) : [],
                isOutlived: isOutlived(item),
                isSuccessor: owned.contains { successors($0).contains(item) },
                token: token,
                reason: reason,
                eventTime: eventTime,
                assertedAt: time,
                order: item.latestSuccessfulOrderID.flatMap(order),
                voided: row,
                predecessor: predecessor,
                ancestors: chain.items(before: item, hasPurchaseName: hasPurchaseName)
            )
        }
    }

    /// The ends of the replaced purchases, if they were asked for: a successor may be known before it. Their own notifications may be
    /// lost for good, so their paid time is stated, too.
    private func replacedPurchases(environment: StoreEnvironment) -> [LineageDraft] {
        lookups.predecessors.indices.flatMap { index -> [LineageDraft] in
            let lookup = lookups.predecessors[index]
            guard lookup.answer.outcome == .found,
                let purchase = try? SubscriptionPurchase(payload: lookup.answer.body),
                purchase.state == .expired, purchase.cancellation == .replacement,
                let end = purchase.lineItems.compactMap(\.expiryTime).max()
            else { return [] }
            let orders = purchase.lineItems.compactMap(\.orderID?.firstOrder)
            var names = Set(orders.filter(\.isPlayOrder).map(\.rawValue))
            if let linked = purchase.linkedPurchaseToken, !linked.value.isEmpty { names.insert(linked.fingerprint) }
            let token = PurchaseToken(lookup.key)
            let ofItems = Set(purchase.lineItems.map { LineageName(token.fingerprint).item($0.productID) })
            names.formUnion(ofItems)
            func named(_ id: String) -> SubscriptionID {
                SubscriptionID(store: .playStore, environment: environment, id: id)
            }
            let closure = Fact.Closure(
                at: min(end, assertedAt(lookup.answer)),
                reason: .replaced,
                covering: names.sorted().map(named)
            )
            let itemNames = ItemNames(of: purchase, addOns, at: assertedAt(lookup.answer))
            let ends = (itemNames?.main == nil ? [token.fingerprint] : ofItems.sorted()).map {
                LineageDraft(named($0), subject: EventSubject(facts: [.closure(closure)]))
            }
            let items = (try? asked(from: index).items(lookup.answer, token: token, .question)) ?? []
            return ends + items.map { LineageDraft($0.lineage, subject: EventSubject(facts: $0.replacedTime)) }
        }
    }

    func lineage(_ item: PlayItem, drafts: [EventDraft]) -> LineageDraft {
        LineageDraft(
            item.lineage,
            drafts: drafts,
            subject: EventSubject(
                transaction: item.transaction,
                account: item.account,
                product: item.product,
                period: item.knownPeriod,
                price: item.price,
                country: item.purchase.regionCode,
                renewal: item.terms,
                facts: item.facts
            )
        )
    }
}
