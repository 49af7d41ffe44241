import FoundationEssentials
import Normalizer

/// A purchase on a time axis: access, the paid periods of each product, and the events.
struct PurchasePicture {
    private struct Bar {
        var product: ProductID
        var start: Int64
        var end: Int64
        var phase: PeriodPhase
        var transaction: TransactionID?
    }

    private struct Mark {
        var at: Int64
        var label: String
        var isBad: Bool
    }

    private static let width: Int64 = 1000
    /// Where the axis begins; the names of the lanes stand before it.
    private static let left: Int64 = 130
    private static let laneHeight: Int64 = 26
    /// A purchase without an end is drawn for this long behind the last thing that is known.
    private static let openEnd: Int64 = 30 * 86_400_000
    /// The newest are drawn. More would not be seen, and a lineage can have thousands.
    private static let maximumBars = 200

    private let state: SubscriptionState
    private let bars: [Bar]
    private let marks: [Mark]
    private let time: Int64
    private let first: Int64
    private let last: Int64

    init(_ purchase: CustomerReportPage.Purchase, at time: Date) {
        state = purchase.state
        self.time = time.millisecondsSince1970
        var periods: [Int64: Bar] = [:]
        var marks: [Mark] = []
        for line in purchase.lines {
            for case .period(let period) in line.facts {
                let start = period.period.start.millisecondsSince1970
                periods[start] = Bar(
                    product: period.product,
                    start: start,
                    end: period.period.end?.millisecondsSince1970 ?? .max,
                    phase: period.phase,
                    transaction: period.transaction
                )
            }
            for case .purchase(let bought) in line.facts {
                let start = bought.at.millisecondsSince1970
                let end = bought.purchase.expires?.millisecondsSince1970 ?? .max
                periods[start] = Bar(
                    product: bought.product,
                    start: start,
                    end: end,
                    phase: .regular,
                    transaction: bought.transaction
                )
            }
            if case .event(let event) = line, let isBad = Self.isBad(event.kind) {
                marks.append(
                    Mark(at: event.effectiveAt.millisecondsSince1970, label: event.kind.rawValue, isBad: isBad)
                )
            }
        }
        let bars = Array(periods.values.sorted { $0.start < $1.start }.suffix(Self.maximumBars))
        marks = Array(marks.suffix(Self.maximumBars))
        let known = bars.flatMap { [$0.start, $0.end] }.filter { $0 != .max }
        let start = known.min() ?? marks.map(\.at).min() ?? self.time
        let end = max(known.max() ?? start, marks.map(\.at).max() ?? start, start + 86_400_000)
        first = start
        last = end + (bars.contains { $0.end == .max } ? Self.openEnd : 0)
        self.bars = bars
        self.marks = marks.filter { $0.at >= start }
    }

    /// True if an event takes something away; nil if it is not worth a mark.
    private static func isBad(_ kind: LifecycleEvent.Kind) -> Bool? {
        switch kind {
        case .expired, .refunded, .revoked, .billingIssue, .gracePeriodExpired, .chargeback, .paused: true
        case .productChanged, .refundReversed, .transferred, .autoRenewDisabled, .autoRenewEnabled, .extended: false
        default: nil
        }
    }

    private func x(_ milliseconds: Int64) -> Int64 {
        let clamped = min(max(milliseconds, first), last)
        let share = Double(clamped - first) / Double(max(last - first, 1))
        return Self.left + Int64(share * Double(Self.width - Self.left - 10))
    }

    var svg: HTML {
        var products: [ProductID] = []
        for bar in bars where !products.contains(bar.product) { products.append(bar.product) }
        let lanes = Array(products.prefix(12))
        let top: Int64 = 24
        let marksAt = top + Self.laneHeight * Int64(lanes.count + 1) + 12
        let height = marksAt + 20
        var parts: [HTML] = ticks(height: height)
        parts.append("<text x=\"0\" y=\"\(top + 16)\">Access</text>")
        parts += access(y: top)
        for (index, product) in lanes.enumerated() {
            let y = top + Self.laneHeight * Int64(index + 1)
            parts.append(
                "<text x=\"0\" y=\"\(y + 16)\"><title>\(product)</title>\(Self.short(product.rawValue))</text>"
            )
            for bar in bars where bar.product == product { parts.append(rectangle(bar, y: y, color: index % 4)) }
        }
        for mark in marks {
            let date = Date(millisecondsSince1970: mark.at).text
            parts.append(
                """
                <circle class="mark\(mark.isBad ? " bad" : "")" cx="\(x(mark.at))" cy="\(marksAt)" r="5">\
                <title>\(mark.label), effective \(date)</title></circle>
                """
            )
        }
        if first <= time, time <= last {
            parts.append(
                "<line class=\"now\" x1=\"\(x(time))\" x2=\"\(x(time))\" y1=\"14\" y2=\"\(height)\"><title>The time that is explained</title></line>"
            )
        }
        return """
            <svg viewBox="0 0 \(Self.width) \(height)" role="img" aria-label="\(label)">\(parts)</svg>
            """
    }

    /// The end of a long name, which distinguishes the products of one app.
    private static func short(_ product: String) -> String {
        product.count > 18 ? "…" + product.suffix(17) : product
    }

    /// The text for readers who do not see the picture.
    private var label: String {
        let dates = [first, last].map { String(Date(millisecondsSince1970: $0).text.prefix(10)) }
        return
            "From \(dates[0]) to \(dates[1]): \(bars.count) periods, \(marks.count) other events. The tables below say the same."
    }

    private func rectangle(_ bar: Bar, y: Int64, color: Int) -> HTML {
        let (start, end) = (x(bar.start), x(bar.end))
        let until = bar.end == .max ? "without an end" : "until \(Date(millisecondsSince1970: bar.end).text)"
        let name = "\(bar.product), \(bar.phase.rawValue), from \(Date(millisecondsSince1970: bar.start).text) \(until)"
        let transaction = bar.transaction.map { ", transaction \($0)" } ?? ""
        let style: HTML = bar.phase == .trial ? "trial" : "p\(color)"
        return """
            <rect class="\(style)" x="\(start)" y="\(y + 4)" width="\(max(end - start - 1, 2))" height="16" rx="3">\
            <title>\(name + transaction)</title></rect>
            """
    }

    /// The state is asked between every two times at which it can change.
    private func access(y: Int64) -> [HTML] {
        var times: Set<Int64> = [first, last]
        for bar in bars { times.formUnion([bar.start, min(bar.end, last)]) }
        for mark in marks { times.insert(mark.at) }
        var next: Date? = Date(millisecondsSince1970: first)
        var steps = 0
        while let moment = next, steps < 2 * Self.maximumBars {
            times.insert(moment.millisecondsSince1970)
            next = state.nextTransition(after: moment)
            steps += 1
        }
        let ordered = times.filter { (first...last).contains($0) }.sorted()
        var parts: [HTML] = []
        var index = 0
        while index + 1 < ordered.count {
            let start = ordered[index]
            let decision = state.access(at: Date(millisecondsSince1970: start))
            // Neighbours of one kind are one rectangle.
            var end = index + 1
            while end + 1 < ordered.count,
                Self.style(state.access(at: Date(millisecondsSince1970: ordered[end]))) == Self.style(decision)
            {
                end += 1
            }
            let (from, to) = (x(start), x(ordered[end]))
            let text = [start, ordered[end]].map { Date(millisecondsSince1970: $0).text }
            parts.append(
                """
                <rect class="\(Self.style(decision))" x="\(from)" y="\(y + 4)" width="\(max(to - from, 1))" height="16">\
                <title>\(Self.style(decision)) from \(text[0]) to \(text[1])</title></rect>
                """
            )
            index = end
        }
        return parts
    }

    private static func style(_ decision: AccessDecision) -> String {
        if case .granted(_, let grant) = decision { return grant.basis == .grace ? "grace" : "granted" }
        return "denied"
    }

    private func ticks(height: Int64) -> [HTML] {
        let count: Int64 = 6
        return (0...count).map { index in
            let moment = first + (last - first) / count * index
            let position = x(moment)
            let anchor: HTML = index == count ? "end" : "middle"
            return """
                <line class="tick" x1="\(position)" x2="\(position)" y1="16" y2="\(height)"></line>\
                <text class="axis" x="\(position)" y="11" text-anchor="\(anchor)">\
                \(String(Date(millisecondsSince1970: moment).text.prefix(10)))</text>
                """
        }
    }
}
