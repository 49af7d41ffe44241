import WireJSON

/// The lines of an invoice that shows its first ones only, page by page as they were asked for.
struct InvoiceLines {
    /// A page to ask for: the name of its answer, and the line that it comes after.
    struct Page {
        let name: String
        let after: String?
    }

    /// How many pages of a hundred lines are asked for; Stripe bounds an invoice well below.
    static let maximumPages = 10

    /// Every line; nil as long as a page is missing.
    let all: [InvoiceObject.Line]?
    /// What to ask for; nil where everything is there, or what is missing will not come.
    let nextPage: Page?

    init(_ notification: StripeNotification) {
        var lines: [InvoiceObject.Line] = []
        var last: String?
        for number in 1...Self.maximumPages {
            let name = "invoice_lines/\(number)"
            guard let answer = notification.answers[name] else {
                (all, nextPage) = (nil, Page(name: name, after: last))
                return
            }
            guard let root = answer.document?.root, let page = try? Self.page(root) else { break }
            lines += page.lines
            guard page.hasMore else {
                (all, nextPage) = (lines, nil)
                return
            }
            // A page that does not lead on would be asked for again and again.
            guard let id = page.last, id != last else { break }
            last = id
        }
        (all, nextPage) = (nil, nil)
    }

    private static func page(
        _ root: JSONValue
    ) throws(JSONError) -> (lines: [InvoiceObject.Line], last: String?, hasMore: Bool) {
        let reader = try ObjectReader(root)
        var lines: [InvoiceObject.Line] = []
        var last: String?
        for value in try reader.array("data") {
            lines.append(try InvoiceObject.Line(value))
            last = try ObjectReader(value).optionalString("id")
        }
        return (lines, last, try reader.optionalBool("has_more") ?? false)
    }
}
