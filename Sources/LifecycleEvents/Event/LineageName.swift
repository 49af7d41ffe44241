/// The name of a lineage, read by the grammar of a purchase's items. All channels have to name these alike.
///
/// `PURCHASE:hifi` is the item `hifi` of a purchase.
package struct LineageName: Hashable, Sendable {
    package let text: String

    package init(_ text: String) { self.text = text }

    /// The lineage of a further item of this purchase.
    package func item(_ product: ProductID) -> String { "\(text):\(product)" }

    /// The purchase whose item has this lineage; nil for a purchase.
    package var purchase: String? {
        text.utf8.firstIndex(of: UInt8(ascii: ":")).map { String(text[..<$0]) }
    }
}
