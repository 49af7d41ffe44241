public import LifecycleEvents

/// A message from Google Play that is proven to have come through our subscription, decoded.
///
/// The proof covers the sender, not the content: the content is a hint, and is looked up.
public struct GoogleNotification: Sendable, Hashable {
    /// The message that carried it. Its `messageID` identifies the delivery.
    public let message: PubSubMessage
    /// The message's content.
    public let content: DeveloperNotification

    package init(message: PubSubMessage, content: DeveloperNotification) {
        self.message = message
        self.content = content
    }
}

// The message itself crosses a queue; its data is read again at the other end, so that both ends see all of it.
extension GoogleNotification: Codable {
    /// Reads what `encode(to:)` wrote.
    public init(from decoder: any Decoder) throws {
        let message = try PubSubMessage(from: decoder)
        self.message = message
        content = try decoder.reread { try DeveloperNotification(payload: message.data) }
    }

    /// Writes the message.
    public func encode(to encoder: any Encoder) throws {
        try message.encode(to: encoder)
    }
}

extension GoogleNotification: Redacted {
    /// The message's description.
    public var description: String { message.description }
}
