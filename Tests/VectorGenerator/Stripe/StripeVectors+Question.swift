import ConformanceVectors
import Normalizer
import NotificationSimulator
import Stripe

// Purchases that the host asks about: the id is unproven, and only Stripe says what it is.
extension StripeVectors {
    static func questionCases() throws -> [Case] {
        hostileQuestions() + subscriptionQuestions() + sessionQuestions()
    }

    private static let subscriptionPath =
        "/v1/subscriptions/sub_1?expand%5B%5D=latest_invoice&expand%5B%5D=schedule.phases.items.price"
    private static let sessionPath =
        "/v1/checkout/sessions/cs_1?expand%5B%5D=line_items&expand%5B%5D=payment_intent.latest_charge"
        + "&expand%5B%5D=subscription.latest_invoice"

    private static func question(
        _ id: String,
        _ why: String,
        body: String = question("subscription", "sub_1"),
        http: [JSONText]?,
        _ expect: Expectation
    ) -> Case {
        var config = config()
        config.append("kind", "question")
        return Case(
            id: "question/\(id)",
            why: why,
            headers: [:],
            body: Array(body.utf8),
            config: config,
            http: http,
            expect: expect
        )
    }

    private static func question(_ kind: String, _ id: String?, account: String? = nil) -> String {
        var members = JSONMembers([("kind", .string(kind))])
        if let id { members.append("id", .string(id)) }
        if let account { members.append("account", .string(account)) }
        return members.text
    }

    // MARK: Hostile

    private static func hostileQuestions() -> [Case] {
        let known = answer(subscriptionPath, .object(active().object(.endive)))
        var cases = [
            question("no-body", "nothing", body: "", http: [known], .reject(.malformed)),
            question("no-id", "no id", body: question("subscription", nil), http: [known], .reject(.malformed)),
            question(
                "kind",
                "neither of the two",
                body: question("charge", "ch_1"),
                http: [known],
                .reject(.malformed)
            ),
            question("not-configured", "nobody can be asked", http: nil, .reject(.unavailable)),
            question("no-connection", "nobody answers", http: [], .reject(.unavailable)),
        ]
        for (name, id) in [
            ("empty", ""), ("parent", ".."), ("path", "sub_1/../sub_2"), ("query", "sub_1?x"), ("percent", "sub%5F1"),
            ("space", "sub 1"), ("newline", "sub_1\r\nHost: evil.example"), ("nul", "sub_1\u{0}"),
            ("not-ascii", "s\u{fc}b_1"), ("long", String(repeating: "x", count: 256)),
        ] {
            cases.append(
                question(
                    "id-\(name)",
                    "causes no request",
                    body: question("subscription", id),
                    http: [known],
                    .reject(.malformed)
                )
            )
        }
        cases.append(
            question(
                "account-path",
                "an account that is none causes no request",
                body: question("subscription", "sub_1", account: "acct/1"),
                http: [known],
                .reject(.malformed)
            )
        )
        var test = active().object(.endive)
        test["livemode"] = false
        for (name, why, status, body, code) in [
            ("made-up", "Stripe does not know it under our key", 404, nil, .misdirected),
            ("server-error", "not decided, to be tried again", 500, nil, .unavailable),
            ("forbidden", "not decided, to be tried again", 403, nil, .unavailable),
            ("not-json", "not decided, to be tried again", 200, nil, .unavailable),
            (
                "other-answer", "about another object", 200, .object(active { $0.id = "sub_2" }.object(.endive)),
                .malformed
            ),
            ("list", "a list, and no object", 200, ["object": "list", "data": []], .malformed),
            ("other-mode", "an object of the other mode", 200, .object(test), .misdirected),
            (
                "other-kind", "an object of another kind under this id", 200,
                ["id": "sub_1", "object": "customer", "livemode": true], .malformed
            ),
        ] as [(String, String, Int64, JSONText?, DeliveryError.Code)] {
            cases.append(
                question(name, why, http: [answer(subscriptionPath, status: status, body)], .reject(code))
            )
        }
        return cases
    }

    // MARK: Subscriptions

    private static func invoice(
        _ reason: String,
        from start: Int64 = created - 10 * day,
        to end: Int64 = created + 20 * day,
        _ change: (inout StripeInvoice) -> Void = { _ in }
    ) -> StripeInvoice {
        var invoice = StripeInvoice(
            "in_1",
            reason: reason,
            lines: [.init(.basic, from: start, to: end)],
            created: start,
            lookBackFrom: reason == "subscription_create" ? start : start - 30 * day
        )
        invoice.paidAt = start + 60
        change(&invoice)
        return invoice
    }

    private static func subscriptionQuestions() -> [Case] {
        var cases: [Case] = []
        func add(
            _ id: String,
            _ why: String,
            _ subscription: StripeSubscription = active(),
            _ invoice: StripeInvoice? = nil,
            schedule: JSONText? = nil,
            further: [JSONText] = [],
            is kinds: [String]
        ) {
            var object = subscription.object(.endive)
            if let invoice { object["latest_invoice"] = .object(invoice.object(.endive)) }
            if let schedule { object["schedule"] = schedule }
            cases.append(question(id, why, http: [answer(subscriptionPath, .object(object))] + further, .events(kinds)))
        }
        let first = active { $0.startDate = $0.start }

        add("first", "bought: the id is that of invoice.paid", first, invoice("subscription_create"), is: ["started"])
        add(
            "first-open",
            "not paid for yet, as far as is shown: facts, and no event",
            first,
            invoice("subscription_create") { $0.status = "open" },
            is: []
        )
        add(
            "trial",
            "a trial: its invoice is of nothing",
            active {
                ($0.status, $0.startDate, $0.trialStart, $0.trialEnd) = ("trialing", $0.start, $0.start, $0.end)
            },
            invoice("subscription_create") { $0.lines[0].amount = 0 },
            is: ["started"]
        )
        add(
            "trial-changed",
            "a trial of another product since: by which name it was told, nobody says",
            active {
                ($0.status, $0.startDate, $0.trialStart, $0.trialEnd) = ("trialing", $0.start, $0.start, $0.end)
                $0.items = [.init("si_1", .pro)]
            },
            invoice("subscription_create") { $0.lines[0].amount = 0 },
            is: []
        )
        add("renewed", "a renewal", active(), invoice("subscription_cycle"), is: ["renewed"])
        add(
            "renewed-late",
            "a renewal that was paid for at the second attempt",
            active(),
            invoice("subscription_cycle") { $0.attemptCount = 2 },
            is: ["renewed"]
        )
        add(
            "converted",
            "the first period after a trial",
            active {
                ($0.trialStart, $0.trialEnd) = ($0.start - 7 * day, $0.start)
                $0.startDate = $0.start - 7 * day
            },
            invoice("subscription_cycle"),
            is: ["renewed"]
        )
        add(
            "upgraded",
            "a change in the middle: its notification tells of it",
            active { $0.items = [.init("si_1", .pro)] },
            invoice("subscription_update") {
                $0.lines = [
                    .init(.basic, amount: -500, from: created, to: created + 20 * day, isProration: true),
                    .init(.pro, amount: 1500, from: created, to: created + 20 * day, isProration: true),
                ]
            },
            is: []
        )
        add(
            "upgraded-since",
            "a change that is billed later: the period began as what was bought then",
            active { $0.items = [.init("si_1", .pro)] },
            invoice("subscription_cycle"),
            is: ["renewed"]
        )
        add(
            "new-anchor",
            "a period that a change began",
            active(),
            invoice("subscription_update"),
            is: ["renewed"]
        )
        add(
            "rolled",
            "the next period, whose draft is not paid for",
            active(),
            invoice("subscription_cycle") { ($0.status, $0.paidAt, $0.attemptCount) = ("draft", nil, 0) },
            is: []
        )
        add(
            "other-period",
            "paid is a period before",
            active(),
            invoice("subscription_cycle", from: created - 40 * day, to: created - 10 * day),
            is: []
        )
        add(
            "other-subscription",
            "an invoice of another subscription pays for nothing here",
            active(),
            invoice("subscription_cycle") { $0.subscription = "sub_2" },
            is: []
        )
        add("no-invoice", "nothing was ever billed", active { $0.latestInvoice = nil }, is: [])
        add(
            "ending",
            "bought, and will not renew",
            active { ($0.startDate, $0.cancelAt, $0.canceledAt) = ($0.start, $0.end, created - day) },
            invoice("subscription_create"),
            is: ["started", "auto_renew_disabled"]
        )
        add(
            "ending-clock",
            "under a test clock the notification names what turned renewal off",
            active { ($0.cancelAt, $0.canceledAt, $0.testClock) = ($0.end, created - day, "clock_1") },
            is: []
        )
        add(
            "incomplete",
            "the first payment is not there yet",
            first.with { $0.status = "incomplete" },
            is: ["purchase_pending"]
        )
        add(
            "incomplete-expired",
            "and never came",
            first.with { $0.status = "incomplete_expired" },
            is: ["purchase_pending_canceled"]
        )
        add(
            "past-due",
            "a renewal that was tried three times: stated, and told by its own event",
            active { $0.status = "past_due" },
            invoice("subscription_cycle") {
                ($0.status, $0.paidAt, $0.attemptCount) = ("open", nil, 3)
                $0.nextAttempt = created + 3 * day
            },
            is: []
        )
        add("unpaid", "Stripe gave up charging", active { $0.status = "unpaid" }, is: ["expired"])
        add(
            "paused",
            "a pause is stated, and told by its own event",
            active {
                $0.status = "paused"
                $0.statusDetails = ["paused": ["transitioned_at": .integer(created - day), "type": "subscription"]]
            },
            is: []
        )
        add(
            "paused-sometime",
            "paused, and nobody says since when",
            active { $0.status = "paused" },
            is: []
        )
        add(
            "canceled",
            "over",
            active {
                ($0.status, $0.endedAt, $0.canceledAt) = ("canceled", created - day, created - day)
                $0.cancellationReason = "payment_failed"
            },
            is: ["expired"]
        )
        add(
            "status-unknown",
            "a status of tomorrow grants nothing and takes nothing",
            active { $0.status = "dormant" },
            is: []
        )
        let phases: JSONText = [
            [
                "start_date": .integer(created - 10 * day), "end_date": .integer(created + 20 * day),
                "items": [["price": StripePrice.pro.price(), "quantity": 1]],
            ],
            [
                "start_date": .integer(created + 20 * day), "end_date": .integer(created + 50 * day),
                "items": [["price": StripePrice.basic.price(), "quantity": 1]],
            ],
        ]
        for (id, why, status, kinds) in [
            ("arranged", "another product comes next", "active", ["product_change_scheduled"]),
            ("arranged-released", "a schedule that let go arranges nothing", "released", []),
        ] as [(String, String, JSONText, [String])] {
            add(
                id,
                why,
                active { $0.items = [.init("si_1", .pro)] },
                schedule: [
                    "id": "sub_sched_1", "object": "subscription_schedule", "customer": "cus_1",
                    "end_behavior": "release", "phases": phases, "status": status, "subscription": "sub_1",
                ],
                is: kinds
            )
        }
        add(
            "many-lines",
            "the line that counts is not shown, and asked for",
            first,
            manyLines,
            further: [
                answer("/v1/invoices/in_1/lines?limit=100", manyLines.linePage(.endive, 0..<12))
            ],
            is: ["started"]
        )
        return cases
    }

    /// Eleven fees before the line of the period.
    private static let manyLines = invoice("subscription_create") {
        var fee = $0.lines[0]
        fee.isOneOff = true
        $0.lines = Array(repeating: fee, count: 11) + $0.lines
        $0.shownLines = 10
    }

    // MARK: Sessions of Checkout

    private static func sessionQuestions() -> [Case] {
        var cases: [Case] = []
        func add(_ id: String, _ why: String, _ members: KeyValuePairs<String, JSONText>, _ kinds: [String]) {
            var session = JSONMembers([
                ("id", "cs_1"), ("object", "checkout.session"), ("amount_total", 4900),
                ("client_reference_id", "user-42"), ("created", .integer(created - 600)), ("currency", "usd"),
                ("customer", "cus_1"), ("livemode", true), ("metadata", [:]), ("mode", "payment"),
                ("payment_intent", nil), ("payment_status", "paid"), ("status", "complete"),
            ])
            for (name, value) in members { session[name] = value }
            cases.append(
                question(
                    "session-\(id)",
                    why,
                    body: question("checkout.session", "cs_1"),
                    http: [answer(sessionPath, .object(session))],
                    .events(kinds)
                )
            )
        }
        func intent(refunded: Int64 = 0) -> JSONText {
            [
                "id": "pi_7", "object": "payment_intent",
                "latest_charge": [
                    "id": "ch_7", "object": "charge", "amount": 4900, "amount_refunded": .integer(refunded),
                    "created": .integer(created - 60), "refunded": .bool(refunded == 4900),
                ],
            ]
        }
        let book: JSONText = [
            "object": "list", "has_more": false,
            "data": [
                [
                    "id": "li_1", "object": "item", "quantity": 2,
                    "price": ["id": "price_book", "object": "price", "currency": "usd", "product": "prod_book"],
                ]
            ],
        ]
        let isOpen: KeyValuePairs<String, JSONText> = ["status": "open", "payment_status": "unpaid"]
        add("open", "the customer has not paid", isOpen, [])
        add("expired", "and never did", ["status": "expired", "payment_status": "unpaid"], [])
        add("paid", "sold", ["payment_intent": intent(), "line_items": book], ["one_time_purchased"])
        add("free", "sold for nothing", ["payment_status": "no_payment_required"], ["one_time_purchased"])
        add(
            "unpaid",
            "a payment that comes later",
            ["payment_intent": intent(), "payment_status": "unpaid"],
            ["purchase_pending"]
        )
        add(
            "part-refunded",
            "a part of it went back",
            ["payment_intent": intent(refunded: 100)],
            ["one_time_purchased"]
        )
        add("refunded", "all of it went back: nothing is sold", ["payment_intent": intent(refunded: 4900)], [])
        add("setup", "sold nothing", ["mode": "setup", "payment_status": "no_payment_required"], [])
        var subscription = active { $0.startDate = $0.start }.object(.endive)
        subscription["latest_invoice"] = .object(invoice("subscription_create").object(.endive))
        add(
            "subscription",
            "the subscription that it began, and whose it is",
            ["mode": "subscription", "subscription": .object(subscription)],
            ["started"]
        )
        return cases
    }
}

extension StripeSubscription {
    fileprivate func with(_ change: (inout StripeSubscription) -> Void) -> StripeSubscription {
        var subscription = self
        change(&subscription)
        return subscription
    }
}
