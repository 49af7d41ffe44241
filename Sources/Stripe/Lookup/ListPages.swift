import WireJSON

/// The elements of a list of which an object shows the first ones only, page by page as they were asked for.
struct ListPages<Element> {
    /// A page to ask for: the name of its answer, and the element that it comes after.
    struct Page {
        let name: String
        let after: String?

        /// The query of Stripe's lists.
        var query: [(String, String)] { [("limit", "100")] + (after.map { [("starting_after", $0)] } ?? []) }
    }

    /// Every element; nil as long as a page is missing.
    let all: [Element]?
    /// The page to ask for; nil if everything is there, or the rest will not come.
    let nextPage: Page?

    /// - Parameters:
    ///   - list: names the answers.
    ///   - read: an element; nil for one that is passed over.
    init(
        _ list: String,
        _ answers: [String: StripeNotification.Answer],
        _ read: (JSONValue) throws(JSONError) -> Element?
    ) {
        var elements: [Element] = []
        var last: String?
        // Ten pages of a hundred: Stripe bounds an invoice and a subscription well below.
        for number in 1...10 {
            let name = "\(list)/\(number)"
            guard let answer = answers[name] else {
                (all, nextPage) = (nil, Page(name: name, after: last))
                return
            }
            guard let root = answer.document?.root, let page = try? Self.page(root, read) else { break }
            elements += page.elements
            guard page.hasMore else {
                (all, nextPage) = (elements, nil)
                return
            }
            // A page that does not lead on would be asked for again and again.
            guard let id = page.last, id != last else { break }
            last = id
        }
        (all, nextPage) = (nil, nil)
    }

    private static func page(
        _ root: JSONValue,
        _ read: (JSONValue) throws(JSONError) -> Element?
    ) throws(JSONError) -> (elements: [Element], last: String?, hasMore: Bool) {
        let reader = try ObjectReader(root)
        var elements: [Element] = []
        var last: String?
        for value in try reader.array("data") {
            if let element = try read(value) { elements.append(element) }
            last = try ObjectReader(value).optionalString("id")
        }
        return (elements, last, try reader.optionalBool("has_more") ?? false)
    }
}

extension ListPages<InvoiceObject.Line> {
    init(invoiceLinesIn answers: [String: StripeNotification.Answer]) {
        self.init("invoice_lines", answers) { (value) throws(JSONError) in try InvoiceObject.Line(value) }
    }
}

extension ListPages<SubscriptionObject.Item> {
    init(itemsIn answers: [String: StripeNotification.Answer], addOns: Set<String> = []) {
        self.init("subscription_items", answers) { (value) throws(JSONError) in
            try? SubscriptionObject.Item(value, addOns: addOns)
        }
    }
}
