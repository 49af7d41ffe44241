import FoundationEssentials

/// The reports of all events that were ever applied to a state: their union.
///
/// The newest marks of each subject are kept, so the log grows with the number of subjects. The newest marks of a union
/// are among the newest of its parts, so the log is a join like its state.
package struct ReportLog: Hashable, Sendable {
    /// More often than a customer changes their mind in one period.
    private static let maximumMarks = 16

    private static let leastPlaces = 128

    private var marks: [Report.Subject: [Report.Mark]] = [:]
    /// The places of the subjects, kept once there are many.
    private var places: ReportPlaces?

    var isEmpty: Bool { marks.isEmpty }

    mutating func insert(_ report: Report) { insert(report.mark, of: report.subject) }

    mutating func merge(_ other: Self) {
        for (subject, theirs) in other.marks {
            for mark in theirs { insert(mark, of: subject) }
        }
    }

    private mutating func insert(_ mark: Report.Mark, of subject: Report.Subject) {
        var known = marks[subject] ?? []
        let index = known.partitioningIndex { !($0 < mark) }
        if index < known.count, known[index] == mark { return }
        if known.isEmpty { places?.insert(subject) }
        known.insert(mark, at: index)
        marks[subject] = known.suffix(Self.maximumMarks)
        if places == nil, marks.count >= Self.leastPlaces { places = ReportPlaces(marks.keys) }
    }

    /// True if the refund was reported, even if it was undone since.
    func hasRefund(_ key: SubscriptionState.RefundKey) -> Bool {
        subjects(of: .refund, in: nil).contains { subject in
            subject.refund == key.refund && (key.refund != nil || subject.transaction == key.transaction)
                && marks[subject]?.contains { $0.value.hasPrefix(Report.Value.refunded) } == true
        }
    }

    /// All reports about a subject, under any of its names.
    ///
    /// - Parameters:
    ///   - subject: the subject.
    ///   - vicinity: where subjects may be the same; nil for anywhere.
    ///   - isSame: true for a subject that is the same.
    func marks(
        of subject: Report.Subject,
        in vicinity: ReportPlaces.Vicinity?,
        where isSame: (Report.Subject) -> Bool
    ) -> [Report.Mark] {
        subjects(of: subject.topic, in: vicinity).filter { $0 == subject || isSame($0) }.flatMap { marks[$0] ?? [] }
    }

    private func subjects(of topic: Report.Topic, in vicinity: ReportPlaces.Vicinity?) -> [Report.Subject] {
        guard let places else { return marks.keys.filter { $0.topic == topic } }
        return vicinity.map { Array(places.subjects(of: topic, in: $0)) } ?? places.subjects(of: topic)
    }
}

extension ReportLog {
    /// The reports of one subject, with the facts that a state knows beyond them.
    struct Course {
        var reported: [Report.Mark]
        var known: [Report.Mark]

        /// True if the same was reported before and nothing different came in between: it is one run, whichever channel
        /// reports it.
        func contains(_ mark: Report.Mark) -> Bool {
            let others = (reported + known).filter { !$0.means(mark) }
            return reported.contains { earlier in
                guard earlier.means(mark) else { return false }
                let (from, to) = earlier.precedes(mark) ? (earlier, mark) : (mark, earlier)
                return !others.contains { from.precedes($0) && !to.precedes($0) }
            }
        }
    }
}

// Written as a list in a fixed order. A list that was put together from two reads as their join.
extension ReportLog: Codable {
    private struct Entry: Codable {
        var topic: Report.Topic
        var transaction: TransactionID?
        @OptionalEventTime var periodStart: Date?
        var refund: String?
        var said: [Said]

        private enum CodingKeys: String, CodingKey {
            case topic, transaction, refund, said
            case periodStart = "period_start"
        }

        var subject: Report.Subject {
            Report.Subject(
                topic: topic,
                transaction: transaction,
                start: periodStart?.millisecondsSince1970,
                refund: refund
            )
        }
    }

    private struct Said: Codable {
        var value: String
        @EventTime var at: Date
        @EventTime var saidAt: Date

        init(_ mark: Report.Mark) {
            value = mark.value
            at = Date(millisecondsSince1970: mark.at)
            saidAt = Date(millisecondsSince1970: mark.saidAt)
        }

        var mark: Report.Mark {
            Report.Mark(at: at.millisecondsSince1970, saidAt: saidAt.millisecondsSince1970, value: value)
        }

        private enum CodingKeys: String, CodingKey {
            case value, at
            case saidAt = "said_at"
        }
    }

    package init(from decoder: any Decoder) throws {
        for entry in try [Entry](from: decoder) {
            for said in entry.said { insert(said.mark, of: entry.subject) }
        }
    }

    package func encode(to encoder: any Encoder) throws {
        try marks.sorted { $0.key < $1.key }
            .map { subject, marks in
                Entry(
                    topic: subject.topic,
                    transaction: subject.transaction,
                    periodStart: subject.start.map(Date.init(millisecondsSince1970:)),
                    refund: subject.refund,
                    said: marks.map(Said.init)
                )
            }
            .encode(to: encoder)
    }
}

extension Report.Subject: Comparable {
    package static func < (lhs: Self, rhs: Self) -> Bool {
        if lhs.topic != rhs.topic { return lhs.topic.rawValue < rhs.topic.rawValue }
        if lhs.start != rhs.start { return lhs.start ?? .min < rhs.start ?? .min }
        // Absent before present, so that nil and "" differ.
        func order(_ text: String?) -> String { text.map { "=" + $0 } ?? "" }
        return (order(lhs.transaction?.rawValue), order(lhs.refund))
            < (order(rhs.transaction?.rawValue), order(rhs.refund))
    }
}
