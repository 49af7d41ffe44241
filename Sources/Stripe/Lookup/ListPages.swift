import WireJSON

/// The elements of a list of which an object shows the first ones only, page by page as they were asked for.
struct ListPages<Element> {
    /// Every element; nil as long as a page is missing.
    let all: [Element]?
    /// The answer that is missing, and the element that its page comes after; nil if everything is there, or the rest will
    /// not come.
    private let missing: (name: String, last: String?)?

    /// - Parameters:
    ///   - list: names the answers.
    ///   - read: an element; nil for one that is passed over.
    init(
        _ list: String,
        in answers: StripeNotification.Answers,
        _ read: (JSONValue) throws(JSONError) -> Element?
    ) {
        var elements: [Element] = []
        var last: String?
        // Ten pages of a hundred: Stripe bounds an invoice and a subscription well below.
        for number in 1...10 {
            let name = "\(list)/\(number)"
            guard let answer = answers[name] else {
                (all, missing) = (nil, (name, last))
                return
            }
            guard let document = answer.document, let page = try? ListPage(document, read) else { break }
            elements += page.elements
            guard page.hasMore else {
                (all, missing) = (elements, nil)
                return
            }
            last = page.lead(from: last)
            if last == nil { break }
        }
        (all, missing) = (nil, nil)
    }

    /// Asks for the page that is missing.
    func request(_ path: [String], _ query: [(String, String)] = []) -> LookupRequest? {
        missing.map { name, last in
            LookupRequest(name: name, path: path, query: query + LookupRequest.page(after: last), answer: .list)
        }
    }
}

extension ListPages<InvoiceObject.Line> {
    init(invoiceLinesIn answers: StripeNotification.Answers) {
        self.init("invoice_lines", in: answers) { (value) throws(JSONError) in try InvoiceObject.Line(value) }
    }
}

extension ListPages<SubscriptionObject.Item> {
    init(itemsIn answers: StripeNotification.Answers, addOns: Set<String> = []) {
        self.init("subscription_items", in: answers) { (value) throws(JSONError) in
            try? SubscriptionObject.Item(value, addOns: addOns)
        }
    }
}
