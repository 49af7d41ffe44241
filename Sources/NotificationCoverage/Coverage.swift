package import ConformanceVectors
import FoundationEssentials
package import Normalizer
import NotificationSimulator
import SignatureCore
import WireJSON

/// The events of every notification of a provider, found by sending each through the adapter.
package struct Coverage: Sendable {
    /// One case, with everything that its deliveries came to.
    package struct Row: Sendable {
        package let native: NativeCase
        /// The results and their numbers, in the order of their texts.
        package let outcomes: [(text: String, count: Int)]
        /// Why there is no event of its own, if there is none.
        package let explanation: String?
    }

    package let provider: Provider
    package let rows: [Row]
    /// Documented notifications that were never tried, and those that gave nothing without a reason.
    package let unexplained: [String]

    private static let reasons: [Normalization.NoChange.Reason: String] = [
        .unchanged: "says nothing that a backend acts on",
        .reportedElsewhere: "another notification of the same fact carries the event",
        .needsLookup: "a hint only; no provider was asked",
        .stale: "the provider's answer leaves nothing to say",
        "purchase_gone": "the provider keeps the purchase no longer, which ends nothing",
    ]

    /// Runs every vector of a provider that is to be accepted, and a stand-in for each type that no vector has.
    package init(_ provider: Provider, vectors: [Vector]) async throws {
        self.provider = provider
        let documented = DocumentedCase.all(provider)
        let genuine = vectors.filter { $0.provider == provider && $0.expect == .accept && !$0.orReject }
        var found: [NativeCase: [String: Int]] = [:]
        var unexplained: [String] = []
        func run(_ vector: Vector) async {
            guard let native = NativeCase(vector) else { return }
            switch await VectorRunner.run(vector).result {
            case .success(let normalization): found[native, default: [:]][Self.text(normalization), default: 0] += 1
            case .failure(let error): unexplained.append("\(vector.id): \(error)")
            }
        }
        for vector in genuine { await run(vector) }
        for item in documented where !found.keys.contains(where: item.covers) {
            guard let template = item.template,
                let vector = genuine.first(where: { NativeCase($0)?.type == template }),
                let standIn = try vector.renamed(from: template, to: item.native.type)
            else {
                unexplained.append("\(item.native): documented, and no vector has it")
                continue
            }
            await run(standIn)
        }

        var rows: [Row] = []
        for (native, outcomes) in found.sorted(by: { $0.key < $1.key }) {
            let known = documented.first { $0.covers(native) }
            let ordered = outcomes.map { (text: $0.key, count: $0.value) }.sorted { $0.text < $1.text }
            var explanations: [String] = []
            for outcome in ordered {
                if outcome.text == "unmapped" || outcome.text.hasPrefix("unmapped +") {
                    explanations.append(
                        known == nil ? "not documented; kept as it is" : known?.explanation ?? Self.missing
                    )
                } else if let reason = Self.reason(outcome.text) {
                    explanations.append(Self.reasons[reason] ?? Self.missing)
                }
            }
            if explanations.contains(Self.missing) { unexplained.append("\(native): no event, and no reason known") }
            var seen: Set<String> = []
            let distinct = explanations.filter { seen.insert($0).inserted }
            rows.append(
                Row(
                    native: native,
                    outcomes: ordered,
                    explanation: distinct.isEmpty ? nil : distinct.joined(separator: "; ")
                )
            )
        }
        self.rows = rows
        self.unexplained = unexplained
    }

    private static let missing = "?"
    private static let none = "none: "

    private static func reason(_ text: String) -> Normalization.NoChange.Reason? {
        guard text.hasPrefix(none) else { return nil }
        return Normalization.NoChange.Reason(rawValue: String(text.dropFirst(none.count)))
    }

    /// The events of a delivery in one line, each with its distinguishing words.
    private static func text(_ normalization: Normalization) -> String {
        if let reason = normalization.noChange?.reason { return none + reason.rawValue }
        return normalization.events.map(text).joined(separator: " + ")
    }

    private static func text(_ event: NormalizedEvent) -> String {
        let kind = event.kind.rawValue
        guard event.kind != .unmapped, let bytes = try? CanonicalJSON.bytes(event),
            let detail = try? ObjectReader(ObjectReader(parsing: bytes).value("detail"))
        else { return kind }
        let members: [MemberName] = [
            "origin", "cause", "access", "stage", "direction", "timing", "reason", "type", "kind",
        ]
        var words = members.compactMap { try? detail.optionalString($0) }
        // An amount is not a word, and a backend does not act on the reason of a refund.
        if let scope = detail.optionalValue("scope"), let type = try? ObjectReader(scope).string("type") {
            words = [type]
        }
        return words.isEmpty ? kind : "\(kind)(\(words.joined(separator: ", ")))"
    }
}

extension DocumentedCase {
    func covers(_ native: NativeCase) -> Bool {
        self.native.type == native.type && (!isExact || self.native.subtype == native.subtype)
            && (self.native.state.isEmpty || self.native.state == native.state)
    }
}

extension NativeCase: Comparable, CustomStringConvertible {
    package var description: String {
        [type, subtype, state].filter { !$0.isEmpty }.joined(separator: " ")
    }

    // Numbers in the order of their values.
    package static func < (lhs: NativeCase, rhs: NativeCase) -> Bool {
        if lhs.type != rhs.type { return lhs.type < rhs.type }
        if lhs.subtype != rhs.subtype {
            if let lhs = Int(lhs.subtype), let rhs = Int(rhs.subtype) { return lhs < rhs }
            return lhs.subtype < rhs.subtype
        }
        return lhs.state < rhs.state
    }
}

extension Vector {
    /// The same delivery under another type, signed again; nil if nothing of the kind stands in it.
    fileprivate func renamed(from type: String, to other: String) throws -> Vector? {
        let text = String(decoding: body, as: UTF8.self)
        let wanted = "\"type\":\"\(type)\""
        guard text.contains(wanted) else { return nil }
        let body = Array(text.replacing(wanted, with: "\"type\":\"\(other)\"", maxReplacements: 1).utf8)
        let config = try ObjectReader(config)
        let time = String(now.millisecondsSince1970 / 1000)
        switch provider {
        case .stripe:
            guard let secret = try config.optionalStrings("secrets")?.first else { return nil }
            let header = try StripeSimulator.header(body, timestamp: time, secrets: [SecretBytes(secret)])
            return replacing(body: body, headers: ["Stripe-Signature": header])
        case .revenuecat:
            let simulator = RevenueCatSimulator(
                authorization: try config.optionalString("authorization").map { SecretBytes($0) },
                signingSecret: try config.optionalStrings("hmacSecrets")?.first.map { SecretBytes($0) }
            )
            return replacing(body: body, headers: try simulator.delivery(body, receivedAt: now).headers)
        default:
            return nil
        }
    }
}
