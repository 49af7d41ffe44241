import NotificationSimulator
import Normalizer
import Testing

@Suite("Redelivery schedules")
struct RedeliveryScheduleTests {
    @Test("end where the provider gives up")
    func totals() {
        func total(_ provider: Provider) -> Duration { RedeliverySchedule(provider).waits.reduce(.zero, +) }
        #expect(RedeliverySchedule(.apple).waits.count == 5)
        #expect(total(.apple) == .seconds(157 * 3600))
        #expect(total(.revenuecat) == .seconds(155 * 60))
        #expect(total(.stripe) <= .seconds(72 * 3600))
        #expect(total(.google) > .seconds(6 * 86_400))
        #expect(total(.google) <= .seconds(7 * 86_400))
    }

    @Test(
        "take for success what the provider takes",
        arguments: [
            (Provider.apple, [200, 206], [199, 207, 301, 404, 503]),
            (.google, [102, 200, 201, 202, 204], [203, 206, 400, 503]),
            (.revenuecat, [200], [201, 204, 302, 500]), (.stripe, [200, 204, 299], [199, 301, 404, 500]),
        ]
    )
    func statuses(provider: Provider, accepted: [Int], refused: [Int]) {
        let schedule = RedeliverySchedule(provider)
        #expect(accepted.allSatisfy { schedule.accepts(status: $0) })
        #expect(!refused.contains { schedule.accepts(status: $0) })
    }
}
