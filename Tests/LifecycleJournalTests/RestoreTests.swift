import Foundation
import LifecycleJournal
import NormalizerTesting
import SQLiteJournal
import Testing

@Suite("A database that was restored from a copy", .timeLimit(.minutes(5)))
struct RestoreTests {
    private let life = Result { try StripeLife() }
    private let folder = TemporaryFolder()

    private func journal(_ storage: any JournalStorage, at time: Date = StripeLife.start) -> Journal {
        Journal(storage, clock: TestClock(jumping: true), now: { time })
    }

    /// Takes in a third of the life.
    private func receive(_ third: Int, in journal: Journal) async throws {
        let life = try life.get()
        let size = life.deliveries.count / 3
        for delivery in life.deliveries[third * size..<(third + 1) * size] {
            #expect(await journal.receive(delivery, with: life.adapter).status == 200)
        }
    }

    /// A process that was killed after its copy was made: its file, with the log that it left behind, and the copy.
    private func crash() async throws -> (path: String, copy: String) {
        let (path, copy, left) = (folder.path("live"), folder.path("copy"), folder.path("left"))
        let journal = journal(try await SQLiteJournalStorage(path: path))
        try await receive(0, in: journal)
        _ = try await journal.events()
        try await SQLiteJournalStorage.restore(path: copy, from: path)
        try await receive(1, in: journal)
        try await receive(2, in: journal)
        for end in ["", "-wal"] { try FileManager.default.copyItem(atPath: path + end, toPath: left + end) }
        return (left, copy)
    }

    @Test("has the copy alone, and nothing of what a crash left behind")
    func crashed() async throws {
        let (path, copy) = try await crash()
        let expected = try await journal(SQLiteJournalStorage(path: copy)).events()
        #expect(!expected.isEmpty)
        try await SQLiteJournalStorage.restore(path: path, from: copy)
        let journal = journal(try await SQLiteJournalStorage(path: path))
        #expect(try await journal.events() == expected)
        #expect(try await journal.verify().findings == [])
        #expect(try await journal.rebuild().differing == [])
    }

    @Test("is left as it was by a damaged copy, one of something else, and while a process uses it")
    func refused() async throws {
        let (path, copy) = try await crash()
        let other = folder.path("other")
        try Data().write(to: URL(fileURLWithPath: other))
        let damaged = folder.path("damaged")
        var octets = try Data(contentsOf: URL(fileURLWithPath: copy))
        octets.replaceSubrange(8192..<12_288, with: Data(repeating: 0xFF, count: 4096))
        try octets.write(to: URL(fileURLWithPath: damaged))
        let storage = try await SQLiteJournalStorage(path: path)
        let journal = journal(storage)
        let before = try await journal.events(limit: 1000)
        var codes: [JournalError.Code?] = []
        for source in [other, damaged, copy] {
            do throws(JournalError) {
                try await SQLiteJournalStorage.restore(path: path, from: source)
                codes.append(nil)
            } catch { codes.append(error.code) }
        }
        #expect(codes == [.configuration, .corrupt, .unavailable])
        #expect(try await journal.events(limit: 1000) == before)
        #expect(try await storage.damage() == [])
    }

    @Test("Damage of any page is found, and a copy with it is never restored")
    func damage() async throws {
        let (_, copy) = try await crash()
        let whole = try Data(contentsOf: URL(fileURLWithPath: copy))
        for page in 1..<whole.count / 4096 {
            var octets = whole
            octets.replaceSubrange(page * 4096..<(page + 1) * 4096, with: Data(repeating: 0xFF, count: 4096))
            let (path, source) = (folder.path("damaged-\(page)"), folder.path("source-\(page)"))
            for path in [path, source] { try octets.write(to: URL(fileURLWithPath: path)) }
            let findings: [String]
            do { findings = try await journal(SQLiteJournalStorage(path: path)).verify().findings } catch {
                findings = ["\(error)"]
            }
            #expect(!findings.isEmpty, "page \(page)")
            let restored = folder.path("restored-\(page)")
            let error = await #expect(throws: JournalError.self, "page \(page)") {
                try await SQLiteJournalStorage.restore(path: restored, from: source)
            }
            #expect(error?.code == .corrupt, "page \(page)")
            #expect(!FileManager.default.fileExists(atPath: restored), "page \(page)")
        }
    }

    @Test("gives out no position twice, also if it is restored again", arguments: TestedStorage.available)
    func positions(kind: TestedStorage) async throws {
        let storage = try #require(try await kind.open(in: folder).first)
        try await receive(0, in: journal(storage))
        let old = try await journal(storage).events().map(\.position)
        let head = try #require(old.last)
        #expect(try await journal(storage).events(after: head) == [])
        let error = await #expect(throws: JournalError.self) { try await journal(storage).events(after: head + 4) }
        #expect(error?.code == .aheadOfLog)
        #expect(try await journal(storage).lastRestore() == nil)

        var reader = head + 4
        for third in 1...2 {
            let time = StripeLife.start.addingTimeInterval(Double(third))
            let restored = journal(storage, at: time)
            // A line that the copy had without a position is read once more rather than not at all.
            try await receive(third, in: restored)
            try await restored.noteRestore()
            try await restored.noteRestore()
            #expect(try await restored.lastRestore() == time)
            let events = try await restored.events(after: reader)
            let all = try await restored.events(after: head)
            #expect(!events.isEmpty && events == Array(all.suffix(events.count)))
            #expect(try #require(events.first).position > Int64(time.timeIntervalSince1970) * 1_000_000)
            reader = try #require(events.last).position
            #expect(try await restored.events(after: reader) == [])
            #expect(try await restored.verify().findings == [])
        }
        // The next restore is noted by a clock that is behind.
        let behind = journal(storage)
        try await behind.noteRestore()
        let other = try StripeLife(seed: "other")
        #expect(await behind.receive(other.deliveries[0], with: other.adapter).status == 200)
        let events = try await behind.events(after: reader)
        #expect(!events.isEmpty && events.allSatisfy { $0.position > reader })
        #expect(try await behind.verify().findings == [])
    }
}
