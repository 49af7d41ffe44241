package import FoundationEssentials

/// The id of a transaction, in the store's own words: Apple's `transactionId`, a Google Play order, a Stripe invoice.
public struct TransactionID: OpenValue, Comparable, CodingKeyRepresentable {
    /// The id as the store writes it.
    public let rawValue: String
    /// Keeps an id as it is.
    public init(rawValue: String) { self.rawValue = rawValue }
}

// The grammar of Google Play's orders. Only these names have parts that are read. All channels have to name these alike.
//
// - `GPA.1234-5678-9012-34567`: the order that a purchase began with.
// - `GPA.1234-5678-9012-34567..3`: the order of one of its renewals.
// - `ORDER/hifi`: an item's share of an order, which all items have in common.
// - `ORDER@TOKEN`: the continuation of an order's period under another purchase token.
extension TransactionID {
    /// True for what a Play order paid for.
    package var isPlayOrder: Bool { rawValue.hasPrefix("GPA.") }

    /// The order that paid for a period, even if the id is that of an item's share or of a continuation.
    package var order: TransactionID { firstSeparator.map { TransactionID(String(rawValue[..<$0])) } ?? self }

    /// The item whose share of an order this names; nil if it names the order.
    package var item: ProductID? {
        let octets = rawValue.utf8
        let end = octets.firstIndex(of: UInt8(ascii: "@")) ?? octets.endIndex
        guard let solidus = octets[..<end].firstIndex(of: UInt8(ascii: "/")) else { return nil }
        return ProductID(String(rawValue[octets.index(after: solidus)..<end]))
    }

    /// The order that the purchase began with.
    package var firstOrder: TransactionID { numbered?.first ?? self }

    /// Which renewal an order is: 0 for the first one, and nil for the order that the purchase began with.
    package var renewal: Int? { numbered?.renewal }

    /// True for the order of a renewal.
    package var isRenewal: Bool { numbered != nil }

    /// True if it names an item's share or a continuation of an order's period, and not that period itself.
    package func continues(_ order: TransactionID) -> Bool { self != order && self.order == order }

    /// An item's share of this order.
    package func share(of item: ProductID) -> TransactionID { TransactionID("\(rawValue)/\(item)") }

    /// The continuation of this order's period under another purchase token.
    package func continuation(under token: String) -> TransactionID { TransactionID("\(rawValue)@\(token)") }

    /// An order's payment for the period that begins at a moment.
    ///
    /// The order that a purchase begins with has no number, and some relays name every period of the purchase by it. So it is no
    /// identity by itself, and the start distinguishes. The order of a renewal pays for one period alone.
    package func payment(from start: Date?) -> TransactionID {
        guard let start, isPlayOrder, !rawValue.utf8.contains(UInt8(ascii: "/")), !isRenewal else {
            return self
        }
        return TransactionID("\(rawValue)/\(start.millisecondsSince1970.flooredQuotient(dividingBy: 1000))")
    }

    private var firstSeparator: String.Index? {
        rawValue.utf8.firstIndex { $0 == UInt8(ascii: "@") || $0 == UInt8(ascii: "/") }
    }

    private var numbered: (first: TransactionID, renewal: Int)? {
        let octets = rawValue.utf8
        guard let last = octets.lastIndex(of: UInt8(ascii: ".")), last > octets.startIndex else { return nil }
        let before = octets.index(before: last)
        let number = octets[octets.index(after: last)...]
        guard octets[before] == UInt8(ascii: "."), before > octets.startIndex,
            number.allSatisfy({ (0x30...0x39).contains($0) }), let renewal = Int(String(Substring(number)))
        else { return nil }
        return (TransactionID(String(rawValue[..<before])), renewal)
    }
}
