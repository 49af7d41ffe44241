import CustomerReport
import FoundationEssentials
import LifecycleEvents
import Normalizer
import Testing

@Suite("Report about a customer") struct CustomerReportTests {
    static let start = Date(timeIntervalSince1970: 1_770_000_000)
    static let day = 86_400.0

    static func event(
        _ event: LifecycleEvent,
        id: String,
        at date: Date,
        product: ProductID = "pro",
        facts: [Fact],
        lineage: String = "1000"
    ) -> LogLine {
        .event(
            NormalizedEvent(
                id: EventID(.notified, in: SubscriptionID(store: .appStore, environment: .production, id: lineage), id),
                event: event,
                provider: .apple,
                store: .appStore,
                environment: .production,
                subscription: SubscriptionID(store: .appStore, environment: .production, id: lineage),
                transaction: "t-\(id)",
                product: PurchasedProduct(id: product),
                occurredAt: date,
                effectiveAt: date,
                assertedAt: date,
                receivedAt: date,
                facts: facts,
                origin: Origin(
                    type: "SUBSCRIBED",
                    channel: .webhook,
                    evidence: .init(.unchecked),
                    digest: "",
                    mapper: "test"
                )
            )
        )
    }

    static func life(product: ProductID = "pro") -> [LogLine] {
        let end = start.addingTimeInterval(30 * day)
        let period = ServicePeriod(start: start, end: end)
        return [
            event(
                .started(.init(origin: .new, phase: .regular, period: period)),
                id: "a",
                at: start,
                product: product,
                facts: [.period(.init(period, product: product, phase: .regular, transaction: "t1"))]
            ),
            event(
                .expired(.init(reason: .customer)),
                id: "b",
                at: end,
                product: product,
                facts: [.periodEnded(.init(start: start, transaction: "t1", at: end, reason: .customer))]
            ),
        ]
    }

    @Test("says in words which statements cannot all be true")
    func contradictions() {
        let owners = ["ada", "ben"].enumerated().map { day, name in
            Self.event(
                .autoRenewEnabled,
                id: name,
                at: Self.start.addingTimeInterval(Double(day + 1) * Self.day),
                facts: [.owner(Account(name, .appUserID))]
            )
        }
        let page = CustomerReportPage(Self.life() + owners, at: Self.start.addingTimeInterval(5 * Self.day)).html(
            title: "Customer"
        )
        #expect(
            page.contains(
                "<li>another account claims the purchase: apple SUBSCRIBED by webhook, stated 2026-02-04T02:40:00.000Z</li>"
            )
        )
        #expect(!page.contains("Contradiction("))
    }

    @Test("says why there is access, and why there is none")
    func decision() {
        let during = CustomerReportPage(Self.life(), at: Self.start.addingTimeInterval(Self.day)).html(
            title: "Customer"
        )
        #expect(during.contains("there is access until 2026-03-04T02:40:00Z, because of a paid period of pro"))
        let after = CustomerReportPage(Self.life(), at: Self.start.addingTimeInterval(40 * Self.day)).html(
            title: "Customer"
        )
        #expect(after.contains("there is no access since 2026-03-04T02:40:00Z: the customer canceled."))
        // Both pictures show the access that there was.
        for page in [during, after] {
            #expect(page.contains("<title>granted from 2026-02-02T02:40:00Z to 2026-03-04T02:40:00Z</title>"))
        }
    }

    @Test(
        "shows what a payload says as text and never as markup",
        arguments: [
            "<script>alert(1)</script>", "\" onmouseover=\"alert(1)", "' autofocus onfocus='alert(1)",
            "</title><img src=x onerror=alert(1)>",
            "&lt;b&gt;", "a\u{0}b\u{7}", "\u{202E}gpj.exe", "</style><script>1</script>", "]]><!--",
        ]
    )
    func hostile(text: String) {
        let report = CustomerReportPage(
            Self.life(product: ProductID(text)),
            at: Self.start.addingTimeInterval(Self.day)
        )
        let page = report.html(title: text, search: .init(action: "/", query: text, time: text), notice: text)
        let plain = CustomerReportPage(Self.life(), at: Self.start.addingTimeInterval(Self.day))
            .html(title: "pro", search: .init(action: "/", query: "pro", time: "pro"), notice: "pro")
        // The same elements, whatever the texts are.
        func tags(_ page: String) -> [String] {
            page.split(separator: "<").map { String($0.prefix { $0 != " " && $0 != ">" }) }
        }
        #expect(tags(page) == tags(plain))
        #expect(page.filter { $0 == "\"" }.count == plain.filter { $0 == "\"" }.count)
        #expect(page.filter { $0 == "'" }.count == plain.filter { $0 == "'" }.count)
        #expect(!page.contains("\u{0}") && !page.contains("\u{202E}"))
    }

    @Test("loads nothing, runs nothing, and its policy names the one style sheet that it has")
    func isolation() throws {
        let page = CustomerReportPage(Self.life(), at: Self.start).html(title: "Customer")
        for word in ["<script", "<link", "src=", "http://", "https://", "url(", " style=", "@import"] {
            #expect(!page.contains(word), "\(word)")
        }
        #expect(CustomerReportPage.contentSecurityPolicy.hasPrefix("default-src 'none'; style-src 'sha256-"))
    }

    @Test("shows a price where money moved, both times of an event, and which report of the same was the news")
    func rows() {
        let lines = (Self.life() + [Self.life()[0]]).enumerated().compactMap { index, line -> LogLine? in
            guard case .event(var event) = line else { return nil }
            event.price = Price(Money(ExactDecimal(10), "USD"), .charged)
            event.receivedAt += Double(index)
            if event.event.kind == .expired { event.occurredAt -= 3600 }
            if index == 2 {
                event.id = EventID(
                    .notified,
                    in: SubscriptionID(store: .appStore, environment: .production, id: "1000"),
                    "c"
                )
            }
            return .event(event)
        }
        let page = CustomerReportPage(lines.reversed(), at: Self.start).html(title: "Customer")
        #expect(page.contains("<td>started</td><td>news</td><td class=\"name\">pro</td><td>10 USD</td>"))
        #expect(page.contains("<td>started</td><td>known before</td>"))
        #expect(
            page.contains(
                """
                2026-03-04T01:40:00Z<br>takes effect 2026-03-04T02:40:00Z</td><td>expired</td><td>news</td><td class="name">pro</td><td></td>
                """
            )
        )
    }

    @Test("calls no news what was overtaken when it came")
    func overtaken() {
        func setting(_ event: LifecycleEvent, _ id: String, isOn: Bool, day: Double) -> LogLine {
            Self.event(
                event,
                id: id,
                at: Self.start + day * Self.day,
                facts: [.renewalIntent(.init(RenewalTerms(willRenew: isOn)))]
            )
        }
        let off = setting(.autoRenewDisabled(.init(reason: .customer)), "off", isOn: false, day: 1)
        let on = setting(.autoRenewEnabled, "on", isOn: true, day: 2)
        guard case .event(var late) = off else { return }
        late.receivedAt += 3 * Self.day
        let page = CustomerReportPage(Self.life() + [.event(late), on], at: Self.start).html(title: "Customer")
        #expect(page.contains("<td>auto_renew_disabled</td><td>overtaken</td>"))
        #expect(page.contains("<td>auto_renew_enabled</td><td>news</td>"))
    }

    @Test("has a page for nothing, and for a purchase without an end")
    func edges() {
        let empty = CustomerReportPage([], at: Self.start).html(title: "Nothing", notice: "Nothing was found.")
        #expect(empty.contains("Nothing was found."))
        let forever = Self.event(
            .oneTimePurchased(.init(type: .nonConsumable, quantity: 1)),
            id: "c",
            at: Self.start,
            facts: [
                .purchase(
                    .init(
                        transaction: "t",
                        product: "lifetime",
                        purchase: .init(type: .nonConsumable, quantity: 1),
                        at: Self.start
                    )
                )
            ]
        )
        let page = CustomerReportPage([forever], at: Self.start.addingTimeInterval(400 * Self.day)).html(
            title: "Customer"
        )
        #expect(page.contains("there is access without an end"))
    }

    @Test("the page of a lineage with many periods has a bounded picture")
    func bounded() {
        let lines = (0..<300).map { index in
            let start = Self.start.addingTimeInterval(Double(index) * Self.day)
            let period = ServicePeriod(start: start, end: start.addingTimeInterval(Self.day))
            return Self.event(
                .renewed(.init(cause: .scheduled, phase: .regular, period: period)),
                id: "e\(index)",
                at: start,
                facts: [.period(.init(period, product: "pro", phase: .regular, transaction: "t\(index)"))]
            )
        }
        let page = CustomerReportPage(lines, at: Self.start).html(title: "Customer")
        // The newest 200 periods, the band of access, and nothing else.
        #expect((200...210).contains(page.split(separator: "<rect").count))
    }
}
