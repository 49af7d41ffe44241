import FoundationEssentials
import LifecycleEvents
import WireJSON

/// A point in time as milliseconds since 1970, in which all arithmetic of the mapping is done.
typealias Milliseconds = Int64

extension Milliseconds {
    var date: Date { Date(millisecondsSince1970: self) }
    var inSeconds: Int64 { self / 1000 }
    var wholeSeconds: String { String(inSeconds) }

    /// Nil outside of the years 1970…9999.
    init?(wireSeconds seconds: Int64) {
        guard seconds >= 0, seconds <= Limits.milliseconds.upperBound / 1000 else { return nil }
        self = seconds * 1000
    }
}

/// An object of Stripe's API, as far as it is read.
protocol WireObject {
    /// - Parameter addOns: the products and prices that are never a subscription's main product.
    init(_ value: JSONValue, addOns: Set<String>) throws(JSONError)
    /// Paths of descriptive members whose kind was not the documented one.
    var anomalies: [String] { get }
}

extension WireObject {
    init(_ value: JSONValue) throws(JSONError) { try self.init(value, addOns: []) }

    var anomalies: [String] { [] }
}

/// The names of a customer: the customer object, and the account of Accounts v2 that it stands for.
struct CustomerReference: Sendable {
    let id: String?
    var account: String?

    /// Nil if no customer is named.
    init?(id: String?, account: String?) {
        guard id != nil || account != nil else { return nil }
        (self.id, self.account) = (id, account)
    }
}

extension ObjectReader {
    /// The customer who buys; nil if none is named.
    func customer() throws(JSONError) -> CustomerReference? {
        CustomerReference(id: try reference("customer"), account: try reference("customer_account"))
    }

    /// The country of an address that lies within objects of these names. Anything that is no country is noted.
    mutating func descriptiveCountry(at path: MemberName...) -> String? {
        var holder = self
        for name in path {
            guard let value = holder.optionalValue(name) else { return nil }
            guard let inner = try? ObjectReader(value) else {
                note(value.path)
                return nil
            }
            holder = inner
        }
        let country = holder.descriptiveCountry("country")
        for anomaly in holder.anomalies { note(anomaly) }
        return country
    }

    /// True if the member is present, even as null.
    func has(_ name: MemberName) -> Bool { object.contains(name) }

    /// An expandable field: an id, an object with an id, or nothing.
    func reference(_ name: MemberName) throws(JSONError) -> String? {
        guard let value = optionalValue(name) else { return nil }
        return try value.referenceID()
    }

    /// A time in whole seconds, within the years 1970…9999.
    func time(_ name: MemberName) throws(JSONError) -> Milliseconds? {
        guard let seconds = try optionalInt64(name) else { return nil }
        if let time = Milliseconds(wireSeconds: seconds) { return time }
        return try optionalValue(name)?.seconds()
    }

    /// The elements of a list, with or without the wrapper that Stripe puts around it.
    func list(_ name: MemberName) throws(JSONError) -> JSONArray? {
        guard let value = optionalValue(name) else { return nil }
        if value.kind == .array { return try value.array() }
        return try ObjectReader(value).optionalArray(.data)
    }

    /// True if a list shows its first elements only.
    func hasMore(_ name: MemberName) throws(JSONError) -> Bool {
        guard let value = optionalValue(name), value.kind == .object else { return false }
        return try ObjectReader(value).optionalBool(.hasMore) ?? false
    }

    /// The object under a name, unless it is absent or null.
    func reader(_ name: MemberName) throws(JSONError) -> ObjectReader? {
        guard let value = optionalValue(name) else { return nil }
        return try ObjectReader(value)
    }
}

extension JSONValue {
    func referenceID() throws(JSONError) -> String? {
        if kind == .string { return try string() }
        return try ObjectReader(self).optionalString(.id)
    }

    func seconds() throws(JSONError) -> Milliseconds {
        guard let time = Milliseconds(wireSeconds: try int64()) else { throw error(.integerOutOfRange) }
        return time
    }
}

extension Money {
    /// An amount in the smallest unit of a currency, as Stripe states all of them.
    ///
    /// The exponent is Stripe's own and not ISO 4217's: ISK and UGX have no minor unit and are written with two places
    /// all the same, and a currency that Stripe introduces later will have two.
    init(minorUnits amount: Int64, _ currency: String) {
        let currency = currency.uppercased()
        let places = Self.withoutMinorUnit.contains(currency) ? 0 : Self.withThreePlaces.contains(currency) ? 3 : 2
        self.init(ExactDecimal(coefficient: Int128(amount), scale: places) ?? ExactDecimal(amount), currency)
    }

    private static let withoutMinorUnit: Set<String> = [
        "BIF", "CLP", "DJF", "GNF", "JPY", "KMF", "KRW", "MGA", "PYG", "RWF", "VND", "VUV", "XAF", "XOF", "XPF",
    ]
    private static let withThreePlaces: Set<String> = ["BHD", "JOD", "KWD", "OMR", "TND"]
}
