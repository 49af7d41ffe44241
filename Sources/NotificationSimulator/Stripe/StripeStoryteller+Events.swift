import FoundationEssentials
import LifecycleEvents
import WireJSON

// Events, each with the answers that Stripe gives from then on.

extension StripeStoryteller {
    mutating func update(_ change: (inout StripeSubscription) -> Void) throws(SimulatorError) {
        guard let before = subscription else { throw SimulatorError("there is no subscription", .nonsense) }
        var after = before
        change(&after)
        subscription = after
        emit(
            "customer.subscription.updated",
            after.object(version),
            previous: before.previous(after, version)
        )
    }

    mutating func tell(_ type: String) throws(SimulatorError) {
        guard let subscription else { throw SimulatorError("there is no subscription", .nonsense) }
        emit(type, subscription.object(version))
    }

    mutating func serve(_ path: String, _ body: JSONText) {
        pending.append(SimulatedResource(host: Self.host, path: path, body: body))
    }

    /// Stripe's answer about a session, with the payment in it.
    mutating func serveSession(of payment: Payment) {
        guard let (id, members, time) = payment.session else { return }
        var session = members
        session["payment_intent"] = [
            "id": .string(payment.intent), "object": "payment_intent",
            "latest_charge": [
                "id": .string(payment.charge), "object": "charge", "created": .integer(time),
                "amount_refunded": .integer(payment.refunded), "refunded": .bool(payment.refunded == payment.amount),
            ],
        ]
        serve(
            "/v1/checkout/sessions/\(id)?expand%5B%5D=line_items"
                + "&expand%5B%5D=payment_intent.latest_charge&expand%5B%5D=subscription.latest_invoice",
            .object(session)
        )
    }

    /// Stripe's answer about the subscription.
    mutating func serveSubscription() {
        guard let subscription else { return }
        serve("/v1/subscriptions/\(subscription.id)", .object(subscription.object(version)))
        var expanded = subscription.object(version)
        if let latest = subscription.latestInvoice {
            // Made when the period begins, and charged an hour later.
            var draft = invoice(subscription, reason: "subscription_cycle", amount: 0, at: subscription.start)
            (draft.status, draft.attemptCount) = ("draft", 0)
            expanded["latest_invoice"] = .object((invoices[latest] ?? draft).object(version))
        }
        if subscription.schedule != nil { expanded["schedule"] = arranged.map { .object($0) } ?? nil }
        serve(
            "/v1/subscriptions/\(subscription.id)?expand%5B%5D=latest_invoice&expand%5B%5D=schedule.phases.items.price",
            .object(expanded)
        )
    }

    /// Stripe's answer about the invoice of a payment, with the invoice in it.
    mutating func serveInvoice(of payment: StripeInvoicePayment, _ invoice: StripeInvoice) {
        var entry = payment.object
        entry["invoice"] = .object(invoice.object(version))
        serveInvoices([.object(entry)], of: payment.intent)
    }

    mutating func serveInvoices(_ entries: [JSONText], of intent: String) {
        serve(
            "/v1/invoice_payments?payment%5Btype%5D=payment_intent&payment%5Bpayment_intent%5D=\(intent)"
                + "&status=paid&limit=1&expand%5B%5D=data.invoice",
            ["object": "list", "has_more": false, "data": .array(entries)]
        )
    }

    mutating func emit(
        _ type: String,
        _ object: JSONMembers,
        previous: JSONText? = nil,
        id named: String? = nil
    ) {
        serveSubscription()
        let id = named ?? next("evt")
        let event = simulator.event(type, id: id, created: time, object: .object(object), previous: previous)
        notifications.append(
            SimulatedNotification(
                provider: .stripe,
                step: scene.step,
                occurredAt: Date(millisecondsSince1970: time * 1000),
                type: type,
                id: id,
                content: event.bytes,
                resources: pending
            )
        )
        pending = []
    }
}
