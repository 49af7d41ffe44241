public import FoundationEssentials
public import LifecycleEvents

/// A Pub/Sub message with its envelope, in either form (Pub/Sub API, `PubsubMessage`).
public struct PubSubMessage: Sendable, Hashable, Codable {
    /// The full name of the subscription it came through; absent in an unwrapped push without metadata.
    public var subscription: String?
    /// Pub/Sub's id of the message, unique within its topic; absent in an unwrapped push without metadata.
    public var messageID: String?
    /// When Pub/Sub took the message.
    @OptionalEventTime public var publishTime: Date?
    /// The publisher's attributes.
    public var attributes: [String: String]
    /// The publisher's ordering key; Google Play sets none.
    public var orderingKey: String?
    /// Which attempt at delivery this is, if the subscription has a dead-letter topic.
    public var deliveryAttempt: Int?
    /// The data, decoded: the JSON of a `DeveloperNotification`.
    public var data: [UInt8]

    /// Keeps a message.
    public init(
        subscription: String? = nil,
        messageID: String? = nil,
        publishTime: Date? = nil,
        attributes: [String: String] = [:],
        orderingKey: String? = nil,
        deliveryAttempt: Int? = nil,
        data: [UInt8]
    ) {
        self.subscription = subscription
        self.messageID = messageID
        self._publishTime = OptionalEventTime(wrappedValue: publishTime)
        self.attributes = attributes
        self.orderingKey = orderingKey
        self.deliveryAttempt = deliveryAttempt
        self.data = data
    }
}

extension PubSubMessage {
    private enum CodingKeys: String, CodingKey {
        case subscription, attributes, data
        case messageID = "message_id"
        case publishTime = "publish_time"
        case orderingKey = "ordering_key"
        case deliveryAttempt = "delivery_attempt"
    }

    /// Reads what `encode(to:)` wrote.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        subscription = try container.decodeIfPresent(String.self, forKey: .subscription)
        messageID = try container.decodeIfPresent(String.self, forKey: .messageID)
        _publishTime = try container.decode(OptionalEventTime.self, forKey: .publishTime)
        attributes = try container.decodeIfPresent([String: String].self, forKey: .attributes) ?? [:]
        orderingKey = try container.decodeIfPresent(String.self, forKey: .orderingKey)
        deliveryAttempt = try container.decodeIfPresent(Int.self, forKey: .deliveryAttempt)
        data = Array(try container.decode(Data.self, forKey: .data))
    }

    /// Writes the data in base64, without absent members.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(subscription, forKey: .subscription)
        try container.encodeIfPresent(messageID, forKey: .messageID)
        try container.encode(_publishTime, forKey: .publishTime)
        if !attributes.isEmpty { try container.encode(attributes, forKey: .attributes) }
        try container.encodeIfPresent(orderingKey, forKey: .orderingKey)
        try container.encodeIfPresent(deliveryAttempt, forKey: .deliveryAttempt)
        try container.encode(Data(data), forKey: .data)
    }
}

extension PubSubMessage: Redacted {
    /// The lengths of its content: data and attributes carry purchase tokens.
    public var description: String { "Pub/Sub message, data of \(data.count) bytes" }
}
