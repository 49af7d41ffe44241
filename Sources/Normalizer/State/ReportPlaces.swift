/// The subjects of many reports by topic, name and start, so that the reports of one period are found without a look at
/// all others. It follows from the reports.
struct ReportPlaces: Sendable {
    /// The subjects that may be one period: those with one of its names, those that start in its time, and those without
    /// a start.
    struct Vicinity {
        var names: [TransactionID]
        var starts: ClosedRange<Int64>?
    }

    private struct Place {
        var start: Int64
        var subject: Report.Subject
    }

    private struct Places {
        var started: [Place] = []
        var unplaced: [Report.Subject] = []
        var named: [TransactionID: [Report.Subject]] = [:]

        mutating func insert(_ subject: Report.Subject) {
            if let name = subject.transaction { named[name, default: []].append(subject) }
            guard let start = subject.start else {
                unplaced.append(subject)
                return
            }
            started.insert(
                Place(start: start, subject: subject),
                at: started.partitioningIndex { $0.start > start }
            )
        }
    }

    private var topics: [Report.Topic: Places] = [:]

    init(_ subjects: some Collection<Report.Subject>) {
        // In order, each is appended.
        for subject in subjects.sorted(by: { $0.start ?? .min < $1.start ?? .min }) { insert(subject) }
    }

    mutating func insert(_ subject: Report.Subject) { topics[subject.topic, default: Places()].insert(subject) }

    /// All subjects of a topic.
    func subjects(of topic: Report.Topic) -> [Report.Subject] {
        guard let places = topics[topic] else { return [] }
        return places.started.map(\.subject) + places.unplaced
    }

    func subjects(of topic: Report.Topic, in vicinity: Vicinity) -> Set<Report.Subject> {
        guard let places = topics[topic] else { return [] }
        var subjects = Set(places.unplaced)
        for name in vicinity.names { subjects.formUnion(places.named[name] ?? []) }
        guard let starts = vicinity.starts else { return subjects }
        for place in places.started[places.started.partitioningIndex { $0.start >= starts.lowerBound }...] {
            guard place.start <= starts.upperBound else { break }
            subjects.insert(place.subject)
        }
        return subjects
    }
}

// It follows from the reports, which are compared.
extension ReportPlaces: Hashable {
    static func == (lhs: Self, rhs: Self) -> Bool { true }
    func hash(into hasher: inout Hasher) {}
}
