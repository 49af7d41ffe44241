import Foundation
import LifecycleJournal
import Normalizer
import SQLiteJournal
import Testing

@Suite("lifecycle journal")
struct JournalCommandTests {
    private static let lineage = SubscriptionID(store: .stripe, environment: .production, id: "sub_1")
    private static let month: TimeInterval = 2_592_000
    private static let start = Date(timeIntervalSince1970: 1_800_000_000)

    private static func period(_ number: Double) -> Fact {
        let begin = start.addingTimeInterval(month * number)
        let period = ServicePeriod(start: begin, end: begin.addingTimeInterval(month))
        return .period(.init(period, product: "pro", phase: .regular, transaction: "in_\(number)"))
    }

    /// On Stripe, credits come with the money.
    private static func charge(_ number: Double) -> Fact {
        let price = Price(Money(ExactDecimal(10), "USD"), .charged)
        return .charge(
            .init(transaction: "in_\(number)", price: price, at: start.addingTimeInterval(month * number))
        )
    }

    private static let origin = Origin(
        type: "test",
        channel: .webhook,
        evidence: .init(.unchecked),
        digest: "",
        mapper: "test/1"
    )

    /// A month that an event tells, and one that is stated without an event.
    private static let log: Data = {
        let event = NormalizedEvent(
            id: .periodBegan(lineage, transaction: "in_0", product: "pro"),
            event: .started(
                .init(
                    origin: .new,
                    phase: .regular,
                    period: ServicePeriod(start: start, end: start.addingTimeInterval(month))
                )
            ),
            provider: .stripe,
            store: .stripe,
            environment: .production,
            subscription: lineage,
            occurredAt: start,
            effectiveAt: start,
            assertedAt: start,
            receivedAt: start,
            facts: [.owner(Account("cus_1", .stripeCustomer)), period(0), charge(0)],
            origin: origin
        )
        let statement = StoreStatement(
            subscription: lineage,
            provider: .stripe,
            assertedAt: start.addingTimeInterval(month),
            facts: [period(1), charge(1)],
            origin: origin
        )
        return Data((try? EventLog.bytes(lines: [.event(event), .statement(statement)])) ?? [])
    }()

    private static let moment = start.addingTimeInterval(month * 1.5).formatted(.iso8601)

    private func script(_ commands: String) throws -> CommandLineRun {
        try CommandLineRun(
            shell: """
                set -e
                folder=$(mktemp -d)
                trap 'rm -rf "$folder"' EXIT
                LIFECYCLE_DATABASE="sqlite:$folder/journal.sqlite"
                export LIFECYCLE_DATABASE
                "$0" journal init
                cat >"$folder/log"
                "$0" journal ingest "$folder/log" 2>/dev/null
                \(commands)
                """,
            input: Self.log
        )
    }

    @Test("A statement without an event gives access, from the log and from the database")
    func access() throws {
        let state = try script(#""$0" journal state cus_1 --source stripe_customer --at "# + Self.moment)
        #expect(state.status == 0)
        #expect(state.output.contains("granted"))
        let log = try CommandLineRun(["state", "-", "--account", "cus_1", "--at", Self.moment], input: Self.log)
        #expect(log.output.contains("granted"))
        let explained = try script(#""$0" journal explain cus_1 --source stripe_customer --at "# + Self.moment)
        #expect(explained.status == 0 && explained.output.contains("sub_1"))
    }

    @Test("The log is whole, gives the stored states, and has each event once")
    func log() throws {
        let run = try script(
            #"""
            "$0" journal ingest --report "$folder/log" 2>/dev/null
            "$0" journal verify
            "$0" journal rebuild
            "$0" journal events
            "$0" journal outbox --done
            "$0" journal outbox
            "$0" journal due
            "$0" journal quarantine
            "$0" journal migrate
            """#
        )
        #expect(run.status == 0, "\(run.errors)")
        let lines = run.output.split(separator: "\n")
        #expect(lines.prefix(2) == ["1", "2"])
        #expect(lines.dropFirst(2).first?.contains(#""findings":[]"#) == true)
        #expect(lines.dropFirst(3).first == #"{"differing":[],"purchases":1}"#)
        #expect(lines.dropFirst(4).count == 2, "the feed and the outbox, once")
    }

    @Test("Open questions to providers are listed apart from duties")
    func questions() throws {
        let run = try script(
            #"""
            cat >"$folder/open" <<END
            {"asserted_at":"2026-10-01T08:00:00.000Z","facts":[{"fact":"period","detail":{"ownership":"purchased",
            "period":{"start":"2026-10-01T08:00:00.000Z","end":"2026-11-01T08:00:00.000Z"},"phase":"regular","product":"pro",
            "transaction":"in_2"}}],"kind":"statement","origin":{"channel":"webhook","digest":"","evidence":
            {"method":"unchecked"},"mapper":"test","type":"test"},"provider":"stripe","subscription":"stripe/production/sub_2"}
            END
            tr -d '\n' <"$folder/open" >"$folder/line"
            "$0" journal ingest "$folder/line" 2>/dev/null
            for time in 10:59 11:00; do
                "$0" journal due --at "2026-10-01T$time:00Z"
                "$0" journal due --at "2026-10-01T$time:00Z" --questions
            done
            """#
        )
        #expect(run.status == 0, "\(run.errors)")
        let lineage = "stripe/production/sub_2"
        let head = #"{"due_at":"2026-10-01T11:00:00.000Z","id":"question/\#(lineage)","kind":"charge_due","#
        #expect(run.output == head + #""subscription":"\#(lineage)"}"# + "\n")
    }

    @Test("Credits are used once for each id")
    func credits() throws {
        let run = try script(
            #"""
            echo '{"allowances":{"pro":{"credits":100}}}' >"$folder/policy"
            credits() { "$0" journal credits cus_1 --source stripe_customer --policy "$folder/policy" --at \#(Self.moment) "$@"; }
            credits --use 30 --id job >/dev/null
            credits --use 30 --id job
            credits --use 71 --id other || echo "status $?"
            credits --use 31 --id job || echo "status $?"
            """#
        )
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.output.contains(#""balance":70"#))
        #expect(run.output.hasSuffix("status 1\nstatus 65\n"))
    }

    @Test("An account of which nothing is known is no success, and a source that does not exist is named")
    func unknown() throws {
        let run = try script(
            #"""
            set +e
            echo '{"allowances":{"pro":{"credits":100}}}' >"$folder/policy"
            for command in state explain export erase "credits --policy $folder/policy"; do
                "$0" journal $command cus_2 --source stripe_customer >/dev/null; echo "$command $?"
                "$0" journal $command cus_1 --source stripe_custmer >/dev/null; echo "$command $?"
            done
            """#
        )
        let statuses = run.output.split(separator: "\n").compactMap { $0.split(separator: " ").last }
        #expect(statuses == Array(repeating: ["66", "64"], count: 5).flatMap(\.self), "\(run.output)")
        #expect(run.errors.contains("app_account_token, app_transaction_id, "))
        #expect(run.errors.contains("See 'lifecycle journal export --help'"))
    }

    @Test("An erasure and an export are of all that is known, so that an environment or a moment is wrong usage")
    func wholeAccount() throws {
        let run = try script(
            #"""
            set +e
            for command in erase export; do
                for option in "--environment sandbox" "--at \#(Self.moment)"; do
                    "$0" journal $command cus_1 --source stripe_customer $option >/dev/null; echo $?
                done
            done
            "$0" journal state cus_1 --source stripe_customer >/dev/null; echo $?
            """#
        )
        #expect(run.output == "64\n64\n64\n64\n0\n")
    }

    @Test(
        "A sealing key that a gateway refuses is wrong usage",
        arguments: ["", "short", "the manual's … has more than 32 characters"]
    )
    func sealingKey(key: String) throws {
        let good = String(repeating: "k", count: 32)
        let run = try script(
            #"""
            set +e
            LIFECYCLE_SEALING_KEY="\#(key)" "$0" journal due; echo $?
            LIFECYCLE_SEALING_KEY=\#(good) LIFECYCLE_FORMER_SEALING_KEYS="\#(good), \#(key)x" "$0" journal due; echo $?
            LIFECYCLE_SEALING_KEY=\#(good) LIFECYCLE_FORMER_SEALING_KEYS="\#(good), \#(good)" "$0" journal due; echo $?
            """#
        )
        #expect(run.output == "64\n64\n0\n")
        #expect(key.isEmpty || !run.errors.contains(key))
    }

    @Test("A number that makes no sense is wrong usage, and neither an empty answer nor a fault of the database")
    func numbers() throws {
        let run = try script(
            #"""
            set +e
            echo '{"allowances":{"pro":{"credits":100}}}' >"$folder/policy"
            for arguments in "events --limit 0" "events --limit=-1" "outbox --limit 0" "outbox --lease 0" \
                "outbox --lease=-60" "due --limit 0" "quarantine --limit 0"; do
                "$0" journal $arguments; echo "$?"
            done
            credits="credits cus_1 --source stripe_customer --policy $folder/policy"
            "$0" journal $credits --use=-5 --id job; echo "$?"
            "$0" journal $credits --use 5 --id ""; echo "$?"
            """#
        )
        #expect(run.output == String(repeating: "64\n", count: 9), "\(run.output)\(run.errors)")
    }

    @Test("News and duties that were given up are listed with the reason, and put away")
    func discarding() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("discard-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("journal.sqlite").path
        func run(_ arguments: String...) throws -> CommandLineRun {
            try CommandLineRun(["journal"] + arguments + ["--database", "sqlite:\(path)"], input: Self.log)
        }
        #expect(try run("init").status == 0)
        #expect(try run("ingest", "-").status == 0)
        var options = Journal.Options()
        options.maximumAttempts = 1
        let storage = try await SQLiteJournalStorage(path: path, migrates: false)
        let journal = Journal(storage, options: options, now: { Date() })
        try await journal.schedule(DueItem(.init(rawValue: "call"), id: "call/1", dueAt: Self.start))
        let news = try #require(try await journal.outbox.next(lease: .seconds(60)).first)
        #expect(try run("outbox", "--discard", news.id).status == 66)
        try await journal.outbox.failed(news, because: "status 400")
        let duty = try #require(try await journal.duties.take(id: "call/1"))
        try await journal.duties.failed(duty, because: "no one answers")
        #expect(try run("outbox", "--abandoned").output.contains(#""reason":"status 400""#))
        #expect(
            try run("due", "--abandoned").output
                == #"{"attempts":1,"duty":{"due_at":"2027-01-15T08:00:00.000Z","id":"call/1","kind":"call"},"#
                + #""reason":"no one answers"}"# + "\n"
        )
        let half = try run("outbox", "--discard", news.id, "--discard", "unknown")
        #expect(half.status == 66 && half.errors.contains("unknown"))
        #expect(try await journal.outbox.abandoned().count == 1)
        #expect(try run("due", "--discard", "call/1", "--abandoned").status == 64)
        #expect(try run("outbox", "--discard", news.id).status == 0)
        #expect(try run("due", "--discard", "call/1").status == 0)
        for command in ["outbox", "due"] {
            let left = try run(command, "--abandoned")
            #expect(left.status == 0 && left.output.isEmpty)
        }
    }

    @Test("What cannot be read and is passed over is reported")
    func passedOver() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("passed-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("journal.sqlite").path
        func journal(_ arguments: String...) throws -> CommandLineRun {
            try CommandLineRun(["journal"] + arguments + ["--database", "sqlite:\(path)"], input: Self.log)
        }
        #expect(try journal("init").status == 0)
        #expect(try journal("ingest", "-").status == 0)
        let whole = try journal("events")
        #expect(whole.output.split(separator: "\n").count == 1 && whole.errors.isEmpty)
        let storage = try await SQLiteJournalStorage(path: path, migrates: false)
        try await storage.write { transaction in
            for var record in try await transaction.records(JournalSelection(limit: 9), in: .event) {
                record.body = Array("{".utf8)
                #expect(try await transaction.update(record, in: .event))
            }
        }
        for command in ["events", "outbox"] {
            let run = try journal(command)
            #expect(run.status == 0 && run.output.isEmpty)
            #expect(run.errors.contains("lifecycle journal verify"), "\(command): \(run.errors)")
        }
    }

    @Test("An unusable database is reported without its password")
    func wrong() throws {
        for database in ["sqlite:", "mysql://x", "sqlite:/missing/file", "postgresql://u:hunter2@127.0.0.1:1/x"] {
            let run = try CommandLineRun(["journal", "events", "--database", database])
            #expect([64, 69].contains(run.status))
            #expect(!run.errors.isEmpty && !run.errors.contains("hunter2"))
        }
    }
}
