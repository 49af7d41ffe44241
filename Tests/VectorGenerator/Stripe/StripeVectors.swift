import ConformanceVectors
import FoundationEssentials
import Normalizer
import NotificationSimulator
import SignatureCore
import Stripe
import WireJSON

/// Our test vectors for Stripe, made from the simulator: the same bytes each time.
///
/// The expectation of a case is written by hand: the kinds of its events next to it; in `StripeStated` the members of
/// the events of chosen cases, and the reason that a case has none. The whole events come from the mapping, and a case
/// whose mapping gives anything else is an error rather than a new expectation.
package enum StripeVectors {
    /// One file of `TestVectors/stripe`.
    package struct File: Sendable {
        package let name: String
        package let lines: [String]

        package var text: String { lines.map { $0 + "\n" }.joined() }
    }

    /// Every file.
    ///
    /// - Throws: `VectorError` where the adapter does not do what a case says.
    package static func files() async throws -> [File] {
        var files: [File] = []
        var unused = Set(StripeStated.byCase.keys)
        var failures: [String] = []
        for (name, cases) in [
            ("signature", try signatureCases()),
            ("envelope", try envelopeCases()),
            ("subscription", try subscriptionCases()),
            ("invoice", try invoiceCases()),
            ("schedule", try scheduleCases()),
            ("payment", try paymentCases()),
            ("thin", try thinCases()),
            ("question", try questionCases()),
        ] {
            var lines: [String] = []
            for item in cases {
                do { lines.append(try await item.line()) } catch { failures.append("\(error)") }
                unused.remove(item.id)
                unused.remove(StripeStated.plain(item.id))
            }
            files.append(File(name: name, lines: lines))
        }
        failures += unused.sorted().map { "\($0): stated of no case" }
        guard failures.isEmpty else { throw VectorError(failures.joined(separator: "\n")) }
        return files
    }

    static let secret = "whsec_vectors_0123456789abcdef"
    static let otherSecret = "whsec_vectors_rolled_fedcba9876"
    /// 2026-03-01T12:00:00Z
    static let created: Int64 = 1_772_366_400
    static let now = (created + 2) * 1000
    static let day: Int64 = 86_400

    /// The outcome of a case.
    enum Expectation {
        /// Accepted, with events of these kinds in this order.
        case events([String])
        case reject(DeliveryError.Code)
    }

    /// One case.
    struct Case {
        var id: String
        var why: String
        var headers: JSONText
        var body: [UInt8]
        var config: JSONMembers
        var http: [JSONText]?
        var expect: Expectation

        func line() async throws -> String {
            var members = JSONMembers([
                ("id", .string("stripe/\(id)")), ("provider", "stripe"), ("headers", headers),
                ("body_base64", .string(String(decoding: Base64.encode(body.span), as: UTF8.self))),
                ("config", .object(config)),
            ])
            if let http { members.append("http", .array(http)) }
            let expected: [String]
            switch expect {
            case .events(let kinds):
                expected = kinds
                members.append("expect", "accept")
            case .reject(let code):
                expected = []
                members.append("expect", "reject")
                members.append("code", .string(code.rawValue))
            }
            let vector = try Vector(line: Array(members.text.utf8)[...])
            let outcome = await VectorRunner.run(vector)
            switch (expect, outcome.result) {
            case (.events, .success(let normalization)):
                let kinds = normalization.events.map(\.kind.rawValue)
                guard kinds == expected else { throw VectorError("\(id): expected \(expected), got \(kinds)") }
                let reason = StripeStated.reason(of: id)
                if kinds.isEmpty, normalization.noChange?.reason != reason {
                    throw VectorError("\(id): expected \(reason), got \(normalization.noChange?.reason.rawValue ?? "")")
                }
                if let stated = StripeStated.events(of: id) { try check(normalization.events, stated) }
                let events = try normalization.events.map { event in
                    JSONText.raw(String(decoding: try CanonicalJSON.bytes(event), as: UTF8.self))
                }
                members.append("events", .array(events))
            case (.reject, .failure):
                guard outcome.matched == true else { throw VectorError("\(id): \(outcome.difference ?? "")") }
            case (.events, .failure(let error)):
                throw VectorError("\(id): \(error)")
            case (.reject(let code), .success):
                throw VectorError("\(id): accepted, expected \(code)")
            }
            members.append("reason", .string(why))
            return members.text
        }

        private func check(_ events: [NormalizedEvent], _ stated: [StripeStated.Event]) throws {
            let text = JSONText.array(stated.map { .object($0) }).text
            let values = Array(try JSONDocument(parsing: Array(text.utf8)).root.array())
            if let difference = EventComparison(allowsMore: true).difference(values, events) {
                let written = try events.map { String(decoding: try CanonicalJSON.bytes($0), as: UTF8.self) }
                throw VectorError("\(id): \(difference) from what is stated: \(written)")
            }
        }
    }

    static func config(
        secrets: [String] = [secret],
        tolerance: Int64? = nil,
        isLive: Bool? = true,
        now: Int64 = now
    ) -> JSONMembers {
        var members = JSONMembers([("now", .integer(now)), ("secrets", .array(secrets.map { .string($0) }))])
        if let tolerance { members.append("toleranceSeconds", .integer(tolerance)) }
        if let isLive { members.append("livemode", .bool(isLive)) }
        return members
    }

    static func header(_ body: [UInt8], timestamp: Int64, secrets: [String] = [secret]) throws -> String {
        try StripeSimulator.header(body, timestamp: String(timestamp), secrets: secrets.map { Secret($0) })
    }

    static func code(_ body: [UInt8], _ timestamp: String, _ secret: String = secret) throws -> String {
        try StripeSimulator.code(body, timestamp: timestamp, secret: Secret(secret))
    }

    /// A case whose signature holds.
    static func signed(
        _ id: String,
        _ why: String,
        body: [UInt8],
        at time: Int64 = created,
        config: JSONMembers? = nil,
        http: [JSONText]? = nil,
        _ expect: Expectation
    ) throws -> Case {
        Case(
            id: id,
            why: why,
            headers: ["Stripe-Signature": .string(try header(body, timestamp: time + 1))],
            body: body,
            config: config ?? Self.config(now: (time + 2) * 1000),
            http: http,
            expect: expect
        )
    }

    static func simulator(_ version: StripeSimulator.Version, account: String? = nil) -> StripeSimulator {
        StripeSimulator(signingSecret: Secret(secret), version: version, account: account)
    }
}
