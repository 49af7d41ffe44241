import ConformanceVectors
import FoundationEssentials
import Normalizer
import NotificationSimulator
import SignatureCore
import WireJSON

/// Makes the vectors of `TestVectors/revenuecat`, the same bytes every time.
///
/// What has to come of a case is written beside it by hand. A case that the adapter disagrees with makes no file, so
/// that the whole events in the files are not merely what the code happened to do.
package enum RevenueCatVectors {
    /// The files, by name, with their lines.
    ///
    /// - Throws: `VectorError` that names the cases whose outcome is not the one stated.
    package static func files() async throws -> [(name: String, lines: [String])] {
        let files: [(String, [Case])] = [
            ("authentication", try authenticationCases()),
            ("mapping", try mappingCases()),
            ("stores", try storeCases()),
            ("bodies", try bodyCases()),
            ("lookups", try lookupCases()),
            ("stories", try storyCases()),
        ]
        var result: [(name: String, lines: [String])] = []
        var ids: Set<String> = []
        var disagreements: [String] = []
        for (name, cases) in files {
            var lines: [String] = []
            for one in cases {
                guard ids.insert(one.id).inserted else { throw VectorError("\(one.id): stands twice") }
                do {
                    lines.append(try await one.line())
                } catch let error as VectorError {
                    disagreements.append(error.description)
                }
            }
            result.append((name, lines))
        }
        guard disagreements.isEmpty else { throw VectorError(disagreements.joined(separator: "\n")) }
        return result
    }

    /// What has to come of a case.
    enum Expectation {
        /// Exactly these events, each with these kinds of facts where they are given.
        case events([LifecycleEvent], facts: [Fact.Kind]? = nil)
        /// Events of these kinds.
        case kinds([LifecycleEvent.Kind])
        /// No event, for this reason.
        case noChange(Normalization.NoChange.Reason)
        case reject(DeliveryError.Code, isAuthentic: Bool = false)

        static func event(_ event: LifecycleEvent, _ facts: [Fact.Kind]? = nil) -> Expectation {
            .events([event], facts: facts)
        }
    }

    /// One case.
    struct Case {
        var id: String
        var headers: JSONMembers
        var body: [UInt8]
        var config: JSONMembers
        var http: [JSONText]?
        var expect: Expectation
        var why: String
        var anomalies: [String] = []

        func line() async throws -> String {
            var members = JSONMembers([
                ("id", .string("revenuecat/\(id)")), ("provider", "revenuecat"), ("headers", .object(headers)),
                ("body_base64", .string(String(decoding: Base64.encode(body.span), as: UTF8.self))),
                ("config", .object(config)),
            ])
            if let http { members.append("http", .array(http)) }
            switch expect {
            case .events, .kinds, .noChange: members.append("expect", "accept")
            case .reject(let code, _):
                members.append("expect", "reject")
                members.append("code", .string(code.rawValue))
            }
            let outcome = await VectorRunner.run(try Vector(line: members.bytes[...]))
            guard outcome.matched == true else { throw VectorError("\(id): \(outcome.difference ?? "not as stated")") }
            switch (expect, outcome.result) {
            case (.events(let expected, let facts), .success(let normalization)):
                let events = normalization.events
                guard events.map(\.event) == expected else {
                    throw VectorError("\(id): stated \(expected), mapped \(events.map(\.event))")
                }
                if let facts, let found = events.first?.facts.map(\.kind), found != facts {
                    throw VectorError("\(id): stated facts \(facts), asserted \(found)")
                }
                guard normalization.anomalies == anomalies else {
                    throw VectorError("\(id): stated anomalies \(anomalies), noted \(normalization.anomalies)")
                }
                members.append("events", .raw(String(decoding: try CanonicalJSON.bytes(events), as: UTF8.self)))
            case (.kinds(let expected), .success(let normalization)):
                let events = normalization.events
                guard events.map(\.kind) == expected, normalization.anomalies.isEmpty else {
                    throw VectorError("\(id): stated \(expected), mapped \(events.map(\.event))")
                }
                members.append("events", .raw(String(decoding: try CanonicalJSON.bytes(events), as: UTF8.self)))
            case (.noChange(let reason), .success(let normalization)):
                guard normalization.events.isEmpty, normalization.noChange?.reason == reason else {
                    throw VectorError(
                        "\(id): stated \(reason), got \(String(describing: normalization.noChange?.reason))"
                    )
                }
                members.append("events", [])
            case (.reject(_, let isAuthentic), .failure(let error)):
                guard error.isAuthentic == isAuthentic else { throw VectorError("\(id): isAuthentic \(!isAuthentic)") }
            default:
                throw VectorError("\(id): not as stated")
            }
            members.append("reason", .string(why))
            return members.text
        }
    }

    typealias Event = RevenueCatSimulator.Event
    typealias Period = RevenueCatSimulator.Period

    static let authorization = "Bearer rc_vectors_authorization"
    static let secret = "rc_whsec_vectors_0123456789"
    /// 2026-01-01, 2026-02-01 and 2026-03-01.
    static let t0: Int64 = 1_767_225_600_000
    static let t1: Int64 = 1_769_904_000_000
    static let t2: Int64 = 1_772_323_200_000
    static let minute: Int64 = 60_000
    static let hour: Int64 = 3_600_000
    static let day: Int64 = 86_400_000

    static func date(_ milliseconds: Int64) -> Date { Date(millisecondsSince1970: milliseconds) }

    static func period(_ start: Int64, _ end: Int64?) -> ServicePeriod {
        ServicePeriod(start: date(start), end: end.map(date))
    }

    static func price(_ amount: String, _ currency: String = "USD", _ role: Price.Role = .charged) throws -> Price {
        guard let amount = ExactDecimal(amount) else { throw VectorError("\(amount) is no amount") }
        return Price(Money(amount, currency), role)
    }

    static func config(now: Int64) -> JSONMembers {
        JSONMembers([
            ("now", .integer(now)), ("authorization", .string(authorization)), ("hmacSecrets", [.string(secret)]),
        ])
    }

    /// Headers that hold for a body.
    static func headers(_ body: [UInt8], now: Int64) throws -> JSONMembers {
        JSONMembers([
            ("Content-Type", "application/json"),
            ("Authorization", .string(authorization)),
            (
                "X-RevenueCat-Webhook-Signature",
                .string(
                    try RevenueCatSimulator.signature(
                        over: body,
                        timestamp: String(now / 1000),
                        secrets: [Secret(secret)]
                    )
                )
            ),
        ])
    }

    /// A case that is proven, received twenty seconds after it was made.
    static func proven(
        _ id: String,
        _ why: String,
        body: [UInt8],
        now: Int64 = t0 + 20_000,
        config: JSONMembers? = nil,
        http: [JSONText]? = nil,
        anomalies: [String] = [],
        _ expect: Expectation
    ) throws -> Case {
        Case(
            id: id,
            headers: try headers(body, now: now),
            body: body,
            config: config ?? Self.config(now: now),
            http: http,
            expect: expect,
            why: why,
            anomalies: anomalies
        )
    }

    /// A case of an event that is proven.
    static func proven(
        _ id: String,
        _ why: String,
        _ event: Event,
        http: [JSONText]? = nil,
        anomalies: [String] = [],
        _ expect: Expectation
    ) throws -> Case {
        var now = t0 + 20_000
        if case .integer(let milliseconds)? = event.members["event_timestamp_ms"] { now = milliseconds + 20_000 }
        return try proven(id, why, body: event.body, now: now, http: http, anomalies: anomalies, expect)
    }
}
