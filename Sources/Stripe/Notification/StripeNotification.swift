public import FoundationEssentials
public import LifecycleEvents
import SignatureCore
import WireJSON

/// A Stripe event that is proven: a snapshot event with the object it is about, or a thin event that only names it.
///
/// It keeps the body as received and every answer that was fetched for it, and writes both when it is encoded, so that
/// a queue carries all that ``StripeAdapter`` reads.
public struct StripeNotification: Sendable {
    /// The object that a thin event names.
    public struct RelatedObject: Hashable, Sendable {
        /// The object's id.
        public let id: String
        /// The object's type, such as `subscription`.
        public let type: String
        /// The path to fetch it from, as received: untrusted until it was checked.
        public let path: String
    }

    /// An answer of Stripe's API.
    struct Answer: Sendable {
        let status: Int
        let body: [UInt8]
        /// When Stripe gave it, by its own clock, to the second.
        @OptionalEventTime var answeredAt: Date?
        let document: JSONDocument?

        init(status: Int, body: [UInt8], answeredAt: Date? = nil) {
            self.status = status
            self.body = body
            _answeredAt = OptionalEventTime(wrappedValue: answeredAt)
            document = (200..<300).contains(status) ? try? JSONDocument(parsing: body) : nil
        }
    }

    /// Answers by the name of the look-up.
    typealias Answers = [String: Answer]

    /// The event's id, `evt_…`: the same on redelivery and on every endpoint.
    public var id: String { event.id }
    /// The event's type, verbatim.
    public var type: String { event.type }
    /// When Stripe created the event.
    public var created: Date { event.created.date }
    /// True if it is about real money; nil if the event does not say.
    public var isLive: Bool? { event.isLive }
    /// The API version that the snapshot was rendered in.
    public var apiVersion: String? { event.apiVersion }
    /// The connected account that it is about; nil for the account of the endpoint itself.
    public var account: String? { event.account ?? listedFor }
    /// The context to repeat when asking again.
    public var context: String? { event.context }
    /// True if it names its object without its content.
    public var isThin: Bool { event.isThin }
    /// The object of a thin event.
    public var relatedObject: RelatedObject? { event.relatedObject }
    /// The id of the snapshot event that reports the same, if both are delivered.
    public var snapshotEvent: String? { event.snapshotEvent }
    /// The body, byte for byte as received.
    public var body: [UInt8] { event.body }

    var object: JSONValue? { event.object }
    var previous: JSONValue? { event.previous }
    private let event: Event
    /// The connected account whose history lists it, which the event itself need not name.
    var listedFor: String?
    /// The fetched objects.
    var answers: Answers = [:]

    /// Reads an event, however long it is.
    ///
    /// - Throws: `JSONError` for a body that is no JSON, or not an event.
    init(reading body: [UInt8]) throws(JSONError) {
        event = try Event(reading: body)
    }

    /// Reads an event that is proven.
    ///
    /// - Throws: `malformed`, marked authentic.
    init(proven body: [UInt8]) throws(DeliveryError) {
        do throws(JSONError) {
            try self.init(reading: body)
        } catch {
            throw DeliveryError(.malformed, error.description, isAuthentic: true, underlying: error)
        }
    }

    /// The received event, shared by all copies of the notification.
    private final class Event: Sendable {
        let id: String
        let type: String
        let created: Milliseconds
        let isLive: Bool?
        let apiVersion: String?
        let account: String?
        let context: String?
        let isThin: Bool
        let relatedObject: RelatedObject?
        let snapshotEvent: String?
        let body: [UInt8]
        let object: JSONValue?
        let previous: JSONValue?

        init(reading body: [UInt8]) throws(JSONError) {
            let document = try JSONDocument(parsing: body, limits: .ofAnyLength)
            let reader = try ObjectReader(document.root)
            let kind = try reader.value(.object)
            isThin = kind.isString("v2.core.event")
            guard isThin || kind.isString("event") else {
                throw kind.error(.unexpectedKind(expected: .string, found: kind.kind))
            }
            self.body = body
            id = try reader.string(.id)
            type = try reader.string(.type)
            guard !id.isEmpty else { throw try reader.value(.id).error(.missing) }
            guard !type.isEmpty else { throw try reader.value(.type).error(.missing) }
            let created = try reader.value(.created)
            if isThin {
                guard let milliseconds = RFC3339.milliseconds(try created.string()) else {
                    throw created.error(.integerOutOfRange)
                }
                self.created = milliseconds
            } else {
                self.created = try created.seconds()
            }
            isLive = try reader.optionalBool(.livemode)
            context = try reader.optionalString(.context)
            apiVersion = try reader.optionalString(.apiVersion)
            // The context is a path of ids, whose last account is the one.
            let named = context.flatMap { $0.split(separator: "/").last { $0.hasPrefix("acct_") }.map(String.init) }
            account = try reader.optionalString(.account) ?? named
            snapshotEvent = try reader.optionalString(.snapshotEvent)
            if let related = try reader.reader(.relatedObject) {
                relatedObject = RelatedObject(
                    id: try related.string(.id),
                    type: try related.string(.type),
                    path: try related.string("url")
                )
            } else {
                relatedObject = nil
            }
            let data = try reader.reader(.data)
            object = isThin ? nil : data?.optionalValue(.object)
            previous = isThin ? nil : data?.optionalValue(.previousAttributes)
        }
    }

    /// The subject: the object that it contains, or the one that was fetched for it.
    var subject: JSONValue? { isThin ? answers[LookupRequest.object]?.document?.root : object }

    /// - Throws: the error for a notification that names, or contains, no object.
    func checkObject() throws(JSONError) {
        guard isThin ? relatedObject == nil : object == nil else { return }
        throw JSONError(.missing, path: isThin ? "related_object" : "data.object", offset: 0)
    }

    /// The type without the prefix that thin events of the first API generation have.
    var canonicalType: String { isThin && type.hasPrefix("v1.") ? String(type.dropFirst(3)) : type }

    var createdMilliseconds: Milliseconds { event.created }
}

extension StripeNotification.Answer: Codable {
    private enum CodingKeys: String, CodingKey {
        case status, body
        case answeredAt = "answered_at"
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let body = try container.decode(String.self, forKey: .body)
        self.init(
            status: try container.decode(Int.self, forKey: .status),
            body: try decoder.reread { try Base64.decode(Array(body.utf8).span) },
            answeredAt: try container.decode(OptionalEventTime.self, forKey: .answeredAt).wrappedValue
        )
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(status, forKey: .status)
        try container.encode(String(decoding: Base64.encode(body.span), as: UTF8.self), forKey: .body)
        try container.encode(_answeredAt, forKey: .answeredAt)
    }
}

extension StripeNotification: Codable {
    private enum CodingKeys: String, CodingKey {
        case body, answers
        case listedFor = "listed_for"
    }

    /// Reads body and answers, and from them all the rest.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let body = try container.decode(String.self, forKey: .body)
        self = try decoder.reread { try Self(reading: Base64.decode(Array(body.utf8).span)) }
        answers = try container.decodeIfPresent([String: Answer].self, forKey: .answers) ?? [:]
        listedFor = try container.decodeIfPresent(String.self, forKey: .listedFor)
    }

    /// Writes body and answers in base64.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(String(decoding: Base64.encode(body.span), as: UTF8.self), forKey: .body)
        if !answers.isEmpty { try container.encode(answers, forKey: .answers) }
        try container.encodeIfPresent(listedFor, forKey: .listedFor)
    }
}

extension StripeNotification: Redacted {
    /// Type, id and the length of the body.
    public var description: String { "\(type) \(id), \(body.count) bytes" }
}
