/// A table of text with actions for its rows, as a page with the look of a ``CustomerReportPage``.
///
/// Serve it with ``CustomerReportPage/contentSecurityPolicy``.
public struct ReportTable: Sendable {
    /// A button that posts a form.
    public struct Action: Sendable {
        /// The text of the button.
        public var label: String
        /// Where the form is posted to.
        public var address: String

        /// Describes the button.
        public init(label: String, address: String) {
            self.label = label
            self.address = address
        }
    }

    /// The heads of the columns.
    public var columns: [String]
    /// The rows: a cell for each column, and buttons.
    public var rows: [(cells: [String], actions: [Action])]

    /// Makes a table without rows.
    public init(columns: [String]) {
        self.columns = columns
        rows = []
    }

    /// The whole document.
    ///
    /// - Parameters:
    ///   - title: the heading.
    ///   - notice: a sentence above the table.
    ///   - home: the address of the page that leads back; absent, there is no link.
    public func html(title: String, notice: String? = nil, home: String? = nil) -> String {
        let notice: HTML = notice.map { "<p class=\"notice\" role=\"status\">\($0)</p>" } ?? ""
        let link: HTML = home.map { "<p><a href=\"\($0)\">Customers</a></p>" } ?? ""
        let page: HTML = """
            \(CustomerReportPage.head(title))<header><h1>\(title)</h1>\(link)</header><main>\(notice)
            \(markup(label: title))</main></body></html>
            """
        return page.text
    }

    /// The table alone. It has a column for buttons where a row has any.
    func markup(label: String) -> HTML {
        let hasActions = rows.contains { !$0.actions.isEmpty }
        let heads = (columns + (hasActions ? ["Action"] : [])).map { "<th scope=\"col\">\($0)</th>" as HTML }
        let lines = rows.map { row -> HTML in
            let cells = row.cells.map { "<td>\($0)</td>" as HTML }
            let buttons = row.actions.map { action in
                "<form action=\"\(action.address)\" method=\"post\"><button>\(action.label)</button></form>" as HTML
            }
            let last: HTML = hasActions ? "<td>\(buttons)</td>" : ""
            return "<tr>\(cells)\(last)</tr>"
        }
        return """
            <div class="scroll" tabindex="0" role="region" aria-label="\(label)"><table>
            <thead><tr>\(heads)</tr></thead><tbody>\(lines)</tbody></table></div>
            """
    }
}
