import FoundationEssentials
import LifecycleEvents
import WireJSON

extension Mapping {
    /// A session that was completed, or whose delayed payment came in.
    func checkout(_ session: CheckoutSessionObject) -> Outcome { checkout(session, at: created) }

    /// - Parameter time: when it was paid for.
    func checkout(_ session: CheckoutSessionObject, at time: Milliseconds) -> Outcome {
        let session = completed(session)
        switch session.mode {
        case "payment":
            guard session.paymentStatus == "paid" || session.paymentStatus == "no_payment_required" else {
                return .events([pending(session, isCanceled: false)])
            }
            let sale = sale(of: session)
            if policy.sellsByInvoice, session.invoice == nil, session.makesInvoice, session.paymentStatus == "paid" {
                // The invoice will report it, under a name that is still unknown.
                return .none(.reportedElsewhere)
            }
            let price = session.amountTotal.flatMap { amount in
                session.currency.map { Price(Money(minorUnits: amount, $0), .charged) }
            }
            let item = session.items.primary
            return .events([
                purchase(
                    sale,
                    product: session.product,
                    basePlan: item?.price.id,
                    quantity: item?.quantity ?? 1,
                    price: price,
                    at: time,
                    about: EventSubject(account: account(session), country: session.country)
                )
            ])
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
        guard session.items.isEmpty, let document = occasion.answers[LookupRequest.session]?.document,
            let fetched = try? CheckoutSessionObject(document.root, addOns: policy.addOnProducts)
        else { return session }
        return session.completed(with: fetched)
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

    /// Something bought that does not renew.
    ///
    /// - Parameter subject: who bought it, and where.
    func purchase(
        _ sale: Sale,
        product: ProductID,
        basePlan: String?,
        quantity: Int64,
        price: Price?,
        at time: Milliseconds,
        about subject: EventSubject
    ) -> Draft {
        let type = [basePlan, product.rawValue].compactMap(\.self).compactMap { policy.oneTimeProducts[$0] }.first
        let detail = LifecycleEvent.OneTimePurchase(type: type ?? .unknown, quantity: quantity, price: price)
        var facts: [Fact] = subject.account.map { [.owner($0)] } ?? []
        facts.append(
            .purchase(
                Fact.OneTimePurchase(transaction: sale.transaction, product: product, purchase: detail, at: time.date)
            )
        )
        if let price { facts.append(.charge(Fact.Charge(transaction: sale.transaction, price: price, at: time.date))) }
        facts += paymentNames(of: sale.transaction.rawValue, sale.names, in: sale.transaction.rawValue)
        return Draft(
            .purchased(sale.lineage, transaction: sale.transaction, product: product),
            .oneTimePurchased(detail),
            about: EventSubject(
                lineage: sale.lineage,
                transaction: sale.transaction,
                account: subject.account,
                product: PurchasedProduct(id: product, basePlan: basePlan, quantity: quantity),
                price: price,
                country: subject.country,
                facts: facts
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
