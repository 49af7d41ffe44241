import FoundationEssentials
import LifecycleEvents
import SignatureCore
import WireJSON

extension PubSubMessage {
    /// How a push is laid out.
    enum Layout {
        /// In a JSON object with everything about it (the default).
        case wrapped
        /// The data alone is the body, and headers may say the rest (`NoWrapper`).
        case unwrapped
    }

    /// Reads the body of a push, and its headers where that is where the metadata stands. Its length is the caller's to bound.
    ///
    /// - Throws: ``DeliveryError`` with `malformed`.
    static func pushed(_ delivery: Delivery) throws(DeliveryError) -> (message: PubSubMessage, layout: Layout) {
        let document: JSONDocument
        do throws(JSONError) {
            document = try JSONDocument(parsing: delivery.body, limits: .ofAnyLength)
            var reader = try ObjectReader(document.root)
            if let message = reader.object["message"], message.kind == .object {
                let subscription = try reader.optionalString("subscription")
                let attempt = reader.descriptiveInt64("deliveryAttempt")
                return (
                    try PubSubMessage(reading: message, subscription: subscription, deliveryAttempt: attempt),
                    .wrapped
                )
            }
            guard reader.object["packageName"] != nil else { throw try reader.missing("message") }
        } catch {
            throw DeliveryError(.malformed, "push: \(error)", underlying: error)
        }
        return (try unwrapped(delivery), .unwrapped)
    }

    private static func unwrapped(_ delivery: Delivery) throws(DeliveryError) -> PubSubMessage {
        PubSubMessage(
            subscription: try metadata("x-goog-pubsub-subscription-name", delivery),
            messageID: try metadata("x-goog-pubsub-message-id", delivery),
            publishTime: try metadata("x-goog-pubsub-publish-time", delivery).flatMap(Date.init(publishTime:)),
            orderingKey: try metadata("x-goog-pubsub-ordering-key", delivery),
            data: delivery.body
        )
    }

    private static func metadata(_ name: String, _ delivery: Delivery) throws(DeliveryError) -> String? {
        let values = delivery.headers.values(name)
        guard values.count <= 1 else {
            throw DeliveryError(.malformed, "\(values.count) \(name) headers, expected 1")
        }
        guard let value = values.first, !value.isEmpty else { return nil }
        guard value.utf8.count <= Limits.headerBytes else {
            throw DeliveryError(.malformed, "header \(name) of \(value.utf8.count) bytes")
        }
        return value
    }

    /// Reads a `PubsubMessage`.
    init(
        reading value: JSONValue,
        subscription: String?,
        deliveryAttempt: Int64?
    ) throws(JSONError) {
        var reader = try ObjectReader(value)
        // Pushes have both spellings of these two at once.
        let names: [MemberName] = ["messageId", "message_id"]
        let messageID = try names.lazy.compactMap { reader.optionalValue($0) }.first?.string()
        let publishTime = reader.descriptiveString("publishTime") ?? reader.descriptiveString("publish_time")
        var attributes: [String: String] = [:]
        if let members = try? reader.optionalValue("attributes")?.object() {
            for (name, value) in members.members {
                if let text = try? value.string() { attributes[name] = text }
            }
        }
        self.init(
            subscription: subscription,
            messageID: messageID.flatMap { $0.isEmpty ? nil : $0 },
            publishTime: publishTime.flatMap(Date.init(publishTime:)),
            attributes: attributes,
            orderingKey: reader.descriptiveString("orderingKey").flatMap { $0.isEmpty ? nil : $0 },
            deliveryAttempt: deliveryAttempt.flatMap { Int(exactly: $0) }.flatMap { $0 > 0 ? $0 : nil },
            data: try Self.data(reader.optionalValue("data"))
        )
    }

    /// Decodes base64 of either alphabet, with or without padding.
    private static func data(_ value: JSONValue?) throws(JSONError) -> [UInt8] {
        guard let value else { return [] }
        let text = try value.utf8Slice()
        do throws(SignatureError) {
            // The form that Pub/Sub sends.
            return try Base64.decode(text.span)
        } catch {
            guard let octets = lenientlyDecoded(text) else { throw value.error(.invalidEscape) }
            return octets
        }
    }

    private static func lenientlyDecoded(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        var text = text
        if text.count % 4 == 0 {
            for _ in 0..<2 where text.last == UInt8(ascii: "=") { text.removeLast() }
        }
        let isStandard = text.contains { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "/") }
        let isURL = text.contains { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
        guard !(isStandard && isURL) else { return nil }
        let translated = text.map { octet in
            switch octet {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            default: octet
            }
        }
        return try? Base64URL.decode(translated.span)
    }
}

extension ObjectReader {
    /// The error for a member that is not there.
    fileprivate func missing(_ name: MemberName) throws(JSONError) -> JSONError {
        _ = try value(name)
        return JSONError(.unexpectedKind(expected: .object, found: try value(name).kind), path: name.text, offset: 0)
    }
}

extension Date {
    /// Pub/Sub's time of publication; nothing for text that is none.
    fileprivate init?(publishTime: String) {
        guard publishTime.utf8.count <= 64, let milliseconds = RFC3339.milliseconds(publishTime) else { return nil }
        self.init(millisecondsSince1970: milliseconds)
    }
}
