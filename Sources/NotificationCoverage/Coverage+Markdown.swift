import Normalizer

extension Coverage {
    /// The table that stands in `docs/coverage.md`.
    package var markdown: String {
        let states = ["ACTIVE", "CANCELED", "IN_GRACE_PERIOD", "ON_HOLD", "PAUSED", "EXPIRED", "PENDING"]
        let others = ["PENDING_PURCHASE_CANCELED", "UNSPECIFIED"]
        // By number and state is a table of its own.
        let byState = rows.filter {
            $0.native.type == "subscriptionNotification" && (states + others).contains($0.native.state)
        }
        var lines: [String] = []
        if !byState.isEmpty {
            let columns = states + others
            lines.append("| number | \(columns.joined(separator: " | ")) |")
            lines.append("|---|\(columns.map { _ in "---|" }.joined())")
            var numbers: [String] = []
            for row in byState where !numbers.contains(row.native.subtype) { numbers.append(row.native.subtype) }
            for number in numbers {
                let cells = columns.map { state in
                    byState.first { $0.native.subtype == number && $0.native.state == state }.map(\.text) ?? "–"
                }
                lines.append("| \(number) | \(cells.joined(separator: " | ")) |")
            }
            lines.append("")
        }
        let rest = rows.filter { row in
            !byState.contains { $0.native == row.native }
        }
        let hasState = rest.contains { !$0.native.state.isEmpty }
        lines.append(hasState ? "| type | | asked, it is | becomes | why |" : "| type | | becomes | why |")
        lines.append(hasState ? "|---|---|---|---|---|" : "|---|---|---|---|")
        // Subtypes that come to the same share a line.
        var entries: [(cells: [String], subtypes: [String])] = []
        for row in rest {
            let cells = [row.native.type, row.native.state, row.text, row.explanation ?? ""]
            let subtype = row.native.subtype.isEmpty ? "–" : row.native.subtype
            if let index = entries.firstIndex(where: { $0.cells == cells }) {
                entries[index].subtypes.append(subtype)
            } else {
                entries.append((cells, [subtype]))
            }
        }
        for entry in entries {
            var cells = [entry.cells[0], entry.subtypes.joined(separator: ", ")]
            if hasState { cells.append(entry.cells[1]) }
            lines.append("| \((cells + entry.cells[2...]).joined(separator: " | ")) |")
        }
        return lines.map { $0 + "\n" }.joined()
    }

    /// A line for people.
    package var summary: String {
        let deliveries = rows.flatMap(\.outcomes).reduce(0) { $0 + $1.count }
        return "\(provider): \(rows.count) cases, \(deliveries) deliveries, \(unexplained.count) unexplained"
    }

    /// Puts the table between its marks in a page.
    ///
    /// - Returns: nil if the page has no such marks.
    package func inserted(into page: String) -> String? {
        let start = "<!-- coverage \(provider) -->\n"
        let end = "<!-- end of coverage \(provider) -->"
        guard let opening = page.firstRange(of: start), let closing = page.firstRange(of: end),
            opening.upperBound <= closing.lowerBound
        else { return nil }
        return page[..<opening.upperBound] + "\n\(markdown)\n" + page[closing.lowerBound...]
    }
}

extension Coverage.Row {
    fileprivate var text: String {
        outcomes.map { "`\($0.text)`" }.joined(separator: ", or ")
    }
}
