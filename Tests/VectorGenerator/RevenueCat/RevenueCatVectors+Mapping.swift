import ConformanceVectors
import Normalizer
import NotificationSimulator

extension RevenueCatVectors {
    static let began: [Fact.Kind] = [.period, .charge, .renewalIntent, .billing, .pause, .owner]
    static let beganUncharged: [Fact.Kind] = [.period, .renewalIntent, .billing, .pause, .owner]
    static let first = period(t0, t1)
    static let second = period(t1, t2)

    /// Every type that RevenueCat documents, by condition.
    static func mappingCases() throws -> [Case] {
        try beginnings() + endings() + intents() + changes() + notices() + clocks()
    }

    private static func clocks() throws -> [Case] {
        let body = Event("RENEWAL", id: "E-120", at: 78_789_789_798_798, .second).body
        return [
            // It would outrank every later statement, so it is ordered by its receipt.
            try proven(
                "clock/far-ahead",
                "a placeholder seen in print",
                body: body,
                now: t1 + 60_000,
                anomalies: ["event.event_timestamp_ms"],
                .event(.renewed(.init(cause: .unknown, phase: .regular, period: second)), beganUncharged)
            ),
            try proven(
                "clock/day-ahead",
                "a clock that runs ahead, within a day",
                body: Event("RENEWAL", id: "E-121", at: t1 + day, .second).body,
                now: t1,
                .event(.renewed(.init(cause: .unknown, phase: .regular, period: second)), beganUncharged)
            ),
            try proven(
                "clock/redelivered",
                "an event may be days older than its delivery",
                body: Event("RENEWAL", id: "E-122", at: t1, .second).body,
                now: t1 + 9 * day,
                .event(.renewed(.init(cause: .unknown, phase: .regular, period: second)), beganUncharged)
            ),
            try proven(
                "clock/absent",
                "without its time a statement cannot be ordered",
                Event("RENEWAL", id: "E-123", at: t1, .second, ["event_timestamp_ms": nil]),
                anomalies: ["event.event_timestamp_ms"],
                .event(.unmapped(.init(type: "RENEWAL")), [])
            ),
        ]
    }
}
