import Foundation
import LifecycleJournal
import Normalizer
import PostgresJournal
import Synchronization

/// A PostgreSQL server of the tests' own, in a temporary folder, reached through a Unix socket. It is started once for the
/// process and ends with it, however that ends.
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

    static func shared() async throws -> PostgresServer { try await started.value }

    // A socket's path has at most 107 octets, and a folder for temporary files may have a long name.
    private let folder = "/tmp/lifecycle-postgres-\(UUID().uuidString.prefix(8))"
    private let databases = Atomic(0)
    /// The server goes when this is closed, at the end of the process at the latest.
    private let isNeeded = Pipe()

    private init() async throws {
        // `cat` ends when nobody holds the other end of the pipe any more. Signals to the whole group must not end the shell
        // before the server.
        let script = """
            trap '' INT TERM HUP; cd /tmp && PATH=\(Self.binaries ?? ""):$PATH && umask 077 && mkdir \(folder) || exit 1
            initdb -D \(folder)/data -U lifecycle --auth=trust --no-sync -E UTF8 --locale=C >\(folder)/log 2>&1 || exit 1
            postgres -D \(folder)/data -k \(folder) -h '' -c fsync=off -c max_connections=60 \
            </dev/null >>\(folder)/log 2>&1 &
            server=$!
            until pg_isready -q -h \(folder) -U lifecycle; do kill -0 $server || exit 1; sleep 0.05; done
            : >\(folder)/ready
            cat >/dev/null
            kill -QUIT $server; wait $server; rm -rf \(folder)
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

    @discardableResult
    private func run(_ command: String) async throws -> String {
        let (program, arguments) = Self.command("cd /tmp && \(Self.binaries ?? "")/\(command)")
        let run = try await CommandRun(program, arguments)
        guard run.status == 0 else { throw Failure(output: "\(command): \(run.output)") }
        return run.output
    }

    /// A new, empty database.
    ///
    /// - Returns: its URL.
    func database(encoding: String = "UTF8") async throws -> String {
        let name = "d\(databases.add(1, ordering: .relaxed).newValue)"
        try await run("createdb -h \(folder) -U lifecycle -E \(encoding) -T template0 --locale=C \(name)")
        return address(name)
    }

    func address(_ name: String, user: String = "lifecycle") -> String {
        "postgresql://\(user)@\(folder.replacingOccurrences(of: "/", with: "%2F"))/\(name)"
    }

    @discardableResult
    func psql(_ database: String, _ statement: String) async throws -> String {
        try await run("psql -h \(folder) -U lifecycle -At -c \"\(statement)\" \(database)")
    }
}
