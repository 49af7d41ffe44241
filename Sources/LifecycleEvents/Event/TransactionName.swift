package import FoundationEssentials

/// The name of a transaction, read by the grammar of Google Play's orders. Other stores' names have no parts. All channels have to
/// name these alike.
///
/// - `GPA.1234-5678-9012-34567`: the order that a purchase began with.
/// - `GPA.1234-5678-9012-34567..3`: the order of one of its renewals.
/// - `ORDER/hifi`: an item's share of an order, which all items have in common.
/// - `ORDER@TOKEN`: the continuation of an order's period under another purchase token.
package struct TransactionName: Hashable, Sendable {
    package let text: String

    package init(_ text: String) { self.text = text }

    /// The order that paid for a period, even if the name is that of an item's share or of a continuation.
    package var order: String { String(text[..<(firstSeparator ?? text.endIndex)]) }

    /// The item whose share of an order this names; nil if it names the order.
    package var item: String? {
        let end = text.utf8.firstIndex(of: UInt8(ascii: "@")) ?? text.endIndex
        guard let solidus = text.utf8[..<end].firstIndex(of: UInt8(ascii: "/")) else { return nil }
        return String(text[text.utf8.index(after: solidus)..<end])
    }

    /// The order that the purchase began with.
    package var firstOrder: String { numbered?.first ?? text }

    /// Which renewal an order is: 0 for the first one, and nil for the order that the purchase began with.
    package var renewal: Int? { numbered?.renewal }

    /// True for the order of a renewal.
    package var isRenewal: Bool { numbered != nil }

    /// True if it names an item's share or a continuation of an order's period, and not that period itself.
    package func continues(_ order: String) -> Bool { text != order && self.order == order }

    /// An item's share of this order.
    package func share(of item: String) -> String { "\(text)/\(item)" }

    /// The continuation of this order's period under another purchase token.
    package func continuation(under token: String) -> String { "\(text)@\(token)" }

    /// An order's payment for the period that begins at a moment.
    ///
    /// The order that a purchase begins with has no number, and some relays name every period of the purchase by it. So it is no
    /// identity by itself, and the start distinguishes. The order of a renewal pays for one period alone.
    package func payment(from start: Date?) -> String {
        guard let start, text.hasPrefix("GPA."), !text.utf8.contains(UInt8(ascii: "/")), !isRenewal else { return text }
        return "\(text)/\(start.millisecondsSince1970.flooredQuotient(dividingBy: 1000))"
    }

    private var firstSeparator: String.Index? {
        text.utf8.firstIndex { $0 == UInt8(ascii: "@") || $0 == UInt8(ascii: "/") }
    }

    private var numbered: (first: String, renewal: Int)? {
        let octets = text.utf8
        guard let last = octets.lastIndex(of: UInt8(ascii: ".")), last > octets.startIndex else { return nil }
        let before = octets.index(before: last)
        let number = octets[octets.index(after: last)...]
        guard octets[before] == UInt8(ascii: "."), before > octets.startIndex,
            number.allSatisfy({ (0x30...0x39).contains($0) }), let renewal = Int(String(Substring(number)))
        else { return nil }
        return (String(text[..<before]), renewal)
    }
}
