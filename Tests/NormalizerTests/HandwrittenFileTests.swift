import Foundation
import Normalizer
import Testing

@Suite("Policies and catalogues that people write")
struct HandwrittenFileTests {
    @Test(
        "an unknown member of a policy is refused by its name",
        arguments: [
            (
                #"{"allowances":{"p":{"credits":100,"trialCredits":0}}}"#,
                "member allowances.p.trialCredits is unknown; known are credits, every, family_shared_credits, price, trial_credits"
            ),
            (
                #"{"allowances":{"p":{"credits":1,"every":{"months":1,"days":0,"weeks":2}}}}"#,
                "member allowances.p.every.weeks is unknown; known are days, months"
            ),
            (
                #"{"allowances":{"p":{"credits":1}},"owe":true}"#,
                "member owe is unknown; known are allowances, carries_over, owes, rounding"
            ),
        ]
    )
    func policy(json: String, reason: String) {
        #expect(refusal(of: CreditPolicy.self, json) == reason)
    }

    @Test(
        "an unknown member of a catalogue is refused by its name",
        arguments: [
            (
                #"{"one_time_products":[{"id":"p","type":"non_renewing","durations":{"months":1,"days":0}}]}"#,
                "member one_time_products[0].durations is unknown; known are duration, id, type"
            ),
            (
                #"[{"id":"p","group":"g","level":1,"duration":{"months":1,"days":0},"rank":2}]"#,
                "member [0].rank is unknown; known are duration, group, id, level"
            ),
            (#"{"unlist":"consumable"}"#, "member unlist is unknown; known are one_time_products, products, unlisted"),
        ]
    )
    func catalogue(json: String, reason: String) {
        #expect(refusal(of: ProductCatalog.self, json) == reason)
    }

    private func refusal<Value: Decodable>(of _: Value.Type, _ json: String) -> String? {
        do throws(InvalidValue) {
            _ = try CanonicalJSON.value(Value.self, from: Array(json.utf8))
            return nil
        } catch {
            return error.description
        }
    }

    @Test("all members of a policy are read as they are written")
    func members() throws {
        let policy = CreditPolicy(
            [
                "p": .init(
                    credits: 100,
                    trialCredits: 0,
                    familySharedCredits: 10,
                    price: Money(ExactDecimal(9), "EUR"),
                    every: CalendarDuration(months: 1, days: 3)
                )
            ],
            rounding: .up,
            carriesOver: false,
            owes: true
        )
        #expect(try CanonicalJSON.value(CreditPolicy.self, from: CanonicalJSON.bytes(policy)) == policy)
    }
}
