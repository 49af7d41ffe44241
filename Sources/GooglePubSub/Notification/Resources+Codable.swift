import FoundationEssentials

// What crosses a queue is the resource as received. It is read again at the other end, so that both ends see every
// member, known or not. Resources hold personal data: what prints them shows how long they are.

extension SubscriptionPurchase: Codable {
    /// Reads the resource again.
    public init(from decoder: any Decoder) throws {
        try self.init(payload: Array(try decoder.singleValueContainer().decode(Data.self)))
    }

    /// Writes the resource.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Data(payload))
    }
}

extension SubscriptionPurchase: CustomStringConvertible, CustomReflectable {
    /// The length of the resource.
    public var description: String { "subscription purchase (\(payload.count) bytes)" }

    /// Shows nothing.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension ProductPurchase: Codable {
    /// Reads the resource again.
    public init(from decoder: any Decoder) throws {
        try self.init(payload: Array(try decoder.singleValueContainer().decode(Data.self)))
    }

    /// Writes the resource.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Data(payload))
    }
}

extension ProductPurchase: CustomStringConvertible, CustomReflectable {
    /// The length of the resource.
    public var description: String { "product purchase (\(payload.count) bytes)" }

    /// Shows nothing.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension PlayOrder: Codable {
    /// Reads the resource again.
    public init(from decoder: any Decoder) throws {
        try self.init(payload: Array(try decoder.singleValueContainer().decode(Data.self)))
    }

    /// Writes the resource.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Data(payload))
    }
}

extension PlayOrder: CustomStringConvertible, CustomReflectable {
    /// The length of the resource.
    public var description: String { "order (\(payload.count) bytes)" }

    /// Shows nothing.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
