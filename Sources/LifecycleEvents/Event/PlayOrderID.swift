package import FoundationEssentials

/// `GPA.1234-5678-9012-34567..3`: the order that a purchase on Google Play began with, and which of its renewals this is.
package struct PlayOrderID {
    package var base: String
    /// 0 for the first renewal; nil for the order that the purchase began with.
    package var renewal: Int?

    package init(_ text: String) {
        (base, renewal) = (text, nil)
        let octets = text.utf8
        guard let last = octets.lastIndex(of: UInt8(ascii: ".")), last > octets.startIndex else { return }
        let before = octets.index(before: last)
        let number = octets[octets.index(after: last)...]
        guard octets[before] == UInt8(ascii: "."), before > octets.startIndex,
            number.allSatisfy({ (0x30...0x39).contains($0) }), let renewal = Int(String(Substring(number)))
        else { return }
        base = String(text[..<before])
        self.renewal = renewal
    }
}

// All channels have to name these alike.
extension String {
    /// The lineage of a further item of the purchase with this name.
    package func lineage(ofItem product: String) -> String { "\(self):\(product)" }

    /// The purchase whose item has a lineage of this name; nil for the name of a purchase.
    package var purchaseOfItem: String? {
        utf8.firstIndex(of: UInt8(ascii: ":")).map { String(self[..<$0]) }
    }

    /// An item's share of this order, which all items have in common.
    package func transaction(ofItem product: String) -> String { "\(self)/\(product)" }

    /// The item whose share of an order this names; nil if it names the order.
    package var itemOfOrder: String? {
        let end = utf8.firstIndex(of: UInt8(ascii: "@")) ?? endIndex
        guard let solidus = utf8[..<end].firstIndex(of: UInt8(ascii: "/")) else { return nil }
        return String(self[utf8.index(after: solidus)..<end])
    }

    /// The name of an order's period that continues under another purchase token, which the order alone does not name.
    package func goingOn(under token: String) -> String { "\(self)@\(token)" }

    /// The order that paid for a period, even if the name is that of an item's share or of a continuation.
    package var paidOrder: Substring {
        self[..<(utf8.firstIndex { $0 == UInt8(ascii: "@") || $0 == UInt8(ascii: "/") } ?? endIndex)]
    }

    /// True if it names an item's share or a continuation of an order's period, and not that period itself.
    package func goesOn(of order: String) -> Bool { self != order && paidOrder == order }

    /// True for the order of a renewal.
    package var isRenewalOrder: Bool { PlayOrderID(self).renewal != nil }

    /// An order's payment for the period that begins at a moment.
    ///
    /// The order that a purchase begins with has no number, and some relays name every period of the purchase by it. So it is no
    /// identity by itself, and the start distinguishes. The order of a renewal pays for one period alone.
    package func payment(from start: Date?) -> String {
        guard let start, hasPrefix("GPA."), !utf8.contains(UInt8(ascii: "/")), !isRenewalOrder else { return self }
        return "\(self)/\(start.millisecondsSince1970.flooredQuotient(dividingBy: 1000))"
    }
}
