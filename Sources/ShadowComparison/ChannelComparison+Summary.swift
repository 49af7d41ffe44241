import FoundationEssentials
import Normalizer

extension ChannelComparison {
    /// How a comparison came out, in numbers.
    public struct Summary: Hashable, Sendable, Codable {
        /// How it came out for one kind of event.
        public struct Row: Hashable, Sendable, Codable {
            /// The kind; `period_began` for all that begins a period, `ended` for all that ends one.
            public var kind: String
            /// Pairs that agree.
            public var agreeing = 0
            /// Pairs that differ.
            public var differing = 0
            /// Seen by the first side alone.
            public var onlyFirst = 0
            /// Seen by the second side alone.
            public var onlySecond = 0
            /// Events that the other side cannot report.
            public var withoutCounterpart = 0
            /// By how many milliseconds the second side made its statement later, in the middle of all pairs; negative
            /// where it was earlier. It is the time of making, not of arrival.
            public var medianLag: Int64?
            /// The same, if it was latest.
            public var maximumLag: Int64?

            private enum CodingKeys: String, CodingKey {
                case kind, agreeing, differing
                case onlyFirst = "only_first"
                case onlySecond = "only_second"
                case withoutCounterpart = "without_counterpart"
                case medianLag = "median_lag_ms"
                case maximumLag = "maximum_lag_ms"
            }
        }

        /// The kinds that occurred, in the order of their names.
        public var rows: [Row]
        /// Lineages that only the first side knows.
        public var lineagesOnlyFirst: Int
        /// Lineages that only the second side knows.
        public var lineagesOnlySecond: Int
        /// Stretches in which access differs.
        public var accessDifferences: Int
        /// Lineages that those are of.
        public var lineagesWithAccessDifferences: Int
        /// True if the two agree in everything that both can report, and reported anything in common.
        public var isAgreement: Bool

        private enum CodingKeys: String, CodingKey {
            case rows
            case lineagesOnlyFirst = "lineages_only_first"
            case lineagesOnlySecond = "lineages_only_second"
            case accessDifferences = "access_differences"
            case lineagesWithAccessDifferences = "lineages_with_access_differences"
            case isAgreement = "agreement"
        }
    }

    /// How it came out, in numbers.
    public var summary: Summary {
        var rows: [String: Summary.Row] = [:]
        func count(_ item: Item, _ member: WritableKeyPath<Summary.Row, Int>) {
            let name = item.kind.commonName
            rows[name, default: Summary.Row(kind: name)][keyPath: member] += 1
        }
        var lags: [String: [Int64]] = [:]
        for (pairs, member) in [(agreeing, \Summary.Row.agreeing), (differing, \.differing)] {
            for pair in pairs {
                count(pair.first, member)
                let (lag, overflow) = pair.second.assertedAt.millisecondsSince1970
                    .subtractingReportingOverflow(pair.first.assertedAt.millisecondsSince1970)
                if !overflow { lags[pair.first.kind.commonName, default: []].append(lag) }
            }
        }
        for (items, member) in [
            (onlyFirst, \Summary.Row.onlyFirst), (onlySecond, \.onlySecond), (withoutCounterpart, \.withoutCounterpart),
        ] {
            for item in items { count(item, member) }
        }
        for (name, lags) in lags {
            let sorted = lags.sorted()
            rows[name]?.medianLag = sorted[(sorted.count - 1) / 2]
            rows[name]?.maximumLag = sorted.last
        }
        return Summary(
            rows: rows.valuesInOrder,
            lineagesOnlyFirst: lineagesOnlyFirst.count,
            lineagesOnlySecond: lineagesOnlySecond.count,
            accessDifferences: access.count,
            lineagesWithAccessDifferences: Set(access.map(\.subscription)).count,
            isAgreement: isAgreement && !agreeing.isEmpty
        )
    }
}
