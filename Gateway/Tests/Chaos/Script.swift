import Foundation
import LifecycleJournal
import Normalizer
import NotificationSimulator

/// Deliveries in a folder, as lines of JSON, and their expected events.
struct Script {
    struct Line: Codable {
        var source: String
        var headers: [[String]]
        var body: Data
        /// The expected events; nil for a forgery.
        var events: [String]?
    }

    let folder: URL

    init(folder: String) { self.folder = URL(fileURLWithPath: folder) }

    private var lines: URL { folder.appending(path: "deliveries.jsonl") }
    private var answersFile: URL { folder.appending(path: "answers.json") }

    func answers() throws -> PlayAnswers {
        try JSONDecoder().decode(PlayAnswers.self, from: Data(contentsOf: answersFile))
    }

    /// For every eighth customer there are forgeries as well: the same notifications, signed with other keys.
    func write(_ customers: [String], _ cast: Cast) async throws {
        let forger = try Cast(seed: "forger")
        var answers = PlayAnswers()
        for customer in customers {
            for (_, notification) in try cast.notifications(of: customer) { answers.add(notification) }
        }
        try JSONEncoder().encode(answers).write(to: answersFile)
        let adapters = Dictionary(uniqueKeysWithValues: try cast.sources(answers).map { ($0.name, $0.adapter) })
        var output = Data()
        let now = Date()
        for (number, customer) in customers.enumerated() {
            for (simulator, notification) in try cast.notifications(of: customer) {
                let delivery = try simulator.delivery(of: notification, sentAt: now)
                guard let adapter = adapters[simulator.provider.rawValue] else { throw Usage() }
                let events = try await adapter.receive(delivery).events.map { $0.id.description }
                try output.append(line(simulator.provider, delivery, events: events))
            }
            guard number.isMultiple(of: 8) else { continue }
            for (simulator, notification) in try forger.notifications(of: customer) {
                let delivery = try simulator.delivery(of: notification, sentAt: now)
                try output.append(line(simulator.provider, delivery, events: nil))
            }
        }
        try output.write(to: lines)
    }

    private func line(_ provider: Provider, _ delivery: Delivery, events: [String]?) throws -> Data {
        let headers = delivery.headers.all.map { [$0.name, $0.value] }
        let line = Line(source: provider.rawValue, headers: headers, body: Data(delivery.body), events: events)
        return try JSONEncoder().encode(line) + Data("\n".utf8)
    }

    /// Prints each difference, and how much was compared.
    func check(_ journal: Journal) async throws {
        let decoder = JSONDecoder()
        var expected: Set<String> = []
        for line in try Data(contentsOf: lines).split(separator: 0x0A) {
            expected.formUnion(try decoder.decode(Line.self, from: line).events ?? [])
        }
        var stored: Set<String> = []
        var position: Int64 = 0
        while let page = try await Optional(journal.events(after: position, limit: 1000)), let last = page.last {
            for entry in page {
                let isNew = stored.insert(entry.event.event.id.description).inserted
                guard isNew else { throw Finding("an event is in the log twice") }
            }
            position = last.position
        }
        let findings = try await journal.verify().findings
        let rebuild = try await journal.rebuild()
        let given = try await journal.outbox.abandoned().count
        let waiting = try await journal.outbox.next(1, lease: .seconds(1)).count
        print(
            "\(expected.count) events expected, \(stored.intersection(expected).count) there, "
                + "\(stored.subtracting(expected).count) others; \(rebuild.purchases) purchases rebuilt, "
                + "\(rebuild.differing.count) differ; \(findings.count) findings in the log; "
                + "\(given) pieces of news given up, \(waiting) waiting; "
                + "\(try await journal.quarantine.list().count) in quarantine"
        )
        guard stored == expected, rebuild.differing.isEmpty, findings.isEmpty, given == 0, waiting == 0 else {
            throw Finding("the database is not as it has to be")
        }
    }
}

struct Finding: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
