import AppleJWS
import FoundationEssentials
import NotificationSimulator
import Normalizer
import Testing

@Suite("Names of products that are more than an identifier")
struct AppleProductNameTests {
    let cases: AppleReportedCases

    init() throws { cases = try AppleReportedCases() }

    private func item(_ sku: String) -> [String: String] {
        [
            "productId": #""generic""#,
            "advancedCommerceInfo": "{\"items\":[{\"SKU\":\"\(sku)\",\"price\":9990}],\"requestReferenceId\":\"r\"}",
        ]
    }

    @Test("an item of Advanced Commerce is the product, and an upgrade is from item to item")
    func advancedCommerce() throws {
        let generic = ["productId": #""generic""#, "autoRenewProductId": #""generic""#]
        let begun = try cases.notified(
            "SUBSCRIBED",
            "INITIAL_BUY",
            of: cases.transaction("1", item("GOLD")),
            with: cases.renewal(generic),
            at: 0
        )
        #expect(begun.events.map(\.product) == [PurchasedProduct(id: "GOLD", group: "generic")])
        let upgraded = try cases.notified(
            "DID_CHANGE_RENEWAL_PREF",
            "UPGRADE",
            of: cases.transaction("2", from: 15, to: 45, item("PLATINUM")),
            with: cases.renewal(until: 45, generic),
            at: 15
        )
        var ledger = AccountLedger()
        let applied = [begun, upgraded].flatMap { ledger.apply($0) }
        guard case .productChanged(let change) = applied.last?.event.event else {
            Issue.record("no change")
            return
        }
        #expect(change.from == "GOLD" && change.to == "PLATINUM")
        let snapshot = try cases.state([begun, upgraded]).snapshot(at: cases.day(20))
        #expect(snapshot.product == "PLATINUM" && snapshot.pendingProduct == nil)
    }

    @Test("bills of a commitment are a plan of their own, and a switch of plan is a change of product")
    func billingPlan() throws {
        func plan(_ plan: String) -> [String: String] { ["billingPlanType": "\"\(plan)\""] }
        let begun = try cases.notified(
            "SUBSCRIBED",
            "INITIAL_BUY",
            of: cases.transaction("1", plan("BILLED_UPFRONT")),
            with: cases.renewal(),
            at: 0
        )
        #expect(begun.events.map(\.product?.basePlan) == ["BILLED_UPFRONT"])
        let changed = try cases.notified(
            "DID_CHANGE_RENEWAL_PREF",
            "DOWNGRADE",
            of: cases.transaction("1", plan("BILLED_UPFRONT")),
            with: cases.renewal(["renewalBillingPlanType": #""MONTHLY""#]),
            at: 10
        )
        guard case .productChangeScheduled(let change) = changed.events.first?.event else {
            Issue.record("no change")
            return
        }
        #expect(change.from == "basic" && change.to == "basic:MONTHLY")
        #expect(try cases.state([begun, changed]).snapshot(at: cases.day(11)).pendingProduct == "basic:MONTHLY")
        let renewed = try cases.notified(
            "DID_RENEW",
            of: cases.transaction("2", from: 30, to: 60, plan("MONTHLY")),
            with: cases.renewal(until: 60),
            at: 30
        )
        let state = try cases.state([begun, changed, renewed])
        #expect(state.snapshot(at: cases.day(31)).product == "basic:MONTHLY")
        #expect(state.snapshot(at: cases.day(31)).pendingProduct == nil)
    }

    @Test("which bill of a commitment a period is reaches event, facts and state, and comes with an upload too")
    func commitment() throws {
        func bill(_ number: Int) -> [String: String] {
            let info = """
                {"billingPeriodNumber":\(number),"totalBillingPeriods":12,"commitmentExpiresDate":\
                \(Int64(cases.day(360).timeIntervalSince1970 * 1000)),"commitmentPrice":119880}
                """
            return ["billingPlanType": #""MONTHLY""#, "commitmentInfo": info]
        }
        func stated(_ number: Int64) -> Commitment {
            Commitment(
                payment: number,
                payments: 12,
                total: Money(ExactDecimal(coefficient: 119_880, scale: 3) ?? ExactDecimal(0), "USD"),
                endsAt: cases.day(360)
            )
        }
        let begun = try cases.notified(
            "SUBSCRIBED",
            "INITIAL_BUY",
            of: cases.transaction("1", bill(1)),
            with: cases.renewal(),
            at: 0
        )
        let second = cases.transaction("2", from: 30, to: 60, bill(2))
        let renewed = try cases.notified("DID_RENEW", of: second, with: cases.renewal(until: 60), at: 30)
        #expect((begun.events + renewed.events).map(\.commitment) == [stated(1), stated(2)])
        #expect(try cases.uploaded(second, at: 31).events.map(\.commitment) == [stated(2)])
        let state = try cases.state([begun, renewed])
        #expect([10, 40].map { state.snapshot(at: cases.day($0)).commitment } == [stated(1), stated(2)])
        let event = try #require(renewed.events.first)
        #expect(try CanonicalJSON.value(NormalizedEvent.self, from: CanonicalJSON.bytes(event)) == event)
        let plain = try cases.notified("SUBSCRIBED", "INITIAL_BUY", of: cases.transaction(), at: 0)
        #expect(plain.events.map(\.commitment) == [nil])
    }

    @Test("the main item is the same in any order of the list, and stays so as long as it renews")
    func mainItem() throws {
        func items(_ list: String...) -> [String: String] {
            [
                "productId": #""generic""#, "autoRenewProductId": #""generic""#,
                "advancedCommerceInfo": "{\"items\":[\(list.joined(separator: ","))],\"requestReferenceId\":\"r\"}",
            ]
        }
        let plan = #"{"SKU":"PLAN","price":9000}"#
        let extra = #"{"SKU":"EXTRA","price":990}"#
        let other = #"{"SKU":"OTHER","price":990}"#
        for (list, main) in [
            ([plan, extra], "PLAN" as ProductID), ([extra, plan], "PLAN"), ([other, extra], "EXTRA"),
            ([extra, #"{"SKU":"PLAN","price":9000,"revocationDate":1}"#], "EXTRA"),
        ] {
            let members = items(list[0], list[1])
            let result = try cases.notified(
                "SUBSCRIBED",
                "INITIAL_BUY",
                of: cases.transaction("1", members),
                with: cases.renewal(members),
                at: 0
            )
            #expect(result.events.map(\.product?.id) == [main])
            #expect(result.events.map(\.renewal?.nextProduct) == [main])
        }
        // A dearer item joins at the next renewal: the item before is still the main one.
        let joined = try cases.notified(
            "DID_CHANGE_RENEWAL_STATUS",
            "AUTO_RENEW_ENABLED",
            of: cases.transaction("1", items(extra)),
            with: cases.renewal(items(plan, extra)),
            at: 1
        )
        #expect(joined.events.map(\.renewal?.nextProduct) == ["EXTRA"])
    }

    @Test("the other items of a subscription give access to their own products, as long as they are in it")
    func addOns() throws {
        func items(_ list: String) -> [String: String] {
            [
                "productId": #""generic""#, "autoRenewProductId": #""generic""#,
                "advancedCommerceInfo": #"{"requestReferenceId":"r","items":[{"SKU":"PLAN","price":9000}"# + list
                    + "]}",
            ]
        }
        let both = items(#",{"SKU":"EXTRA","price":990}"#)
        let begun = try cases.notified(
            "SUBSCRIBED",
            "INITIAL_BUY",
            of: cases.transaction("1", both),
            with: cases.renewal(both),
            at: 0
        )
        #expect(
            begun.events.map(\.product) == [
                PurchasedProduct(
                    id: "PLAN",
                    group: "generic",
                    addOns: [PurchasedProduct(id: "EXTRA", group: "generic")]
                )
            ]
        )
        func products(_ results: [Normalization], at days: Double) throws -> [ProductID] {
            guard case .granted(_, let grant) = try cases.state(results).access(at: cases.day(days)) else { return [] }
            return [grant.product] + (grant.otherProducts ?? [])
        }
        #expect(try products([begun], at: 10) == ["PLAN", "EXTRA"])
        let date = cases.day(12).timeIntervalSince1970 * 1000
        let removed = items(#",{"SKU":"EXTRA","price":990,"revocationDate":\#(Int64(date))}"#)
        let taken = try cases.notified(
            "METADATA_UPDATE",
            of: cases.transaction("1", removed),
            with: cases.renewal(removed),
            at: 12
        )
        for results in [[begun, taken], [taken]] {
            #expect(try products(results, at: 10) == ["PLAN", "EXTRA"])
            #expect(try products(results, at: 13) == ["PLAN"])
        }
        let renewed = try cases.notified(
            "DID_RENEW",
            of: cases.transaction("2", from: 30, to: 60, items("")),
            with: cases.renewal(until: 60, items("")),
            at: 30
        )
        #expect(try products([begun, renewed], at: 29) == ["PLAN", "EXTRA"])
        #expect(try products([begun, renewed], at: 31) == ["PLAN"])
    }

    @Test("the main item of a renewal is that of the period before, whatever the items cost")
    func keptMainItem() throws {
        func items(_ extra: Int, _ plan: String = #",{"SKU":"PLAN","price":9000}"#) -> [String: String] {
            [
                "productId": #""generic""#, "autoRenewProductId": #""generic""#,
                "advancedCommerceInfo": #"{"requestReferenceId":"r","items":[{"SKU":"EXTRA","price":\#(extra)}"# + plan
                    + "]}",
            ]
        }
        func period(_ number: Int, _ items: [String: String]) throws -> Normalization {
            let (from, to) = (Double(30 * number), Double(30 * number + 30))
            return try cases.notified(
                number == 0 ? "SUBSCRIBED" : "DID_RENEW",
                number == 0 ? "INITIAL_BUY" : nil,
                of: cases.transaction(String(number + 1), from: from, to: to, items),
                with: cases.renewal(until: to, items),
                at: from
            )
        }
        let periods = try [period(0, items(990)), period(1, items(19_990)), period(2, items(19_990))]
        let state = try cases.state(periods)
        for day in [10.0, 40, 70] {
            let snapshot = state.snapshot(at: cases.day(day))
            #expect(snapshot.product == "PLAN" && snapshot.pendingProduct == nil)
            guard case .granted(_, let grant) = snapshot.access else {
                Issue.record("no access")
                return
            }
            #expect([grant.product] + (grant.otherProducts ?? []) == ["PLAN", "EXTRA"])
        }
        var ledger = AccountLedger()
        let reported = periods.flatMap { ledger.apply($0) }
        let plan = PurchasedProduct(
            id: "PLAN",
            group: "generic",
            addOns: [PurchasedProduct(id: "EXTRA", group: "generic")]
        )
        #expect(reported.map(\.event.product) == [plan, plan, plan])
        let causes = reported.compactMap { applied -> LifecycleEvent.Renewed.Cause? in
            if case .renewed(let renewed) = applied.event.event { renewed.cause } else { nil }
        }
        #expect(causes == [.scheduled, .scheduled])
        // Without its item, the plan is over.
        let left = try cases.state(periods + [period(3, items(19_990, ""))])
        #expect(left.snapshot(at: cases.day(100)).product == "EXTRA")
    }
}
