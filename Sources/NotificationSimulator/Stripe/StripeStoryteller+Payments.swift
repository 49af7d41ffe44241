import FoundationEssentials
import LifecycleEvents
import WireJSON

// Money: payments of invoices, sales, refunds and disputes.

extension StripeStoryteller {
    mutating func buy(_ item: CustomerStory.Item, _ quantity: Int64) {
        let serial = next("cs")
        let intent = "pi_\(identity.letters("intent \(serial)", 24))"
        let id = "cs_\(identity.letters("session \(serial)", 24))"
        let amount = item.price / 10 * quantity
        let session = JSONMembers([
            ("id", .string(id)), ("object", "checkout.session"), ("amount_total", .integer(amount)),
            ("client_reference_id", .string(identity.uuid("account"))), ("currency", "usd"),
            ("customer", .string(customer)), ("livemode", .bool(simulator.isLive)), ("metadata", [:]),
            ("mode", "payment"), ("payment_intent", .string(intent)), ("payment_status", "paid"),
            ("status", "complete"),
        ])
        var complete = session
        let line: JSONText = [
            "id": "li_1", "object": "item", "quantity": .integer(quantity),
            "price": [
                "id": .string("price_\(item.rawValue)"), "object": "price", "currency": "usd",
                "product": .string("prod_\(item.rawValue)"), "type": "one_time",
                "unit_amount": .integer(item.price / 10),
            ],
        ]
        complete.append("line_items", ["object": "list", "data": [line], "has_more": false])
        serve("/v1/checkout/sessions/\(id)?expand%5B%5D=line_items", .object(complete))
        let payment = Payment(
            intent: intent,
            charge: "ch_\(identity.letters("charge \(serial)", 24))",
            amount: amount,
            isSubscription: false,
            session: (id, complete, time)
        )
        payments.append(payment)
        serveSession(of: payment)
        serveInvoices([], of: intent)
        emit("checkout.session.completed", session)
    }

    mutating func refund(_ which: CustomerStory.Purchase, _ share: CustomerStory.Share) throws(SimulatorError) {
        guard let index = which == .latest ? payments.indices.last : payments.indices.dropLast().last else {
            throw SimulatorError("nothing was paid", .nonsense)
        }
        let amount = share == .half ? payments[index].amount / 2 : payments[index].amount
        payments[index].refunded += amount
        let payment = payments[index]
        serveSession(of: payment)
        let id = "re_\(identity.letters("refund \(next("re"))", 24))"
        let refund = Refund(id: id, payment: payment, amount: amount)
        self.refund = refund
        emit("refund.created", object(refund, status: "succeeded"))
        let charge = JSONMembers([
            ("id", .string(payment.charge)), ("object", "charge"), ("amount", .integer(payment.amount)),
            ("amount_refunded", .integer(payment.refunded)), ("currency", "usd"), ("customer", .string(customer)),
            ("payment_intent", .string(payment.intent)), ("refunded", .bool(payment.refunded == payment.amount)),
        ])
        emit("charge.refunded", charge)
        // A refund ends nothing at Stripe; a merchant who refunds the current period ends the subscription, too.
        time += 60
        if payment.isSubscription, which == .latest, share == .full { try end() }
    }

    func object(_ refund: Refund, status: String) -> JSONMembers {
        JSONMembers([
            ("id", .string(refund.id)), ("object", "refund"), ("amount", .integer(refund.amount)),
            ("charge", .string(refund.payment.charge)), ("created", .integer(time)), ("currency", "usd"),
            ("payment_intent", .string(refund.payment.intent)), ("reason", "requested_by_customer"),
            ("status", .string(status)),
        ])
    }

    mutating func reverse() throws(SimulatorError) {
        guard let refund else { throw SimulatorError("nothing was refunded", .nonsense) }
        if let index = payments.firstIndex(where: { $0.charge == refund.payment.charge }) {
            payments[index].refunded -= refund.amount
            serveSession(of: payments[index])
        }
        emit(
            "refund.failed",
            object(refund, status: "failed"),
            previous: ["status": "succeeded"]
        )
    }

    mutating func dispute(_ stage: String, _ status: String) throws(SimulatorError) {
        guard let payment = payments.last else { throw SimulatorError("nothing was paid", .nonsense) }
        let dispute = JSONMembers([
            ("id", .string("dp_\(identity.letters("dispute", 24))")), ("object", "dispute"),
            ("amount", .integer(payment.amount)), ("charge", .string(payment.charge)), ("created", .integer(time)),
            ("currency", "usd"), ("payment_intent", .string(payment.intent)), ("reason", "fraudulent"),
            ("status", .string(status)),
        ])
        emit("charge.dispute.\(stage)", dispute)
    }

    func invoice(
        _ subscription: StripeSubscription,
        reason: String,
        amount: Int64,
        at time: Int64,
        lines: [StripeInvoice.Line]? = nil
    ) -> StripeInvoice {
        let line = subscription.items.first.map {
            StripeInvoice.Line($0.price, amount: amount / 10, from: subscription.start, to: subscription.end)
        }
        var invoice = StripeInvoice(
            subscription.latestInvoice ?? "",
            reason: reason,
            lines: lines ?? [line].compactMap(\.self),
            created: time
        )
        invoice.subscription = subscription.id
        invoice.customer = subscription.customer
        return invoice
    }

    /// A payment of the latest invoice, with its twin.
    mutating func pay(
        reason: String,
        lines: [StripeInvoice.Line]? = nil,
        attempts: Int64 = 1
    ) throws(SimulatorError) {
        guard let subscription, let standing = scene.after else {
            throw SimulatorError("there is no subscription", .nonsense)
        }
        var paid = invoice(subscription, reason: reason, amount: standing.price, at: time, lines: lines)
        paid.paidAt = time
        paid.attemptCount = attempts
        invoices[paid.id] = paid
        let total = paid.lines.reduce(0) { $0 + $1.amount }
        let payment = StripeInvoicePayment(
            id: "inpay_\(identity.letters("payment of \(paid.id)", 24))",
            invoice: paid.id,
            intent: "pi_\(paid.id)",
            amount: total,
            currency: paid.lines.first?.price.currency ?? "usd",
            paidAt: time,
            isLive: simulator.isLive
        )
        if total > 0 {
            let charge = "ch_\(paid.id)"
            payments.append(Payment(intent: payment.intent, charge: charge, amount: total, isSubscription: true))
            serveInvoice(of: payment, paid)
        }
        emit("invoice.paid", paid.object(version))
        emit("invoice.payment_succeeded", paid.object(version))
        guard total > 0, version.isBasilOrLater else { return }
        let id = "evt_\(identity.letters("event of \(payment.id)", 24))"
        emit("invoice_payment.paid", payment.object, id: id)
    }
}
