import FoundationEssentials
import LifecycleEvents
import WireJSON

extension Mapping {
    /// A session that was completed, or whose delayed payment came in.
    func checkout(_ session: CheckoutSessionObject) -> Outcome { checkout(session, at: created) }

    /// - Parameters:
    ///   - amount: what was taken for it; nil if that is its total.
    ///   - time: when it was paid for.
    func checkout(_ session: CheckoutSessionObject, for amount: Int64? = nil, at time: Milliseconds) -> Outcome {
        let session = completed(session)
        switch session.mode {
        case "payment":
            guard session.paymentStatus == "paid" || session.paymentStatus == "no_payment_required" else {
                return .events([pending(session, isCanceled: false)])
            }
            return sold(session, for: amount ?? session.amountTotal, at: time)
        case "subscription":
            // The subscription and its invoice report the purchase. Only the session has the host's reference.
            let account = account(session)
            return .events([
                notice(
                    .accountsLinked,
                    ["checkout_session": session.id],
                    about: EventSubject(
                        lineage: session.subscription.map { lineage($0) },
                        account: account,
                        country: session.country,
                        facts: account.map { [.owner($0)] } ?? []
                    )
                )
            ])
        default:
            return .none(.unchanged)
        }
    }

    /// The purchases of a session that is paid for.
    private func sold(_ session: CheckoutSessionObject, for amount: Int64?, at time: Milliseconds) -> Outcome {
        let isFree = session.paymentStatus == "no_payment_required"
        if policy.sellsByInvoice, session.invoice == nil, session.makesInvoice, !isFree {
            // The invoice will report it, under a name that is still unknown.
            return .none(.reportedElsewhere)
        }
        let price = amount.flatMap { amount in
            session.currency.map { Price(Money(minorUnits: amount, $0), .charged) }
        }
        return .events(
            purchases(
                sale(of: session),
                of: session.items,
                orElse: session.product,
                price: price,
                at: time,
                about: EventSubject(account: account(session), country: session.country)
            )
        )
    }

    /// Money that a payment only held until now. A session that sold something for it was complete and `unpaid`, and nothing else says
    /// that it is paid for (https://docs.stripe.com/payments/place-a-hold-on-a-payment-method).
    func chargeCaptured(_ charge: ChargeObject, _ payment: Payment) throws(JSONError) -> Outcome {
        guard let session = try session(of: payment.paymentIntent) else { return chargeNames(payment) }
        return sold(session, for: taken(charge.amountCaptured, in: charge.currency, for: session), at: created)
    }

    /// The amount that was taken for a session: less than its total, if less was taken than was held.
    func taken(_ amount: Int64?, in currency: String?, for session: CheckoutSessionObject) -> Int64? {
        currency == session.currency ? amount ?? session.amountTotal : session.amountTotal
    }

    /// The session that sold something for a payment, if it was asked for.
    private func session(of intent: String?) throws(JSONError) -> CheckoutSessionObject? {
        guard let intent, let value = occasion.answers[LookupRequest.sessions]?.firstElement else { return nil }
        let session = completed(try CheckoutSessionObject(value, addOns: policy.addOnProducts))
        return session.mode == "payment" && session.paymentIntent == intent ? session : nil
    }

    /// A payment that was given up: by the merchant, or since what was held was not taken in time. A session that is not complete
    /// waited for nothing.
    func paymentCanceled(_ value: JSONValue) throws(JSONError) -> Outcome {
        guard let session = try session(of: try ObjectReader(value).string("id")), session.status == "complete" else {
            return .none(.reportedElsewhere)
        }
        return .events([pending(session, isCanceled: true)])
    }

    /// A delayed payment that did not come.
    func checkoutFailed(_ session: CheckoutSessionObject) -> Outcome {
        let session = completed(session)
        guard session.mode == "payment" else { return .none(.reportedElsewhere) }
        return .events([pending(session, isCanceled: true)])
    }

    func account(_ session: CheckoutSessionObject) -> Account? {
        account(
            customer: session.customer,
            clientReference: session.clientReference,
            metadata: session.metadata
        )
    }

    /// The session with its line items and its invoice, if they were asked for.
    private func completed(_ session: CheckoutSessionObject) -> CheckoutSessionObject {
        var session = session
        if session.items.isEmpty, let document = occasion.answers[LookupRequest.session]?.document,
            let fetched = try? CheckoutSessionObject(document.root, addOns: policy.addOnProducts)
        {
            session = session.completed(with: fetched)
        }
        guard session.hasMoreItems,
            let items = ListPages(lineItemsIn: occasion.answers, addOns: policy.addOnProducts).all
        else { return session }
        return session.completed(with: items)
    }

    /// The names of a sale: its lineage and its transaction.
    struct Sale {
        let lineage: SubscriptionID
        let transaction: TransactionID
        /// Other names under which refunds and disputes of it may come.
        var names: [String] = []
    }

    /// A sale by invoice. Since basil an invoice names no payment, so the invoice's own name is the one that all
    /// objects share.
    func sale(byInvoice id: String, paidAs names: [String?]) -> Sale {
        Sale(lineage: lineage(id), transaction: TransactionID(id), names: names.compactMap(\.self))
    }

    private func sale(of session: CheckoutSessionObject) -> Sale {
        if policy.sellsByInvoice, let invoice = session.invoice {
            return sale(byInvoice: invoice, paidAs: [session.paymentIntent])
        }
        let id = session.paymentIntent ?? session.id
        return Sale(lineage: lineage(id), transaction: TransactionID(id))
    }

    private func pending(_ session: CheckoutSessionObject, isCanceled: Bool) -> Draft {
        let lineage = lineage(session.paymentIntent ?? session.id)
        let detail = LifecycleEvent.PurchasePending(product: session.product)
        return Draft(
            isCanceled
                ? identity(lineage, "pending", "canceled", session.id) : identity(lineage, "pending", session.id),
            isCanceled ? .purchasePendingCanceled(detail) : .purchasePending(detail),
            about: EventSubject(
                lineage: lineage,
                transaction: session.paymentIntent.map(TransactionID.init),
                account: account(session),
                product: PurchasedProduct(id: session.product),
                country: session.country
            )
        )
    }

    /// The purchases of a sale, none of which renews: one for each price.
    ///
    /// The main product's purchase has the name of the sale, and the payment is stated with it, once and as a whole. A refund names
    /// only that payment, so the names of the others are names of it: it concerns all of them.
    ///
    /// - Parameters:
    ///   - product: what stands in for a product that is not known.
    ///   - price: what was paid for all.
    ///   - subject: who bought it, and where.
    func purchases(
        _ sale: Sale,
        of items: [SaleItem],
        orElse product: ProductID,
        price: Price?,
        at time: Milliseconds,
        about subject: EventSubject
    ) -> [Draft] {
        let items = items.byPrice
        func cost(_ item: SaleItem) -> Money? {
            item.amount.flatMap { amount in price.map { Money(minorUnits: amount, $0.money.currency) } }
        }
        let parts =
            items.count > 1 ? items.map { PurchasedItem(product: $0.item.price.productID, price: cost($0)) } : nil
        var payment: [Fact] = []
        if let price {
            payment.append(
                .charge(Fact.Charge(transaction: sale.transaction, price: price, at: time.date, items: parts))
            )
        }
        payment += paymentNames(of: sale.transaction.rawValue, sale.names, in: sale.transaction.rawValue)
        guard let parts else {
            let bought = Bought(items.first?.item, orElse: product, in: sale.transaction, price: price)
            return [purchase(bought, of: sale, at: time, about: subject, with: payment)]
        }
        return zip(items, parts).enumerated().map { place, part in
            let name = TransactionID("\(sale.transaction)/\(part.0.item.price.id)")
            let bought = Bought(
                part.0.item,
                orElse: product,
                in: place == 0 ? sale.transaction : name,
                price: part.1.price.map { Price($0, .charged) }
            )
            let isOfSale = Fact.transactionName(Fact.TransactionName(transaction: sale.transaction, name: name))
            return purchase(bought, of: sale, at: time, about: subject, with: place == 0 ? payment : [isOfSale])
        }
    }

    /// One thing that a sale bought.
    private struct Bought {
        let product: ProductID
        let basePlan: String?
        let quantity: Int64
        /// The name of its purchase.
        let transaction: TransactionID
        let price: Price?

        init(
            _ item: SubscriptionObject.Item?,
            orElse product: ProductID,
            in transaction: TransactionID,
            price: Price?
        ) {
            self.product = item?.price.productID ?? product
            basePlan = item?.price.id
            quantity = item?.quantity ?? 1
            (self.transaction, self.price) = (transaction, price)
        }
    }

    private func purchase(
        _ bought: Bought,
        of sale: Sale,
        at time: Milliseconds,
        about subject: EventSubject,
        with payment: [Fact]
    ) -> Draft {
        let (product, transaction) = (bought.product, bought.transaction)
        let names = [bought.basePlan, product.rawValue].compactMap(\.self)
        let detail = LifecycleEvent.OneTimePurchase(
            type: names.compactMap { policy.oneTimeProducts[$0] }.first ?? .unknown,
            quantity: bought.quantity,
            price: bought.price
        )
        var facts: [Fact] = subject.account.map { [.owner($0)] } ?? []
        facts.append(
            .purchase(
                Fact.OneTimePurchase(transaction: transaction, product: product, purchase: detail, at: time.date)
            )
        )
        return Draft(
            .purchased(sale.lineage, transaction: transaction, product: product),
            .oneTimePurchased(detail),
            about: EventSubject(
                lineage: sale.lineage,
                transaction: transaction,
                account: subject.account,
                product: PurchasedProduct(id: product, basePlan: bought.basePlan, quantity: bought.quantity),
                price: bought.price,
                country: subject.country,
                facts: facts + payment
            ),
            effectiveAt: time
        )
    }

    /// Stripe ends the customer's subscriptions with it, and says so of each.
    func customerDeleted(_ value: JSONValue) throws(JSONError) -> Outcome {
        let reader = try ObjectReader(value)
        let customer = CustomerReference(
            id: try reader.string("id"),
            account: try reader.reference("customer_account")
        )
        return .events([
            notice(
                .other,
                ["customer": "deleted"],
                about: EventSubject(account: account(customer: customer, metadata: nil))
            )
        ])
    }
}
