import Foundation

/// The one table of the report.
enum Table {
    private static let widths = [52, 12, 12, 8, 12, 8, 8]

    static func title(_ text: String) {
        print("\n" + text)
        line(["", "ours", "floor", "× floor", "peer", "÷ peer", "blocks", "target"])
    }

    static func row(
        _ name: String,
        ours: String = "",
        floor: String = "",
        timesFloor: Double? = nil,
        peer: String = "",
        timesPeer: Double? = nil,
        allocations: UInt? = nil,
        target: String = ""
    ) {
        line([
            "  " + name, ours, floor, timesFloor.map(ratio) ?? "", peer, timesPeer.map(ratio) ?? "",
            allocations.map(String.init) ?? "", target,
        ])
    }

    private static func line(_ cells: [String]) {
        let padded = zip(cells, widths).map { cell, width in
            cell + String(repeating: " ", count: max(1, width - cell.count))
        }
        print((padded + cells.dropFirst(widths.count)).joined())
    }
}

func microseconds(_ seconds: Double) -> String { String(format: "%.1f µs", seconds * 1e6) }

func ratio(_ ratio: Double) -> String { String(format: "%.2f", ratio) }
