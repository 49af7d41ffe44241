import FoundationEssentials
public import LifecycleEvents
import WireJSON

/// The form that crosses a queue: the proven payloads themselves. They are read again at the other end, so that both ends see
/// every member, known or not.
private struct StoredPayloads: Codable {
    var isSigned: Bool
    var payload: Data
    var transaction: Data?
    var renewalInfo: Data?
    var appTransaction: Data?

    private enum CodingKeys: String, CodingKey {
        case payload, transaction
        case isSigned = "is_signed"
        case renewalInfo = "renewal_info"
        case appTransaction = "app_transaction"
    }
}

private func reread<Value>(
    _ data: Data,
    _ stored: StoredPayloads,
    from decoder: any Decoder,
    by read: ([UInt8], JSONValue, Bool) throws(JSONError) -> Value
) throws -> Value {
    try decoder.reread {
        let bytes = Array(data)
        return try read(bytes, JSONDocument(parsing: bytes).root, stored.isSigned)
    }
}

extension AppleTransaction: Codable {
    /// Reads what `encode(to:)` wrote.
    public init(from decoder: any Decoder) throws {
        let stored = try StoredPayloads(from: decoder)
        self = try reread(stored.payload, stored, from: decoder, by: AppleTransaction.init(payload:root:isSigned:))
    }

    /// Writes the payload.
    public func encode(to encoder: any Encoder) throws {
        try StoredPayloads(isSigned: isSigned, payload: Data(payload)).encode(to: encoder)
    }
}

extension AppleRenewalInfo: Codable {
    /// Reads what `encode(to:)` wrote.
    public init(from decoder: any Decoder) throws {
        let stored = try StoredPayloads(from: decoder)
        self = try reread(stored.payload, stored, from: decoder, by: AppleRenewalInfo.init(payload:root:isSigned:))
    }

    /// Writes the payload.
    public func encode(to encoder: any Encoder) throws {
        try StoredPayloads(isSigned: isSigned, payload: Data(payload)).encode(to: encoder)
    }
}

extension AppleAppTransaction: Codable {
    /// Reads what `encode(to:)` wrote.
    public init(from decoder: any Decoder) throws {
        let stored = try StoredPayloads(from: decoder)
        self = try reread(stored.payload, stored, from: decoder, by: AppleAppTransaction.init(payload:root:isSigned:))
    }

    /// Writes the payload.
    public func encode(to encoder: any Encoder) throws {
        try StoredPayloads(isSigned: isSigned, payload: Data(payload)).encode(to: encoder)
    }
}

extension AppleNotification: Codable {
    /// Reads what `encode(to:)` wrote.
    public init(from decoder: any Decoder) throws {
        let stored = try StoredPayloads(from: decoder)
        var (notification, _) = try reread(stored.payload, stored, from: decoder) {
            (bytes, root, isSigned) throws(JSONError) in
            try AppleNotification.read(payload: bytes, root: root, isSigned: isSigned)
        }
        switch notification.content {
        case .data(var data):
            data.transaction = try stored.transaction.map {
                try reread($0, stored, from: decoder, by: AppleTransaction.init(payload:root:isSigned:))
            }
            data.renewalInfo = try stored.renewalInfo.map {
                try reread($0, stored, from: decoder, by: AppleRenewalInfo.init(payload:root:isSigned:))
            }
            notification.content = .data(data)
        case .appData(var data):
            data.appTransaction = try stored.appTransaction.map {
                try reread($0, stored, from: decoder, by: AppleAppTransaction.init(payload:root:isSigned:))
            }
            notification.content = .appData(data)
        case .summary, .externalPurchaseToken:
            break
        }
        self = notification
    }

    /// Writes the payloads.
    public func encode(to encoder: any Encoder) throws {
        var stored = StoredPayloads(isSigned: isSigned, payload: Data(payload))
        switch content {
        case .data(let data):
            stored.transaction = data.transaction.map { Data($0.payload) }
            stored.renewalInfo = data.renewalInfo.map { Data($0.payload) }
        case .appData(let data):
            stored.appTransaction = data.appTransaction.map { Data($0.payload) }
        case .summary, .externalPurchaseToken:
            break
        }
        try stored.encode(to: encoder)
    }
}

// Payloads hold personal data: printing these values shows only that they exist, and their length.
extension AppleNotification: Redacted {
    /// Type and subtype, and the length of the payload.
    public var description: String {
        "\(type)\(subtype.map { "/\($0)" } ?? "") (\(payload.count) bytes)"
    }
}

extension AppleTransaction: Redacted {
    /// The length of the payload.
    public var description: String { "transaction (\(payload.count) bytes)" }
}

extension AppleRenewalInfo: Redacted {
    /// The length of the payload.
    public var description: String { "renewal info (\(payload.count) bytes)" }
}

extension AppleAppTransaction: Redacted {
    /// The length of the payload.
    public var description: String { "app transaction (\(payload.count) bytes)" }
}
