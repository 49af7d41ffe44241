import SignatureCore

/// The lineage that a purchase and all that follows from it belong to: one subscription through its renewals and
/// product changes, or one one-time purchase.
///
/// It is the key under which a backend keeps one `SubscriptionState`. `id` is the store's stable identity: Apple's
/// `originalTransactionId`, the first purchase token of a Google chain, Stripe's `sub_…`.
public struct SubscriptionID: Hashable, Sendable, Codable, CustomStringConvertible {
    /// Where the purchase lives.
    public let store: PurchaseStore
    /// The store's world that it lives in.
    public let environment: StoreEnvironment
    /// The store's stable identity.
    public let id: String

    /// Names a lineage.
    public init(store: PurchaseStore, environment: StoreEnvironment, id: String) {
        self.store = store
        self.environment = environment
        self.id = id
    }

    /// Reads the form that ``description`` writes; nil for anything else.
    public init?(_ text: String) {
        // By octets: to Swift, a stroke and a combining mark after it are one character, and no stroke.
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 2, omittingEmptySubsequences: false)
            .map { Substring($0) }
        guard parts.count == 3,
            let store = Self.unescaped(parts[0]), let environment = Self.unescaped(parts[1])
        else { return nil }
        self.init(
            store: PurchaseStore(rawValue: store),
            environment: StoreEnvironment(rawValue: environment),
            id: String(parts[2])
        )
    }

    /// `store/environment/id`, fit for a database key: `app_store/production/2000000123456789`.
    public var description: String {
        "\(Self.escaped(store.rawValue))/\(Self.escaped(environment.rawValue))/\(id)"
    }

    /// True if both are octet for octet the same.
    public static func == (one: SubscriptionID, other: SubscriptionID) -> Bool {
        one.id == other.id && one.id.hasOctets(of: other.id) && one.store == other.store
            && one.environment == other.environment
    }

    /// The order of the names.
    package func precedes(_ other: SubscriptionID) -> Bool { description.precedes(other.description) }

    /// Reads the string form.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let value = SubscriptionID(try container.decode(String.self)) else {
            throw decoder.refusal("not store/environment/id")
        }
        self = value
    }

    /// Writes the string form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }

    private static func escaped(_ part: String) -> String {
        guard part.utf8.contains(where: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "~") }) else { return part }
        return part.unicodeScalars.map { $0 == "~" ? "~0" : $0 == "/" ? "~1" : String($0) }.joined()
    }

    private static func unescaped(_ part: Substring) -> String? {
        guard part.utf8.contains(UInt8(ascii: "~")) else { return String(part) }
        var result = String.UnicodeScalarView()
        var rest = part.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            guard scalar == "~" else {
                result.append(scalar)
                continue
            }
            switch rest.popFirst() {
            case "0"?: result.append("~")
            case "1"?: result.append("/")
            default: return nil
            }
        }
        return String(result)
    }
}

/// The kind of statement that an ``EventID`` is about. It is coarser than the event's case: a renewal that one channel
/// words as a product change is still the same ``periodBegan``.
public struct FactKind: OpenValue {
    /// The name that enters the digest.
    public let rawValue: String
    /// Keeps a name as it is.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A period of access began; identified by the store's transaction or order.
    public static let periodBegan: FactKind = "period_began"
    /// A period of access ended; identified by the transaction that it ends.
    public static let ended: FactKind = "ended"
    /// Money went back; identified by the refund, or by the transaction.
    public static let refunded: FactKind = "refunded"
    /// A refund was undone; identified by the transaction.
    public static let refundReversed: FactKind = "refund_reversed"
    /// A change of product was arranged for later; identified by products and date.
    public static let changeScheduled: FactKind = "change_scheduled"
    /// A scheduled change of product was withdrawn; identified by the product that stays and the date.
    public static let changeReverted: FactKind = "change_reverted"
    /// A period was extended; identified by its transaction and the new end.
    public static let extended: FactKind = "extended"
    /// A dispute moved on; identified by the dispute and its stage.
    public static let chargeback: FactKind = "chargeback"
    /// A one-time product was bought; identified by the transaction.
    public static let purchased: FactKind = "purchased"
    /// A lineage moved to the account that bought it again; identified by the purchase.
    public static let transferred: FactKind = "transferred"
    /// Anything else that channels share no name for; identified by the provider's notification.
    public static let notified: FactKind = "notified"
}

/// The identity of a fact: the same from every channel and on every delivery.
///
/// A backend with a unique index on it acts once per fact.
public struct EventID: Hashable, Sendable, Codable, CustomStringConvertible {
    // The first 160 bits of a SHA-256 digest.
    private let high: UInt64
    private let middle: UInt64
    private let low: UInt32

    /// Derives the identity of a fact.
    ///
    /// - Parameters:
    ///   - fact: the kind of fact.
    ///   - scope: the lineage that the fact is about.
    ///   - discriminator: the values that distinguish this fact from others of its kind in the lineage.
    public init(_ fact: FactKind, in scope: SubscriptionID, _ discriminator: String...) {
        var text = HashedText(fact, in: scope)
        for value in discriminator { text.append(component: value) }
        self.init(text.digest)
    }

    /// The identity of a provider's report, whose name is written in parts with a solidus between them.
    package init(notifiedTo scope: SubscriptionID, by provider: Provider, path: [String], ordinal: Int = 0) {
        var text = HashedText(.notified, in: scope)
        text.append(component: provider.rawValue)
        text.append(path: path)
        text.append(component: String(ordinal))
        self.init(text.digest)
    }

    /// Derives the identity of something that belongs to no lineage, such as a test notification.
    ///
    /// - Parameters:
    ///   - provider: the service that reported it.
    ///   - environment: the world that it concerns.
    ///   - notification: the provider's own identity of the notification.
    ///   - ordinal: the number of this event among the notification's events.
    public init(provider: Provider, environment: StoreEnvironment, notification: String, ordinal: Int = 0) {
        var text = HashedText.ofEvent()
        for value in ["", provider.rawValue, environment.rawValue, notification, String(ordinal)] {
            text.append(component: value)
        }
        self.init(text.digest)
    }

    /// Takes an identity that was derived before.
    ///
    /// - Returns: nil unless `text` is 40 lower-case hexadecimal digits.
    public init?(_ text: String) {
        guard text.utf8.count == 40 else { return nil }
        var words: (UInt64, UInt64, UInt64) = (0, 0, 0)
        for digit in text.utf8 {
            let value: UInt8
            switch digit {
            case 0x30...0x39: value = digit - 0x30
            case 0x61...0x66: value = digit - 0x61 + 10
            default: return nil
            }
            words = (
                words.0 << 4 | words.1 >> 60,
                words.1 << 4 | words.2 >> 28,
                (words.2 << 4 | UInt64(value)) & 0xFFFF_FFFF
            )
        }
        (high, middle, low) = (words.0, words.1, UInt32(truncatingIfNeeded: words.2))
    }

    private init(_ digest: Digest) {
        high = digest.word(at: 0)
        middle = digest.word(at: 8)
        low = UInt32(truncatingIfNeeded: digest.word(at: 16) >> 32)
    }

    /// 40 lower-case hexadecimal digits.
    public var description: String {
        Self.hexadecimal(high) + Self.hexadecimal(middle) + Self.hexadecimal(UInt64(low)).suffix(8)
    }

    private static func hexadecimal(_ word: UInt64) -> String {
        let digits = String(word, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }

    /// Reads the string form.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let value = EventID(try container.decode(String.self)) else {
            throw decoder.refusal("not 40 hexadecimal digits")
        }
        self = value
    }

    /// Writes the string form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

// Each component is preceded by its length, so that no two lists of components give the same octets.
extension HashedText {
    fileprivate static func ofEvent() -> HashedText {
        var text = HashedText()
        text.append("lifecycle-event/1")
        return text
    }

    fileprivate init(_ fact: FactKind, in scope: SubscriptionID) {
        self = .ofEvent()
        append(component: scope.store.rawValue)
        append(component: scope.environment.rawValue)
        append(component: scope.id)
        append(component: fact.rawValue)
    }

    fileprivate mutating func append(component: String) {
        append(Int64(component.utf8.count))
        append(":")
        append(component)
    }

    /// Appends one component, which is written in parts with a solidus between them.
    fileprivate mutating func append(path: [String]) {
        append(Int64(path.reduce(max(path.count - 1, 0)) { $0 + $1.utf8.count }))
        append(":")
        for (index, part) in path.enumerated() {
            if index > 0 { append("/") }
            append(part)
        }
    }
}
