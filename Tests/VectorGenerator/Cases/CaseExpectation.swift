import ConformanceVectors
import NotificationSimulator
import Normalizer
import SignatureCore
import WireJSON

/// The expected outcome of a case, stated by hand: from the delivery and the provider's documentation, not from the
/// mapping.
struct CaseExpectation {
    private enum Outcome {
        case reject(String, isAuthentic: Bool?)
        case nothing(String)
        case events([JSONValue])
    }

    private let outcome: Outcome
    /// True if the details of the events are stated whole, without further members.
    private let isWhole: Bool
    private let anomalies: [String]

    init(_ reader: ObjectReader, _ values: CaseValues) throws {
        if let code = try reader.optionalString("reject") {
            outcome = .reject(code, isAuthentic: try reader.optionalBool("authentic"))
        } else if let reason = try reader.optionalString("nothing") {
            outcome = .nothing(reason)
        } else {
            outcome = .events(try reader.array("events").map(values.overlaid))
        }
        isWhole = try reader.optionalBool("whole") ?? false
        anomalies = try reader.optionalStrings("anomalies") ?? []
    }

    /// True if it states more of the events than their kinds.
    var isDetailed: Bool {
        guard case .events(let events) = outcome else { return false }
        return events.contains { event in (try? event.object().members.contains { $0.name != "kind" }) ?? false }
    }

    /// The members of a line that say what came of it.
    ///
    /// - Throws: `VectorError` where that is not what is stated.
    func members(for result: Result<Normalization, DeliveryError>) throws -> [(String, JSONText)] {
        switch (outcome, result) {
        case (.reject(let code, let isAuthentic), .failure(let error)):
            guard error.code.rawValue == code else { throw VectorError("expected \(code), got \(error)") }
            guard isAuthentic == nil || isAuthentic == error.isAuthentic else {
                throw VectorError("authentic: \(error.isAuthentic)")
            }
            return [("expect", "reject"), ("code", .string(code))]
        case (.nothing(let reason), .success(let normalization)):
            guard normalization.events.isEmpty, normalization.noChange?.reason.rawValue == reason else {
                throw VectorError("expected \(reason), got \(Self.summary(normalization))")
            }
            return [("expect", "accept"), ("events", [])]
        case (.events(let stated), .success(let normalization)):
            guard !stated.isEmpty else { throw VectorError("no events: say why, with `nothing`") }
            try check(stated, normalization)
            let events = try normalization.events.map { String(decoding: try CanonicalJSON.bytes($0), as: UTF8.self) }
            return [("expect", "accept"), ("events", .array(events.map { .raw($0) }))]
        case (.reject(let code, _), .success(let normalization)):
            throw VectorError("accepted instead of \(code): \(Self.summary(normalization))")
        case (_, .failure(let error)):
            throw VectorError("\(error)")
        }
    }

    private func check(_ stated: [JSONValue], _ normalization: Normalization) throws {
        let events = normalization.events
        guard stated.count == events.count else { throw VectorError("got \(Self.summary(normalization))") }
        guard normalization.anomalies == anomalies else { throw VectorError("anomalies: \(normalization.anomalies)") }
        for (index, (stated, event)) in zip(stated, events).enumerated() {
            let written = try JSONDocument(parsing: try CanonicalJSON.bytes(event)).root.object()
            for (name, value) in try stated.object().members {
                let path = "events[\(index)].\(name)"
                switch name {
                case "fact_kinds":
                    let kinds = event.facts.map(\.kind.rawValue)
                    guard kinds == (try value.strings()) else { throw VectorError("events[\(index)]: facts \(kinds)") }
                case "id" where value.kind == .array:
                    guard Self.identity(try value.strings()) == event.id.description else {
                        throw VectorError("\(path): of other components")
                    }
                default:
                    let comparison = EventComparison(allowsMore: !(isWhole && name == "detail"))
                    guard let found = written[MemberName(name)] else { throw VectorError("\(path) is missing") }
                    if let difference = comparison.difference(value, found, at: path) {
                        throw VectorError(difference.description)
                    }
                }
            }
            if isWhole, written["detail"] != nil, try stated.object()["detail"] == nil {
                throw VectorError("events[\(index)] has a detail")
            }
        }
    }

    /// The identity of these components, derived apart from `EventID`, as `docs/model.md` publishes it.
    private static func identity(_ components: [String]) -> String {
        let octets = components.reduce(into: Array("lifecycle-event/1".utf8)) {
            $0 += Array("\($1.utf8.count):\($1)".utf8)
        }
        return String(SHA256.hash(octets.span).hexadecimal.prefix(40))
    }

    private static func summary(_ normalization: Normalization) -> String {
        let kinds = normalization.events.map(\.kind.rawValue)
        return "\(normalization.noChange?.reason.rawValue ?? "") \(kinds)"
    }
}
