public import FoundationEssentials
public import LifecycleEvents

/// The outcome of one request to the Play Developer API.
///
/// Only ``Outcome-swift.enum/found`` says anything about a purchase. ``Outcome-swift.enum/gone`` and
/// ``Outcome-swift.enum/notFound`` say only that Google does not keep it, and neither ends a subscription.
public struct PlayAnswer: Sendable, Hashable, Codable {
    /// The kinds of answer.
    @nonexhaustive
    public enum Outcome: String, Sendable, Hashable, Codable {
        /// The resource, in ``PlayAnswer/body``.
        case found
        /// The request was carried out; there is nothing to read.
        case done
        /// Google no longer keeps it (410, or 400 for the state of a subscription): more than 60 days after its end, or the account is deleted.
        case gone
        /// Google does not know it (404), or not yet.
        case notFound = "not_found"
        /// The request cannot be right (400), such as a token of another app; or it was refused before it was sent.
        case invalid
        /// Google refuses the answer (401, 403, 404 about the app): rights or the set-up of the project are missing, or
        /// the access token cannot be sent.
        case denied
        /// It cannot be said now: quota, network, Google's own trouble. Ask again later.
        case unavailable
    }

    /// The kind of answer.
    public var outcome: Outcome
    /// The HTTP status; 0 if there was no answer.
    public var status: Int
    /// Google's reason for an error, such as `purchaseTokenNoLongerValid`.
    public var reason: String?
    /// The resource's JSON as received; empty unless it was found.
    public var body: [UInt8]
    /// Google's own time of the answer (`Date`), to the second.
    @OptionalEventTime public var answeredAt: Date?

    /// Makes an answer.
    public init(
        _ outcome: Outcome,
        status: Int,
        reason: String? = nil,
        body: [UInt8] = [],
        answeredAt: Date? = nil
    ) {
        self.outcome = outcome
        self.status = status
        self.reason = reason
        self.body = body
        self._answeredAt = OptionalEventTime(wrappedValue: answeredAt)
    }
}

extension PlayAnswer {
    private enum CodingKeys: String, CodingKey {
        case outcome, status, reason, body
        case answeredAt = "answered_at"
    }

    /// Reads what `encode(to:)` wrote.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        outcome = try container.decode(Outcome.self, forKey: .outcome)
        status = try container.decode(Int.self, forKey: .status)
        reason = try container.decodeIfPresent(String.self, forKey: .reason)
        body = try container.decodeIfPresent(Data.self, forKey: .body).map(Array.init) ?? []
        _answeredAt = try container.decode(OptionalEventTime.self, forKey: .answeredAt)
    }

    /// Writes the body in base64, without absent members.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(outcome, forKey: .outcome)
        try container.encode(status, forKey: .status)
        try container.encodeIfPresent(reason, forKey: .reason)
        if !body.isEmpty { try container.encode(Data(body), forKey: .body) }
        try container.encode(_answeredAt, forKey: .answeredAt)
    }
}

extension PlayAnswer: Redacted {
    /// Outcome, status and reason; never the body.
    public var description: String {
        "\(outcome.rawValue) (\(status)\(reason.map { ", \($0)" } ?? "")), body of \(body.count) bytes"
    }
}
