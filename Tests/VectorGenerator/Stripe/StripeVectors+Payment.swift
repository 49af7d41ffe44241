import ConformanceVectors
import Normalizer
import NotificationSimulator
import Stripe

extension StripeVectors {
    static func paymentCases() throws -> [Case] {
        var cases: [Case] = []
        func add(
            _ id: String,
            _ why: String,
            _ type: String,
            _ object: JSONText,
            previous: JSONText? = nil,
            version: StripeSimulator.Version = .endive,
            http: [JSONText]? = nil,
            _ kinds: [String]
        ) throws {
            let event = simulator(version).event(
                type,
                id: "evt_\(id)",
                created: created,
                object: object,
                previous: previous
            )
            cases.append(try signed("payment/\(id)", why, body: event.bytes, http: http, .events(kinds)))
        }
        func refund(_ status: String, charge: String? = "ch_1", reason: String? = "requested_by_customer") -> JSONText {
            [
                "id": "re_1", "object": "refund", "amount": 500, "charge": charge.map { .string($0) } ?? nil,
                "created": .integer(created - 60), "currency": "usd", "payment_intent": "pi_1",
                "reason": reason.map { .string($0) } ?? nil, "status": .string(status),
            ]
        }
        func charge(_ refunded: Int64, invoice: JSONText? = nil, refunds: [JSONText]? = nil) -> JSONText {
            var members = JSONMembers([
                ("id", "ch_1"), ("object", "charge"), ("amount", 999), ("amount_refunded", .integer(refunded)),
                ("currency", "usd"), ("customer", "cus_1"), ("payment_intent", "pi_1"),
                ("refunded", .bool(refunded == 999)),
            ])
            if let invoice { members.append("invoice", invoice) }
            if let refunds {
                members.append("refunds", ["object": "list", "data": .array(refunds), "has_more": false])
            }
            return .object(members)
        }

        // Refunds, once each: by `refund.…` since 2024-10-28, by the charge before.
        try add("refund", "a refund", "refund.created", refund("succeeded"), ["refunded"])
        try add("refund-pending", "money that has not gone back yet", "refund.created", refund("pending"), [])
        try add(
            "refund-succeeded",
            "and has now",
            "refund.updated",
            refund("succeeded"),
            previous: ["status": "pending"],
            ["refunded"]
        )
        try add(
            "refund-reference",
            "the bank's reference came in",
            "refund.updated",
            refund("succeeded"),
            previous: ["destination_details": ["card": ["reference": nil]]],
            []
        )
        try add(
            "refund-duplicate",
            "a reason in Stripe's word",
            "refund.created",
            refund("succeeded", reason: "duplicate"),
            ["refunded"]
        )
        try add(
            "refund-failed",
            "the money came back",
            "refund.failed",
            refund("failed"),
            previous: ["status": "succeeded"],
            ["refund_reversed"]
        )
        try add(
            "refund-failed-pending",
            "never reported as gone",
            "refund.failed",
            refund("failed"),
            previous: ["status": "pending"],
            []
        )
        try add(
            "refund-failed-unclear",
            "nobody says what was before: the state knows whether there is anything to take back",
            "refund.failed",
            refund("failed"),
            ["refund_reversed"]
        )
        try add(
            "refund-updated-failed-pending",
            "never reported as gone",
            "refund.updated",
            refund("failed"),
            previous: ["status": "pending"],
            []
        )
        try add(
            "refund-old-failed",
            "the charge told of it, and nothing else tells that it failed",
            "charge.refund.updated",
            refund("failed"),
            previous: ["status": "pending"],
            version: .v2020,
            ["refund_reversed"]
        )
        try add(
            "refund-new-failed-twin",
            "the refund tells of it",
            "charge.refund.updated",
            refund("failed"),
            previous: ["status": "succeeded"],
            []
        )
        try add(
            "refund-canceled",
            "called back",
            "refund.updated",
            refund("canceled"),
            previous: ["status": "succeeded"],
            ["refund_reversed"]
        )
        try add(
            "refund-charge-twin",
            "a state that knows the refund has it",
            "charge.refunded",
            charge(500),
            ["refunded"]
        )
        try add(
            "refund-charge-twin-full",
            "the charge knows that nothing is left",
            "charge.refunded",
            charge(999),
            ["refunded"]
        )
        try add("refund-old-twin", "the charge tells of it", "refund.created", refund("succeeded"), version: .v2020, [])
        try add(
            "refund-old-chargeless",
            "no charge, so no other word of it",
            "refund.created",
            refund("succeeded", charge: nil),
            version: .v2020,
            ["refunded"]
        )
        try add("charge-full", "all of it", "charge.refunded", charge(999), version: .v2020, ["refunded"])
        try add(
            "charge-partial",
            "a part, and the refund's id",
            "charge.refunded",
            charge(500, refunds: [refund("succeeded")]),
            previous: ["amount_refunded": 0],
            version: .v2020,
            ["refunded"]
        )
        try add(
            "charge-second-part",
            "what came on top",
            "charge.refunded",
            charge(999, invoice: "in_1"),
            previous: ["amount_refunded": 500],
            version: .v2020,
            ["refunded"]
        )
        var invoice = StripeInvoice(
            "in_1",
            reason: "subscription_cycle",
            lines: [.init(.basic, from: created - 10 * day, to: created + 20 * day)],
            created: created - 10 * day
        )
        invoice.paidAt = created - 10 * day
        let payments: JSONText = [
            "object": "list", "has_more": false,
            "data": [["id": "inpay_1", "object": "invoice_payment", "invoice": .object(invoice.object(.endive))]],
        ]
        let query =
            "/v1/invoice_payments?payment%5Btype%5D=payment_intent&payment%5Bpayment_intent%5D=pi_1"
            + "&status=paid&limit=1&expand%5B%5D=data.invoice"
        try add(
            "refund-looked-up",
            "the subscription behind a refund",
            "refund.created",
            refund("succeeded"),
            http: [answer(query, payments)],
            ["refunded"]
        )
        try add(
            "refund-not-found",
            "Stripe knows no invoice for it",
            "refund.created",
            refund("succeeded"),
            http: [answer(query, status: 404, nil)],
            ["refunded"]
        )

        // Disputes.
        func dispute(_ status: String) -> JSONText {
            [
                "id": "dp_1", "object": "dispute", "amount": 999, "charge": "ch_1", "created": .integer(created),
                "currency": "usd", "payment_intent": "pi_1", "reason": "fraudulent", "status": .string(status),
            ]
        }
        try add("dispute", "a dispute", "charge.dispute.created", dispute("needs_response"), ["chargeback"])
        try add(
            "dispute-inquiry",
            "an inquiry",
            "charge.dispute.created",
            dispute("warning_needs_response"),
            ["chargeback"]
        )
        try add(
            "dispute-escalated",
            "an inquiry that became a dispute",
            "charge.dispute.updated",
            dispute("needs_response"),
            previous: ["status": "warning_needs_response"],
            ["chargeback"]
        )
        try add(
            "dispute-evidence",
            "evidence came in",
            "charge.dispute.updated",
            dispute("under_review"),
            previous: ["status": "needs_response"],
            []
        )
        try add("dispute-won", "won", "charge.dispute.closed", dispute("won"), ["chargeback"])
        try add("dispute-lost", "lost", "charge.dispute.closed", dispute("lost"), ["chargeback"])
        try add(
            "dispute-inquiry-closed",
            "an inquiry that led to nothing",
            "charge.dispute.closed",
            dispute("warning_closed"),
            ["chargeback"]
        )
        try add(
            "dispute-prevented",
            "settled before it became one",
            "charge.dispute.closed",
            dispute("prevented"),
            ["chargeback"]
        )
        try add("dispute-funds", "the money of it", "charge.dispute.funds_withdrawn", dispute("needs_response"), [])

        // Checkout.
        func session(
            _ mode: String,
            _ paymentStatus: String,
            amount: Int64 = 4900,
            currency: String = "usd",
            subscription: String? = nil,
            intent: String? = "pi_7",
            invoice: String? = nil,
            items: JSONText? = nil
        ) -> JSONText {
            var members = JSONMembers([
                ("id", "cs_1"), ("object", "checkout.session"), ("amount_total", .integer(amount)),
                ("client_reference_id", "user-42"), ("currency", .string(currency)), ("customer", "cus_1"),
                ("mode", .string(mode)), ("payment_intent", intent.map { .string($0) } ?? nil),
                ("payment_status", .string(paymentStatus)),
                ("subscription", subscription.map { .string($0) } ?? nil), ("status", "complete"),
            ])
            if let invoice {
                members.append("invoice", .string(invoice))
                members.append("invoice_creation", ["enabled": true])
            }
            if let items { members.append("line_items", ["object": "list", "data": items, "has_more": false]) }
            return .object(members)
        }
        let items: JSONText = [
            [
                "id": "li_1", "quantity": 2,
                "price": ["id": "price_book", "product": "prod_book", "currency": "usd", "unit_amount": 2450],
            ]
        ]
        let completed = "checkout.session.completed"
        try add("checkout-paid", "bought", completed, session("payment", "paid"), ["one_time_purchased"])
        try add(
            "checkout-items",
            "bought, with its items",
            completed,
            session("payment", "paid", items: items),
            ["one_time_purchased"]
        )
        try add(
            "checkout-looked-up",
            "bought, its items asked for",
            completed,
            session("payment", "paid"),
            http: [
                answer("/v1/checkout/sessions/cs_1?expand%5B%5D=line_items", session("payment", "paid", items: items))
            ],
            ["one_time_purchased"]
        )
        try add(
            "checkout-free",
            "nothing to pay",
            completed,
            session("payment", "no_payment_required", amount: 0, intent: nil),
            ["one_time_purchased"]
        )
        try add(
            "checkout-jpy",
            "a currency without minor unit",
            completed,
            session("payment", "paid", currency: "jpy"),
            ["one_time_purchased"]
        )
        try add(
            "checkout-isk",
            "no minor unit, and two places all the same",
            completed,
            session("payment", "paid", currency: "isk"),
            ["one_time_purchased"]
        )
        try add(
            "checkout-invoice",
            "bought with an invoice to follow: the session is the sale",
            completed,
            session("payment", "paid", invoice: "in_7"),
            ["one_time_purchased"]
        )
        try add("checkout-unpaid", "a delayed payment", completed, session("payment", "unpaid"), ["purchase_pending"])
        try add(
            "checkout-async-paid",
            "the delayed payment came",
            "checkout.session.async_payment_succeeded",
            session("payment", "paid"),
            ["one_time_purchased"]
        )
        try add(
            "checkout-async-failed",
            "the delayed payment did not come",
            "checkout.session.async_payment_failed",
            session("payment", "unpaid"),
            ["purchase_pending_canceled"]
        )
        try add(
            "checkout-subscription",
            "whose subscription it is",
            completed,
            session("subscription", "paid", subscription: "sub_1", intent: nil),
            ["notice"]
        )
        try add(
            "checkout-setup",
            "a card for later",
            completed,
            session("setup", "no_payment_required", intent: nil),
            []
        )

        // Companions and others.
        try add("charge-succeeded", "the invoice or session tells of it", "charge.succeeded", charge(0), [])
        try add(
            "invoice-payment",
            "which payment paid an invoice",
            "invoice_payment.paid",
            [
                "id": "inpay_1", "object": "invoice_payment", "invoice": "in_1",
                "payment": ["type": "payment_intent", "payment_intent": "pi_1"], "status": "paid",
            ],
            ["notice"]
        )
        try add(
            "entitlements",
            "the features of a customer",
            "entitlements.active_entitlement_summary.updated",
            [
                "object": "entitlements.active_entitlement_summary", "customer": "cus_1",
                "entitlements": [
                    "object": "list", "data": [["lookup_key": "export"], ["lookup_key": "api"]], "has_more": false,
                ],
            ],
            previous: ["entitlements": ["data": [["lookup_key": "export"], ["lookup_key": "seats"]]]],
            ["notice"]
        )
        try add(
            "customer-deleted",
            "a customer was removed",
            "customer.deleted",
            ["id": "cus_1", "object": "customer", "deleted": true],
            ["notice"]
        )
        try add("price-updated", "a type that maps to nothing", "price.updated", ["id": "price_1"], ["unmapped"])
        return cases
    }
}
