import Foundation
import LifecycleJournal
import Normalizer
import PostgresJournal
import Synchronization

/// A PostgreSQL server of the tests' own, in a temporary folder, reached through a Unix socket. It ends with its owner, or with
/// the process, however that ends.
final class PostgresServer: Sendable {
    struct Failure: Error { var output: String }

    static let isInstalled = binaries != nil
    static let absence: String = "no PostgreSQL server is installed (apt-get install postgresql)"

    /// As root, the server runs under the user that the package makes for it.
    private static let binaries: String? = {
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
        let path = versions.compactMap(Int.init).max().map { "/usr/lib/postgresql/\($0)/bin" }
        guard let path, FileManager.default.isExecutableFile(atPath: path + "/initdb") else { return nil }
        return path
    }()

    private static let started = Task { try await PostgresServer() }

    /// The one that all tests share which leave it as it is.
    static func shared() async throws -> PostgresServer { try await started.value }

    /// The role that has to give a password, `right`.
    static let guarded = "guarded"

    // A socket's path has at most 107 octets, and a folder for temporary files may have a long name.
    private let folder = "/tmp/lifecycle-postgres-\(UUID().uuidString.prefix(8))"
    private let databases = Atomic(0)
    /// The server goes when this is closed, at the end of the process at the latest.
    private let isNeeded = Pipe()

    init() async throws {
        // Each line that is read starts the server. When the other end of the pipe is closed, no line comes any more.
        // Signals to the whole group must not end the shell before the server.
        let script = """
            trap '' INT TERM HUP; cd /tmp && PATH=\(Self.binaries ?? ""):$PATH && umask 077 && mkdir \(folder) || exit 1
            initdb -D \(folder)/data -U lifecycle --auth=trust --no-sync -E UTF8 --locale=C >\(folder)/log 2>&1 || exit 1
            sed -i '1i local all \(Self.guarded) scram-sha-256' \(folder)/data/pg_hba.conf || exit 1
            cat >>\(folder)/data/postgresql.conf <<SETTINGS
            unix_socket_directories = '\(folder)'
            listen_addresses = ''
            fsync = off
            max_connections = 60
            SETTINGS
            pg_ctl start -s -w -D \(folder)/data -l \(folder)/log </dev/null >/dev/null 2>&1 || exit 1
            psql -q -h \(folder) -U lifecycle -c "CREATE ROLE \(Self.guarded) SUPERUSER LOGIN PASSWORD 'right'" postgres || exit 1
            : >\(folder)/ready
            while read -r line; do
                pg_ctl start -s -w -D \(folder)/data -l \(folder)/log </dev/null >/dev/null 2>&1
            done
            pg_ctl stop -s -m immediate -D \(folder)/data; rm -rf \(folder)
            """
        let process = Process()
        let (program, arguments) = Self.command(script)
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [program] + arguments
        process.standardInput = isNeeded
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        for _ in 0..<1200 where process.isRunning {
            if FileManager.default.fileExists(atPath: folder + "/ready") { return }
            try await Task.sleep(for: .milliseconds(50))
        }
        let log = FileManager.default.contents(atPath: folder + "/log") ?? Data()
        throw Failure(output: "PostgreSQL did not start: \(String(decoding: log, as: UTF8.self))")
    }

    private static func command(_ script: String) -> (program: String, arguments: [String]) {
        geteuid() == 0 ? ("su", ["postgres", "-s", "/bin/sh", "-c", script]) : ("sh", ["-c", script])
    }

    /// Ends it as a crash does.
    func stop() async throws { try await run("pg_ctl stop -s -m immediate -D \(folder)/data") }

    /// Starts it again.
    func start() async throws {
        try isNeeded.fileHandleForWriting.write(contentsOf: Data("start\n".utf8))
        for _ in 0..<600 {
            if (try? await run("pg_isready -q -h \(folder)")) != nil { return }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw Failure(output: "PostgreSQL did not start again")
    }

    /// Sends a signal to each of its processes.
    func signal(_ name: String) async throws {
        let main = "$(head -n 1 \(folder)/data/postmaster.pid)"
        let (program, arguments) = Self.command("kill -\(name) \(main) $(pgrep -P \(main))")
        let run = try await CommandRun(program, arguments)
        guard run.status == 0 else { throw Failure(output: run.output) }
    }

    /// Ends the connections to a database.
    func disconnect(_ database: String) async throws {
        let others = "pg_stat_activity WHERE datname = '\(database)'"
        try await psql("postgres", "SELECT count(pg_terminate_backend(pid)) FROM \(others)")
    }

    /// Has a database be for reading alone, as that of a stand-by is, or not; for connections that are made from then on.
    func protect(_ database: String, _ isProtected: Bool) async throws {
        let setting = isProtected ? "on" : "off"
        try await psql("postgres", "ALTER DATABASE \(database) SET default_transaction_read_only = \(setting)")
    }

    @discardableResult
    private func run(_ command: String) async throws -> String {
        let (program, arguments) = Self.command("cd /tmp && \(Self.binaries ?? "")/\(command)")
        let run = try await CommandRun(program, arguments)
        guard run.status == 0 else { throw Failure(output: "\(command): \(run.output)") }
        return run.output
    }

    /// A new, empty database.
    ///
    /// - Parameter disk: a folder to have its files in.
    /// - Returns: its URL.
    func database(encoding: String = "UTF8", on disk: String? = nil) async throws -> String {
        let name = "d\(databases.add(1, ordering: .relaxed).newValue)"
        var place = ""
        if let disk {
            try await psql("postgres", "CREATE TABLESPACE \(name) LOCATION '\(disk)'")
            place = "-D \(name)"
        }
        try await run("createdb -h \(folder) -U lifecycle -E \(encoding) -T template0 --locale=C \(place) \(name)")
        return address(name)
    }

    /// The database that a URL of it names.
    func name(_ url: String) -> String { String(url[(url.lastIndex(of: "/") ?? url.startIndex)...].dropFirst()) }

    func address(_ name: String, user: String = "lifecycle") -> String {
        "postgresql://\(user)@\(folder.replacingOccurrences(of: "/", with: "%2F"))/\(name)"
    }

    @discardableResult
    func psql(_ database: String, _ statement: String) async throws -> String {
        try await run("psql -h \(folder) -U lifecycle -At -c \"\(statement)\" \(database)")
    }
}
