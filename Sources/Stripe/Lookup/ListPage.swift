import WireJSON

/// A page of one of Stripe's lists (https://docs.stripe.com/api/pagination).
struct ListPage<Element> {
    let elements: [Element]
    /// True if there are more in the direction of the question.
    let hasMore: Bool
    /// The id of the last element.
    let last: String?

    /// - Parameter read: an element; nil for one that is passed over.
    init(_ document: JSONDocument, _ read: (JSONValue) throws(JSONError) -> Element?) throws(JSONError) {
        let reader = try ObjectReader(document.root)
        var elements: [Element] = []
        var last: String?
        for value in try reader.array("data") {
            if let element = try read(value) { elements.append(element) }
            last = try ObjectReader(value).optionalString("id")
        }
        (self.elements, self.last) = (elements, last)
        hasMore = try reader.optionalBool(.hasMore) ?? false
    }

    /// The element to lead on from.
    ///
    /// - Parameter position: the element that this page was asked for from.
    /// - Returns: nil to end the list: a page that does not lead on would be asked for again and again.
    func lead(from position: String?) -> String? { last == position ? nil : last }
}

extension StripeNotification.Answer {
    /// The first element, if it is a list.
    var firstElement: JSONValue? {
        document.flatMap { document in try? ObjectReader(document.root).optionalArray("data")?.first }
    }
}
