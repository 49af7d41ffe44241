// A customer of two plans: basic by the month, an upgrade in the middle of it, the end, and then a year with credits each month.

import Foundation
import Normalizer

let policy = CreditPolicy([
    "basic": .init(credits: 200, price: Money(ExactDecimal(10), "USD")),
    "pro": .init(credits: 500, price: Money(ExactDecimal(20), "USD")),
    "pro_year": .init(credits: 500, price: Money(ExactDecimal(200), "USD"), every: .month),
])
let purchase = SubscriptionID(store: .appStore, environment: .production, id: "2000000123")
var state = SubscriptionState(purchase)

func time(_ text: String) -> Date { (try? Date("\(text)T00:00:00Z", strategy: .iso8601)) ?? .distantPast }

/// The adapter's result for the notification of a paid period.
@MainActor func buy(
    _ product: ProductID,
    _ transaction: TransactionID,
    from start: String,
    until end: String,
    for price: Int64
) {
    let period = ServicePeriod(start: time(start), end: time(end))
    let charge = Price(Money(ExactDecimal(price), "USD"), .charged)
    state.apply(
        StoreStatement(
            subscription: purchase,
            provider: .apple,
            assertedAt: time(start),
            facts: [
                .period(.init(period, product: product, phase: .regular, transaction: transaction)),
                .charge(.init(transaction: transaction, price: charge, at: time(start))),
            ],
            origin: Origin(
                type: "DID_RENEW",
                channel: .webhook,
                evidence: .init(.unchecked),
                digest: transaction.rawValue,
                mapper: "example/1"
            )
        )
    )
}

var uses: [CreditUse] = []

@MainActor func balance(on day: String) -> Int64 {
    CreditStatement(of: state, under: policy, uses: uses, at: time(day)).balance
}

// snippet.show
buy("basic", "1", from: "2026-04-01", until: "2026-05-01", for: 10)
uses.append(CreditUse(id: "job-1", credits: 80, at: time("2026-04-10")))
print("basic, 80 used:", balance(on: "2026-04-15"))  // 120

buy("pro", "2", from: "2026-04-16", until: "2026-05-16", for: 20)
print("upgrade at half the cycle:", balance(on: "2026-04-16"))  // 375 + 120 = 495

uses.append(CreditUse(id: "job-2", credits: 300, at: time("2026-05-01")))
print("300 used:", balance(on: "2026-05-15"))  // 195
print("canceled, and over:", balance(on: "2026-05-16"))  // 120, what was left of basic

buy("pro_year", "3", from: "2026-08-31", until: "2027-08-31", for: 200)
print("a year:", balance(on: "2026-08-31"))  // 500 + 120 = 620
uses.append(CreditUse(id: "job-3", credits: 480, at: time("2026-09-15")))
print("480 used:", balance(on: "2026-09-29"))  // 140
print("the second month:", balance(on: "2026-09-30"))  // 500 + 120 = 620
print("the year is over:", balance(on: "2027-08-31"))  // 120
// snippet.hide
