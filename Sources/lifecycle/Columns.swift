#if CommandLineTool
/// Text in columns.
struct Columns {
    private let widths: [Int]

    init(_ widths: [Int]) { self.widths = widths }

    /// Wide enough for every cell, and two spaces.
    init(fitting rows: [[String]]) {
        let count = rows.map(\.count).max() ?? 0
        widths = (0..<count).map { column in 2 + (rows.compactMap { $0.dropFirst(column).first?.count }.max() ?? 0) }
    }

    func line(_ cells: [String]) -> String {
        var line = ""
        for (cell, width) in zip(cells, widths) {
            let isLong = cell.count > width - 2
            let text = isLong ? cell.prefix(width - 3) + "…" : cell[...]
            line += text + String(repeating: " ", count: max(0, width - text.count))
        }
        return String(line.reversed().drop { $0 == " " }.reversed())
    }
}
#endif
