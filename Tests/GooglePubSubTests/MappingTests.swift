import Foundation
import Normalizer
import NormalizerTesting
import Testing
import VectorGenerator

@testable import GooglePubSub

@Suite("Google mapping")
struct MappingTests {
    typealias Vectors = GoogleVectors

    private static let numbers = Array(0...30) + [-1, .max, .min]

    @Test("every number with every state comes to something", arguments: numbers)
    func matrix(number: Int) throws {
        for state in Play.states + ["", "SUBSCRIPTION_STATE_GIFTED"] {
            let purchase = Vectors.purchase(state)
            let result: Normalization
            do {
                result = try Play.map(number, purchase)
            } catch let error as DeliveryError {
                Issue.record("\(number) with \(state): \(error)")
                continue
            }
            #expect(result.events.isEmpty == (result.noChange != nil), "\(number) with \(state)")
            #expect(Set(result.events.map(\.id)).count == result.events.count, "\(number) with \(state)")
            #expect(result.events.allSatisfy { $0.app == Vectors.packageName && $0.subscription != nil })
        }
    }

    /// - Parameter item: the product, if the purchase has several items.
    private func lineage(of token: String, item: String? = nil) -> SubscriptionID {
        let name = PurchaseToken(token).fingerprint + (item.map { ":\($0)" } ?? "")
        return SubscriptionID(store: .playStore, environment: .production, id: name)
    }

    @Test("facts of items without an event are kept beside the events of others")
    func silentItemsKeepTheirFacts() throws {
        let purchase = Vectors.purchase("ACTIVE").with { purchase in
            purchase.items.append(Play.item.with { $0.product = "extra" })
        }
        let stale = try Play.map(12, purchase)
        #expect(stale.events.isEmpty)
        #expect(Set(stale.statements.map(\.subscription)).count == 2)

        // Money of one item went back.
        let voided = try ResolutionMapping(
            resolved: Play.resolved(
                Vectors.voidedHint(1, 1, order: "\(Vectors.order)..0"),
                [Play.found(.subscription, for: Vectors.token, purchase.json)]
            )
        ).normalization
        #expect(voided.kinds == ["refunded"])
        #expect(Set(voided.statements.map(\.subscription)).count == 2)
        #expect(Set(voided.furtherStatements.map(\.subscription)).isDisjoint(with: voided.events.map(\.subscription)))
        #expect(voided.furtherStatements.map { $0.facts.contains { $0.kind == .period } } == [true])
        let stored = try JSONEncoder().encode(voided)
        #expect(try JSONDecoder().decode(Normalization.self, from: stored) == voided)
    }

    @Test("an item of a purchase of which nothing went back keeps its facts beside the one that was taken back")
    func silentProductsKeepTheirFacts() throws {
        let other = #"{"productId":"gems","productOfferDetails":{"quantity":1,"refundableQuantity":1}}"#
        let product = Vectors.Product(details: ["quantity": "2", "refundableQuantity": "1"], otherItems: [other])
        let result = try Play.mapProduct(Vectors.voidedHint(2, 2, order: Vectors.productOrder), product)
        #expect(result.kinds == ["refunded"])
        #expect(
            result.statements.flatMap(\.facts).count { fact in
                if case .purchase = fact { true } else { false }
            } == 2
        )
    }

    // MARK: Identity

    @Test("an order makes Google's event and a relay's one")
    func ordersAreSharedWithRelays() throws {
        let event = try #require(try Play.map(2, Vectors.purchase("ACTIVE")).events.first)
        let relayed = SubscriptionID(store: .playStore, environment: .production, id: Vectors.order)
        #expect(event.id == .periodBegan(relayed, transaction: "\(Vectors.order)..1", product: "premium"))
        #expect(event.transaction == "\(Vectors.order)..1")
        #expect(event.facts.contains(.link(relayed)))
        let end = try #require(try Play.map(13, Vectors.purchase("EXPIRED")).events.first)
        #expect(end.id == .ended(relayed, transaction: "\(Vectors.order)..1", product: "premium", periodStart: nil))
    }

    @Test(
        "an overtaken notification and the one in time make one event",
        arguments: [
            ("ON_HOLD", 2, 5), ("IN_GRACE_PERIOD", 2, 6), ("PAUSED", 1, 10), ("EXPIRED", 3, 13), ("CANCELED", 7, 3),
            ("PENDING", 2, 4), ("PENDING_PURCHASE_CANCELED", 4, 20),
        ]
    )
    func overtakenNotificationsAddNothing(state: String, overtaken: Int, inTime: Int) throws {
        let purchase = Vectors.purchase(state).with {
            $0.items[0].order = $0.items[0].order.map { _ in "\(Vectors.order)..1" }
        }
        let late = try Play.map(overtaken, purchase, at: Vectors.event - Vectors.hour)
        let timely = try Play.map(inTime, purchase)
        #expect(late.events.last?.id == timely.events.last?.id)
    }

    @Test("revoked and then expired is one end")
    func revocationAndItsEchoAreOne() throws {
        let revoked = try Play.map(12, Vectors.purchase("EXPIRED"))
        let echo = try Play.map(13, Vectors.purchase("EXPIRED"), at: Vectors.event + 3000)
        #expect(revoked.kinds == ["revoked"])
        #expect(echo.kinds == ["expired"])
        #expect(revoked.events.map(\.id) == echo.events.map(\.id))
    }

    @Test("8 beside 19 is one change of price")
    func priceConfirmationIsFolded() throws {
        var purchase = Vectors.purchase("ACTIVE")
        purchase.items[0].plan["priceChangeDetails"] = """
            {"newPrice":\(Vectors.money(12)),"priceChangeMode":"PRICE_INCREASE","priceChangeState":"CONFIRMED"}
            """
        let old = try Play.map(8, purchase)
        let new = try Play.map(19, purchase, at: Vectors.event + 40)
        #expect(old.kinds == ["price_change"])
        #expect(old.events.map(\.id) == new.events.map(\.id))
    }

    /// `expectedNewPriceChargeTime` is the renewal that has the new price, which need not be the next one
    /// (https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.subscriptionsv2#SubscriptionItemPriceChangeDetails).
    @Test(
        "the next price is the new one from the renewal on that has it",
        arguments: [("OPT_OUT_PRICE_INCREASE", "OUTSTANDING"), ("PRICE_INCREASE", "CONFIRMED")],
        [(30, 12), (60, 9)] as [(Int64, Int64)]
    )
    func nextPrice(change: (String, String), charge: (Int64, Int64)) throws {
        var purchase = Vectors.purchase("ACTIVE")
        let time = Vectors.event + charge.0 * Vectors.day
        purchase.items[0].price = Vectors.money(9)
        purchase.items[0].plan["priceChangeDetails"] = """
            {"newPrice":\(Vectors.money(12)),"priceChangeMode":"\(change.0)","priceChangeState":"\(change.1)",\
            "expectedNewPriceChargeTime":\(Vectors.JSON.time(time))}
            """
        let event = try #require(try Play.map(19, purchase).events.first)
        #expect(event.renewal?.nextPrice == ExactDecimal("\(charge.1)").map { Money($0, "EUR") })
    }

    /// A day was added to twenty hours that were left.
    @Test("a top-up is to be acknowledged within half of the time that its order paid for")
    func topUpDeadline() throws {
        let order = "GPA.3388-7777-6666-55555"
        let purchase = Vectors.purchase("ACTIVE").with {
            $0.start = Vectors.event
            $0.acknowledgement = "PENDING"
            $0.linked = Vectors.oldToken
            $0.items[0].isPrepaid = true
            $0.items[0].order = order
            $0.items[0].expiry = Vectors.event + 44 * Vectors.hour
        }
        let paid = """
            {"orderId":"\(order)","state":"PROCESSED","lineItems":[{"productId":"premium","subscriptionDetails":\
            {"servicePeriodStartTime":\(Vectors.JSON.time(Vectors.event + 20 * Vectors.hour)),\
            "servicePeriodEndTime":\(Vectors.JSON.time(Vectors.event + 44 * Vectors.hour))}}]}
            """
        let events = try Play.map(4, purchase, others: [Play.found(.order, for: order, paid)]).events
        #expect(
            events.last?.event
                == .acknowledgementRequired(.init(deadline: Play.date(Vectors.event + 12 * Vectors.hour)))
        )
    }

    @Test("published again under another message id it is the same event")
    func republishedCopiesAreOne() throws {
        let first = try Play.map(7, Vectors.purchase("ACTIVE"), askedAt: Vectors.noon)
        let copy = try Play.map(7, Vectors.purchase("ACTIVE"), askedAt: Vectors.noon + Vectors.hour)
        #expect(first.events.map(\.id) == copy.events.map(\.id))
    }

    @Test("a further item has a lineage and identities of its own")
    func itemsAreApart() throws {
        let purchase = Vectors.purchase("ACTIVE").with { $0.items.append($0.items[0].with { $0.product = "voice" }) }
        let events = try Play.map(2, purchase).events
        #expect(events.count == 2)
        #expect(Set(events.map(\.id)).count == 2)
        #expect(Set(events.compactMap(\.subscription)).count == 2)
        #expect(events.map(\.product?.id) == ["premium", "voice"])
        let ledger = AccountLedger(applying: events)
        for product in ["premium:monthly", "voice:monthly"] as [ProductID] {
            #expect(
                ledger.states.contains { $0.snapshot(at: Play.date(Vectors.noon)).product == product },
                "\(product) gives access"
            )
        }
    }

    @Test("dates on hold swap no lineages, and a deferred change leaves the lineage to what follows")
    func mainItem() throws {
        let hold = Vectors.purchase("ON_HOLD").with {
            $0.items.append(
                $0.items[0].with {
                    $0.product = "voice"; $0.expiry = Vectors.event + 9 * Vectors.day
                }
            )
        }
        let held = try Play.map(5, hold).events
        #expect(held.map(\.product?.id) == ["premium", "voice"])
        #expect(held.first?.subscription == lineage(of: Vectors.token, item: "premium"))
        for state in ["ACTIVE", "CANCELED", "EXPIRED"] {
            let replaced = Vectors.purchase(state).with {
                $0.linked = Vectors.oldToken
                $0.items.insert(
                    $0.items[0].with {
                        $0.product = "basic"
                        $0.order = "GPA.3399-0000-1111-22222..3"
                        $0.isRenewing = false
                        $0.expiry = Vectors.event - 9 * Vectors.day
                    },
                    at: 0
                )
            }
            let event = try #require(try Play.map(2, replaced).events.first)
            #expect(event.subscription == lineage(of: Vectors.token))
            #expect(event.product?.id == "premium", "\(state)")
        }
    }

    // MARK: Environment

    @Test("a licence tester's purchase is sandbox, a console test says nothing, and absence is production")
    func environments() throws {
        let tester = try Play.map(4, Vectors.purchase("ACTIVE").with { $0.isTest = true })
        #expect(tester.events.allSatisfy { $0.environment == .sandbox && $0.subscription?.environment == .sandbox })
        #expect(try Play.map(4, Vectors.purchase("ACTIVE")).events.allSatisfy { $0.environment == .production })
        let test = try ResolutionMapping(
            resolved: Play.resolved(Vectors.notification("testNotification", [:]), [])
        ).normalization
        #expect(test.events.map(\.environment) == [.unknown])
        let product = try Play.mapProduct(Vectors.oneTimeHint(1), Vectors.Product(isTest: true))
        #expect(product.events.allSatisfy { $0.environment == .sandbox })
    }

    // MARK: Pitfalls

    @Test("a pause that was planned takes no access")
    func plannedPauseKeepsAccess() throws {
        let event = try #require(try Play.map(11, Vectors.purchase("ACTIVE")).events.first)
        #expect(event.event.accessEffect == .none)
        #expect(!event.facts.contains { if case .pause(let pause) = $0 { pause.status == .paused } else { false } })
        #expect(access(after: [event]))
    }

    @Test("a deferral moves the end, and changes no product")
    func deferralExtends() throws {
        let end = Vectors.event + 44 * Vectors.day
        let event = try #require(
            try Play.map(9, Vectors.purchase("ACTIVE").with { $0.items[0].expiry = end }).events.first
        )
        #expect(event.event == .extended(.init(to: Play.date(end), reason: .deferral)))
        #expect(access(after: [event], at: end - 1))
        #expect(!access(after: [event], at: end))
    }

    @Test("a cancellation that arrives before the purchase locks nobody out")
    func cancellationBeforePurchase() throws {
        let canceled = Vectors.purchase("CANCELED").with {
            $0.start = Vectors.event - 2 * Vectors.second
            $0.items[0].order = Vectors.order
        }
        let late = try Play.map(4, canceled, at: Vectors.event - 2 * Vectors.second, askedAt: Vectors.noon)
        let early = try Play.map(3, canceled, askedAt: Vectors.noon - Vectors.second)
        for events in [early.events + late.events, late.events + early.events] {
            #expect(access(after: events))
            #expect(state(events).snapshot(at: Play.date(Vectors.noon)).willRenew == false)
        }
    }

    @Test(
        "a purchase that could not be looked up gets no access, and no end but that of the notification",
        arguments: [1, 2, 3, 4, 5, 6, 7, 12, 13]
    )
    func failedLookupsChangeNothing(number: Int) throws {
        for outcome in [PlayAnswer.Outcome.invalid, .denied, .unavailable] {
            let resolved = try Play.resolved(
                Vectors.hint(number),
                [.init(.subscription, about: Vectors.token, PlayAnswer(outcome, status: 400))]
            )
            let error = #expect(throws: DeliveryError.self) {
                try ResolutionMapping(resolved: resolved).normalization
            }
            #expect(error?.isAuthentic == true)
            #expect((error?.code == .unavailable) == (outcome == .unavailable))
        }
        for outcome in [PlayAnswer.Outcome.gone, .notFound] {
            let resolved = try Play.resolved(
                Vectors.hint(number),
                [.init(.subscription, about: Vectors.token, PlayAnswer(outcome, status: 410))]
            )
            let result = try ResolutionMapping(resolved: resolved).normalization
            #expect(result.kinds == (number == 12 ? ["revoked"] : number == 13 ? ["expired"] : []))
            #expect(result.events.allSatisfy { $0.origin.channel == .webhook && $0.environment == .production })
            // An end is what the notification itself says.
            let closure = Fact.Closure(at: Play.date(Vectors.event), reason: .unknown, coversItems: true)
            #expect(result.events.allSatisfy { $0.facts == [.closure(closure)] })
        }
    }

    @Test("a purchase that was never paid is neither canceled nor refunded")
    func unpaidIsNoRefund() throws {
        #expect(try Play.map(20, Vectors.purchase("PENDING_PURCHASE_CANCELED")).kinds == ["purchase_pending_canceled"])
        let unpaid = Vectors.Product(state: "CANCELLED", order: nil, completion: nil)
        let result = try Play.mapProduct(Vectors.oneTimeHint(2), unpaid)
        #expect(result.kinds == ["purchase_pending_canceled"])
        #expect(!result.events.contains { $0.facts.contains { if case .refund = $0 { true } else { false } } })
        #expect(try Play.mapProduct(Vectors.oneTimeHint(1), Vectors.Product()).kinds == ["one_time_purchased"])
    }

    @Test(
        "an end is the customer's only if Google says so",
        arguments: [
            ("userInitiated", "customer"), ("systemInitiated", "billing"), ("developerInitiated", "developer"),
            ("replacement", "replaced"), ("courtInitiated", "unknown"),
        ]
    )
    func expiryReasons(by: String, reason: String) throws {
        let purchase = Vectors.purchase("EXPIRED").with { $0.extra["canceledStateContext"] = Vectors.canceled(by) }
        let event = try #require(try Play.map(13, purchase).events.first)
        guard case .expired(let expired) = event.event else {
            Issue.record("\(event.kind)")
            return
        }
        #expect(expired.reason.rawValue == reason)
    }

    @Test("a part is no full refund, and a hint against the answer is none at all")
    func partialRefunds() throws {
        let part = try Play.mapProduct(
            Vectors.voidedHint(2, 2, order: Vectors.productOrder),
            Vectors.Product(details: ["quantity": "10", "refundableQuantity": "7"])
        )
        guard case .refunded(let refund) = try #require(part.events.first).event else {
            Issue.record("\(part.kinds)")
            return
        }
        #expect(refund.scope == .quantity(3))
        #expect(part.events.first?.event.accessEffect == LifecycleEvent.AccessEffect.none)
        let contradicted = try Play.mapProduct(
            Vectors.voidedHint(2, 1, order: Vectors.productOrder),
            Vectors.Product(details: ["quantity": "10", "refundableQuantity": "10"])
        )
        #expect(contradicted.events.isEmpty)
    }

    @Test("money of a past period takes nothing away")
    func refundOfPastOrder() throws {
        let renewed = try Play.map(2, Vectors.purchase("ACTIVE"))
        let refunded = try ResolutionMapping(
            resolved: Play.resolved(
                Vectors.voidedHint(1, 1, order: "\(Vectors.order)..0"),
                [Play.found(.subscription, for: Vectors.token, Vectors.purchase("ACTIVE").json)]
            )
        ).normalization
        #expect(refunded.kinds == ["refunded"])
        #expect(refunded.events.first?.period == nil)
        #expect(access(after: renewed.events + refunded.events))
    }

    @Test("nothing is dropped: every body and number gives an event or says why not")
    func nothingIsDropped() throws {
        for number in [17, 18, 22] {
            #expect(try Play.map(number, Vectors.purchase("CANCELED")).kinds.last == "auto_renew_disabled")
        }
        #expect(try Play.map(17, Vectors.purchase("ACTIVE")).kinds == ["product_changed"])
        #expect(try Play.map(4711, Vectors.purchase("ACTIVE")).kinds == ["unmapped"])
        #expect(try Play.map(4711, Vectors.purchase("ACTIVE")).events.first?.facts.isEmpty == false)
    }

    @Test("canceled is not ended")
    func canceledKeepsAccess() throws {
        let end = Vectors.event + 20 * Vectors.day
        let event = try #require(try Play.map(3, Vectors.purchase("CANCELED")).events.first)
        let feedback = "CANCEL_SURVEY_REASON_COST_RELATED"
        #expect(
            event.event == .autoRenewDisabled(.init(reason: .customer, accessUntil: Play.date(end), feedback: feedback))
        )
        #expect(access(after: [event], at: end - 1))
        #expect(!access(after: [event], at: end))
    }

    @Test("only states with access give access", arguments: Play.states)
    func accessByState(state: String) throws {
        let purchase = Vectors.purchase(state)
        let expected = ["ACTIVE", "CANCELED", "IN_GRACE_PERIOD"].contains(state)
        for number in 1...22 {
            let result = try Play.map(number, purchase)
            var known = SubscriptionState(lineage(of: Vectors.token))
            for event in result.events { _ = known.apply(event) }
            if let statement = result.noChange?.statement { known.apply(statement) }
            #expect(
                known.access(at: Play.date(Vectors.noon)).isGranted == expected,
                "\(state) after \(number)"
            )
        }
    }

    @Test("bought and canceled within moments is both")
    func purchaseThatIsCanceledAlready() throws {
        let purchase = Vectors.purchase("CANCELED").with { $0.items[0].order = Vectors.order }
        #expect(try Play.map(4, purchase).kinds == ["started", "auto_renew_disabled"])
    }

    @Test("no trial is made up of an offer and an order's suffix")
    func offerIsNoTrial() throws {
        var purchase = Vectors.purchase("ACTIVE").with { $0.items[0].order = Vectors.order }
        purchase.items[0].offer = "welcome"
        purchase.items[0].phase = nil
        guard case .started(let started) = try #require(try Play.map(4, purchase).events.first).event else {
            Issue.record("not started")
            return
        }
        #expect(started.phase == .promotional)
        #expect(started.price == nil)
    }

    @Test("12 is revoked, 13 is expired; 7 is no resumption")
    func numbersMeanWhatTheyMean() throws {
        #expect(try Play.map(12, Vectors.purchase("EXPIRED")).kinds == ["revoked"])
        #expect(try Play.map(13, Vectors.purchase("EXPIRED")).kinds == ["expired"])
        #expect(try Play.map(7, Vectors.purchase("ACTIVE")).kinds == ["auto_renew_enabled"])
    }

    @Test("a chargeback is visible")
    func chargebacks() throws {
        let order = """
            {"orderId":"\(Vectors.order)..1","state":"REFUNDED","orderHistory":{"refundEvent":\
            {"eventTime":"2026-03-01T11:58:00Z","refundReason":"CHARGEBACK"}}}
            """
        let result = try ResolutionMapping(
            resolved: Play.resolved(
                Vectors.voidedHint(1, 1, order: "\(Vectors.order)..1"),
                [
                    Play.found(.subscription, for: Vectors.token, Vectors.purchase("EXPIRED").json),
                    Play.found(.order, for: "\(Vectors.order)..1", order),
                ]
            )
        ).normalization
        #expect(result.kinds == ["chargeback", "revoked"])
    }

    @Test("one part of an amount after another is one refund after another, and each is said once")
    func amounts() throws {
        func refunded(_ units: [Int64], asked: Int64 = Vectors.noon) throws -> NormalizedEvent {
            let parts = units.map {
                #"{"state":"PROCESSED_SUCCESSFULLY","refundDetails":{"total":\#(Vectors.money($0))}}"#
            }
            let order = """
                {"orderId":"\(Vectors.order)..1","state":"PARTIALLY_REFUNDED",\
                "orderHistory":{"partialRefundEvents":[\(parts.joined(separator: ","))]}}
                """
            let result = try ResolutionMapping(
                resolved: Play.resolved(
                    Vectors.voidedHint(1, 1, order: "\(Vectors.order)..1"),
                    [
                        Play.found(.subscription, for: Vectors.token, Vectors.purchase("ACTIVE").json),
                        Play.found(.order, for: "\(Vectors.order)..1", order),
                    ],
                    askedAt: asked
                )
            ).normalization
            return try #require(result.events.first)
        }
        let first = try refunded([2])
        #expect(first.id == (try refunded([2], asked: Vectors.noon + Vectors.hour)).id)
        let second = try refunded([2, 3])
        #expect(first.id != second.id)
        guard case .refunded(let refund) = second.event else {
            Issue.record("\(second.kind)")
            return
        }
        #expect(refund.scope == .amount(Money(ExactDecimal(5), "EUR")))
        #expect(second.price == Price(Money(ExactDecimal(5), "EUR"), .refund))
    }

    @Test("a revocation does not read as the customer's wish", arguments: [12, 13])
    func reasonOfRevocation(number: Int) throws {
        let facts = try Play.map(number, Vectors.purchase("EXPIRED")).events.flatMap(\.facts)
        let reasons = facts.compactMap { fact in if case .periodEnded(let end) = fact { end.reason } else { nil } }
        #expect(reasons == [number == 12 ? .unknown : .customer])
    }

    @Test("an order of another purchase says nothing about this one")
    func foreignOrderIsIgnored() throws {
        let order = """
            {"orderId":"\(Vectors.order)..1","state":"REFUNDED","purchaseToken":"somebody else's","orderHistory":\
            {"refundEvent":{"eventTime":"2026-03-01T11:58:00Z","refundReason":"CHARGEBACK"}}}
            """
        let result = try ResolutionMapping(
            resolved: Play.resolved(
                Vectors.voidedHint(1, 1, order: "\(Vectors.order)..1"),
                [
                    Play.found(.subscription, for: Vectors.token, Vectors.purchase("EXPIRED").json),
                    Play.found(.order, for: "\(Vectors.order)..1", order),
                ]
            )
        ).normalization
        #expect(result.kinds == ["refunded", "revoked"])
    }

    // MARK: With what was known

    @Test("a renewal whose order is known is no news")
    func knownOrderIsNoRenewal() throws {
        var ledger = AccountLedger()
        _ = ledger.apply(try Play.map(2, Vectors.purchase("ACTIVE")))
        let again = ledger.apply(try Play.map(2, Vectors.purchase("ACTIVE"), at: Vectors.event + 5000))
        #expect(again.map(\.disposition) == [.duplicate])
    }

    @Test("an extension names the end before")
    func extensionNamesEndBefore() throws {
        var ledger = AccountLedger()
        _ = ledger.apply(try Play.map(2, Vectors.purchase("ACTIVE")))
        let end = Vectors.event + 44 * Vectors.day
        let moved = Vectors.purchase("ACTIVE").with { $0.items[0].expiry = end }
        let extended = ledger.apply(try Play.map(9, moved, at: Vectors.event + 9000))
        let before = Play.date(Vectors.event + 30 * Vectors.day)
        #expect(
            extended.map(\.event.event) == [.extended(.init(from: before, to: Play.date(end), reason: .deferral))]
        )
    }

    // MARK: Help

    private func state(_ events: [NormalizedEvent]) -> SubscriptionState {
        var state = SubscriptionState(lineage(of: Vectors.token))
        for event in events { _ = state.apply(event) }
        return state
    }

    private func access(after events: [NormalizedEvent], at time: Int64 = Vectors.noon) -> Bool {
        state(events).access(at: Play.date(time)).isGranted
    }
}

extension AccessDecision {
    var isGranted: Bool { if case .granted = self { true } else { false } }
}
