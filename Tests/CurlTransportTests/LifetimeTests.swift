import CLifecycleCurl
import Glibc
import HTTPTransport
import LoopbackServer
import Synchronization
import Testing

@testable import CurlTransport

extension Loopback {
    /// Connections, cancellation, shutdown, and what is left behind.
    @Suite struct LifetimeTests {
        @Test func connectionIsReused() async throws {
            let server = try Loopback.server { $0.respond(200) }
            defer { server.stop() }
            let transport = try Loopback.transport()
            for _ in 0..<100 { _ = try await transport.send(server.request()) }
            #expect(server.requestCount == 100)
            #expect(server.acceptedConnections == 1)
        }

        /// As in a process that has lowered its limit of descriptors below the sockets in use, or is out of memory for a while.
        @Test(arguments: [3, Int.max]) func transportOutlivesWaitingThatFails(failures: Int) async throws {
            let server = try Loopback.server { $0.respond(200) }
            defer { server.stop() }
            let left = Mutex(failures)
            let transport = try CurlHTTPTransport(Loopback.configuration()) { multi, deadline in
                let fails = left.withLock { left in
                    defer { left = max(left - 1, 0) }
                    return left > 0
                }
                return fails ? CURLM_OUT_OF_MEMORY : multi.wait(until: deadline)
            }
            for _ in 0..<3 { #expect(try await transport.send(server.request()).status == 200) }
            #expect(left.withLock { $0 } < failures)
            await transport.shutdown()
        }

        @Test func connectionsAreLimited() async throws {
            let server = try Loopback.server { $0.respond(200) }
            defer { server.stop() }
            let transport = try Loopback.transport { $0.maximumConnectionsPerHost = 4 }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<100 { group.addTask { _ = try await transport.send(server.request()) } }
                try await group.waitForAll()
            }
            #expect(server.requestCount == 100)
            #expect((1...4).contains(server.acceptedConnections))
        }

        @Test func manyRequestsShareOneHTTP2Connection() async throws {
            let count = 60
            let tls = LoopbackServer.TLS(try Loopback.identity.get(), offersHTTP2: true)
            // It answers no request until all are there: without multiplexing this would not end.
            let server = try LoopbackServer(tls) { connection in
                var streams: [UInt32] = []
                while let event = connection.next() {
                    guard case .request(let stream) = event else { continue }
                    streams.append(stream)
                    guard streams.count == count else { continue }
                    for stream in streams.shuffled() { connection.respond(stream: stream, body: [1, 2, 3]) }
                }
            }
            defer { server.stop() }
            let transport = try Loopback.transport()
            let bodies = try await withThrowingTaskGroup(of: [UInt8].self) { group in
                for _ in 0..<count { group.addTask { try await transport.send(server.request()).body } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(bodies == Array(repeating: [1, 2, 3], count: count))
            #expect(server.acceptedConnections == 1)
        }

        @Test func cancellationResetsTheHTTP2Stream() async throws {
            let requested = Milestone()
            let reset = Milestone()
            let tls = LoopbackServer.TLS(try Loopback.identity.get(), offersHTTP2: true)
            let server = try LoopbackServer(tls) { connection in
                while let event = connection.next() {
                    switch event {
                    case .request(1): requested.reach()
                    case .request(let stream): connection.respond(stream: stream, body: [])
                    case .reset: reset.reach()
                    }
                }
            }
            defer { server.stop() }
            let transport = try Loopback.transport()
            let task = Task { await transport.failure(try server.request()) }
            await requested.wait()
            task.cancel()
            #expect(try await task.value == .canceled)
            // The reset goes out with what is sent next.
            _ = try await transport.send(server.request())
            await reset.wait()
            #expect(server.acceptedConnections == 1)
        }

        /// Answers whatever comes, but on its first connection the first request alone.
        private static func silentServer(_ unanswered: Milestone) throws -> LoopbackServer {
            let connections = Milestone()
            let tls = LoopbackServer.TLS(try Loopback.identity.get(), offersHTTP2: true)
            return try LoopbackServer(tls) { connection in
                connections.reach()
                let isFirst = connections.count == 1
                while let event = connection.next() {
                    guard case .request(let stream) = event else { continue }
                    if isFirst, stream > 1 {
                        unanswered.reach()
                    } else {
                        connection.respond(stream: stream, body: [])
                    }
                }
            }
        }

        /// If the network loses a connection, neither side learns of it, and a request on it is never answered.
        @Test(arguments: [false, true])
        func connectionThatHasGoneSilentIsNotUsedAgain(isInUse: Bool) async throws {
            let unanswered = Milestone()
            let server = try Self.silentServer(unanswered)
            defer { server.stop() }
            let transport = try Loopback.transport()
            _ = try await transport.send(server.request())
            let other = Task { isInUse ? await transport.failure(try server.request()) : nil }
            if isInUse { await unanswered.wait() }
            #expect(await transport.failure(try server.request(timeout: .milliseconds(300))) == .timeout)
            for _ in 0..<3 {
                #expect(try await transport.send(server.request(timeout: .seconds(5))).status == 200)
            }
            other.cancel()
            _ = try await other.value
            // Whatever was not in use any more is closed, and what was made in its place is kept.
            let accepted = server.acceptedConnections
            for _ in 0..<3 {
                #expect(try await transport.send(server.request(timeout: .seconds(5))).status == 200)
            }
            #expect(server.acceptedConnections == accepted)
        }

        /// As many as are begun while a request still waits on the silent one.
        @Test func requestsBesideASilentConnectionShareAnother() async throws {
            let unanswered = Milestone()
            let server = try Self.silentServer(unanswered)
            defer { server.stop() }
            let transport = try Loopback.transport()
            _ = try await transport.send(server.request())
            let waiting = Task { await transport.failure(try server.request()) }
            await unanswered.wait()
            #expect(await transport.failure(try server.request(timeout: .milliseconds(300))) == .timeout)
            for _ in 0..<3 {
                let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                    for _ in 0..<20 { group.addTask { try await transport.send(server.request()).status } }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(statuses == Array(repeating: 200, count: 20))
            }
            #expect(server.acceptedConnections == 2)
            waiting.cancel()
            #expect(try await waiting.value == .canceled)
            _ = try await transport.send(server.request())
            await transport.shutdown()
        }

        /// Callers have less patience than the request's own time-out, as a rule.
        @Test func connectionThatHasGoneSilentIsNotUsedForEverByCallersWhoGiveUpEarlier() async throws {
            let connections = Milestone()
            let tls = LoopbackServer.TLS(try Loopback.identity.get(), offersHTTP2: true)
            let server = try LoopbackServer(tls) { connection in
                connections.reach()
                let isFirst = connections.count == 1
                while let event = connection.next() {
                    guard case .request(let stream) = event, !isFirst || stream == 1 else { continue }
                    connection.respond(stream: stream, body: [])
                }
            }
            defer { server.stop() }
            let transport = try Loopback.transport()
            _ = try await transport.send(server.request())
            var given = 0
            while given < 10 {
                let task = Task { try await transport.send(server.request()).status }
                // Only with the silent connection do we lose patience: a slow machine may take long over a new one.
                let patience = Task {
                    try await Task.sleep(for: .milliseconds(400))
                    if server.acceptedConnections == 1 { task.cancel() }
                }
                defer { patience.cancel() }
                if (try? await task.value) == 200 { break }
                given += 1
            }
            #expect((1..<10).contains(given))
            #expect(server.acceptedConnections == 2)
        }

        /// A connection that answers some requests is not silent, however long another one waits.
        @Test func connectionThatAnswersOthersOutlivesWhoGivesUp() async throws {
            let tls = LoopbackServer.TLS(try Loopback.identity.get(), offersHTTP2: true)
            let unanswered = Milestone()
            let server = try LoopbackServer(tls) { connection in
                while let event = connection.next() {
                    guard case .request(let stream) = event else { continue }
                    if stream == 3 { unanswered.reach() } else { connection.respond(stream: stream, body: []) }
                }
            }
            defer { server.stop() }
            let transport = try Loopback.transport()
            _ = try await transport.send(server.request())
            let waiting = Task { await transport.failure(try server.request()) }
            await unanswered.wait()
            // Longer than a connection may be silent in all, and at no time that long.
            let start = ContinuousClock.now
            var (last, longest) = (start, Duration.zero)
            while start.duration(to: last) < .milliseconds(1500) {
                try await Task.sleep(for: .milliseconds(100))
                _ = try await transport.send(server.request())
                let now = ContinuousClock.now
                (last, longest) = (now, max(longest, last.duration(to: now)))
            }
            waiting.cancel()
            #expect(try await waiting.value == .canceled)
            _ = try await transport.send(server.request())
            // On a machine that stands still for so long, the connection was silent.
            guard longest < .milliseconds(800) else { try Test.cancel("the machine was too busy to tell") }
            #expect(server.acceptedConnections == 1)
        }

        /// A server that is taken down says so: what it still answers is an answer, and the next request goes elsewhere.
        @Test(arguments: [true, false])
        func connectionThatIsTakenDownIsLeft(isAnswered: Bool) async throws {
            let connections = Milestone()
            let tls = LoopbackServer.TLS(try Loopback.identity.get(), offersHTTP2: true)
            let server = try LoopbackServer(tls) { connection in
                connections.reach()
                let isFirst = connections.count == 1
                while let event = connection.next() {
                    guard case .request(let stream) = event else { continue }
                    guard isFirst else {
                        connection.respond(stream: stream, body: [2])
                        continue
                    }
                    connection.goAway(last: isAnswered ? stream : 0)
                    guard isAnswered else { return }
                    // To close with something unread would reset the connection, and the answer with it.
                    connection.respond(stream: stream, body: [1])
                }
            }
            defer { server.stop() }
            let transport = try Loopback.transport()
            let request = try server.request(timeout: .seconds(5))
            do {
                // A request that was not begun is begun again elsewhere, or reported as lost.
                #expect(try await transport.send(request).body == (isAnswered ? [1] : [2]))
            } catch {
                #expect(!isAnswered && error.code == .connectionLost)
            }
            #expect(try await transport.send(request).body == [2])
            #expect(server.acceptedConnections == 2)
        }

        @Test func brokenHTTP2StreamIsAnError() async throws {
            let tls = LoopbackServer.TLS(try Loopback.identity.get(), offersHTTP2: true)
            let server = try LoopbackServer(tls) { connection in
                while let event = connection.next() {
                    guard case .request(let stream) = event else { continue }
                    connection.reset(stream: stream, code: 2)
                }
            }
            defer { server.stop() }
            #expect(await (try Loopback.transport()).failure(try server.request()) == .connectionLost)
        }

        @Test func cancellationClosesTheConnection() async throws {
            let requested = Milestone()
            let closed = Milestone()
            let server = try Loopback.server { exchange in
                requested.reach()
                exchange.waitForClientToClose()
                closed.reach()
            }
            defer { server.stop() }
            let transport = try Loopback.transport()
            let task = Task { await transport.failure(try server.request()) }
            await requested.wait()
            task.cancel()
            #expect(try await task.value == .canceled)
            await closed.wait()
        }

        @Test func canceledTaskSendsNothing() async throws {
            let server = try Loopback.server { $0.respond(200) }
            defer { server.stop() }
            let transport = try Loopback.transport()
            let task = Task {
                unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
                return await transport.failure(try server.request())
            }
            #expect(try await task.value == .canceled)
            _ = try await transport.send(server.request())
            #expect(server.requestCount == 1)
        }

        @Test func randomCancellationNeverMixesAnswersUp() async throws {
            let server = try Loopback.server { exchange in
                exchange.respond(200, body: Array(exchange.request.target.utf8))
            }
            defer { server.stop() }
            let transport = try Loopback.transport { $0.maximumConnectionsPerHost = 32 }
            for _ in 0..<5 {
                let tasks = (0..<200).map { number in
                    Task { () -> HTTPTransportError.Code? in
                        do {
                            let response = try await transport.send(server.request(.get, [.init("\(number)")]))
                            #expect(response.body == Array("/\(number)?q=secret-query".utf8))
                            return nil
                        } catch let error as HTTPTransportError {
                            return error.code
                        }
                    }
                }
                for task in tasks.shuffled().prefix(100) {
                    for _ in 0..<Int.random(in: 0...20) { await Task.yield() }
                    task.cancel()
                }
                var canceled = 0
                for task in tasks {
                    switch try await task.value {
                    case nil: break
                    case .canceled: canceled += 1
                    case let code?: Issue.record("\(code)")
                    }
                }
                #expect(canceled <= 100)
            }
            #expect(try await transport.send(server.request()).status == 200)
        }

        @Test func shutdownEndsEverything() async throws {
            let requested = Milestone()
            let closed = Milestone()
            let server = try Loopback.server { exchange in
                requested.reach()
                exchange.waitForClientToClose()
                closed.reach()
            }
            defer { server.stop() }
            // Some under way, some waiting for a connection.
            let transport = try Loopback.transport { $0.maximumConnectionsPerHost = 20 }
            let tasks = (0..<50).map { _ in Task { await transport.failure(try server.request()) } }
            await requested.wait(for: 20)
            async let other: Void = transport.shutdown()
            await transport.shutdown()
            await other
            for task in tasks { #expect(try await task.value == .shutDown) }
            await closed.wait(for: 20)
            #expect(await transport.failure(try server.request()) == .shutDown)
            await transport.shutdown()
        }

        @Test func requestsAndShutdownRace() async throws {
            let server = try Loopback.server { $0.respond(200) }
            defer { server.stop() }
            for _ in 0..<20 {
                let transport = try Loopback.transport()
                let tasks = (0..<20).map { _ in
                    Task { () -> HTTPTransportError.Code? in
                        do {
                            _ = try await transport.send(server.request())
                            return nil
                        } catch let error as HTTPTransportError {
                            return error.code
                        }
                    }
                }
                for _ in 0..<Int.random(in: 0...20) { await Task.yield() }
                await transport.shutdown()
                for task in tasks { #expect([nil, .shutDown].contains(try await task.value)) }
            }
        }

        /// In a process of its own, as all that count descriptors or threads: those of other suites come and go.
        @Test func forgottenTransportClosesItsConnections() async {
            await #expect(processExitsWith: .success) {
                let closed = Milestone()
                let server = try Loopback.server { exchange in
                    exchange.respond(200)
                    exchange.waitForClientToClose()
                    closed.reach()
                }
                defer { server.stop() }
                let threads = Process.threads
                for _ in 0..<20 { _ = try await Loopback.transport().send(server.request()) }
                await closed.wait(for: 20)
                // Threads end a little after their sockets; if they do not, the suite's time limit says so.
                while Process.threads > threads + 5 { await Task.yield() }
                Process.leave()
            }
        }

        @Test func nothingIsLeftBehind() async {
            await #expect(processExitsWith: .success) {
                let server = try Loopback.server { exchange in
                    switch exchange.request.target.utf8.dropFirst().first {
                    case UInt8(ascii: "0"): exchange.close()
                    case UInt8(ascii: "1"): exchange.reset()
                    case UInt8(ascii: "2"): exchange.respond(200, body: [UInt8](repeating: 0, count: 100_000))
                    default: exchange.respond(200, body: [1, 2, 3])
                    }
                }
                defer { server.stop() }
                let impostor = try LoopbackServer(LoopbackServer.TLS(TestAuthority().issue())) { $0.respond(200) }
                defer { impostor.stop() }
                let transport = try Loopback.transport { $0.maximumIdleConnections = 16 }
                func round(_ count: Int) async throws {
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for number in 0..<count {
                            if number >= 16 { try await group.next() }
                            group.addTask {
                                let target = number % 50 == 0 ? impostor : server
                                _ = try? await transport.send(
                                    target.request(.get, [.init("\(number % 10)")], limit: 10_000)
                                )
                            }
                        }
                        try await group.waitForAll()
                    }
                }
                try await round(200)
                let (sockets, threads) = (Process.sockets, Process.threads)
                try await round(3_000)
                // Both ends of each kept connection are in this process, and the server's end by and by. If one does not,
                // the suite's time limit says so.
                while Process.sockets > sockets + 40 || Process.threads > threads + 40 { await Task.yield() }
                Process.leave()
            }
        }
    }
}

/// The kernel's view of this process.
enum Process {
    static var sockets: Int { entries("/proc/self/fd").count { isSocket("/proc/self/fd/\($0)") } }
    static var threads: Int { entries("/proc/self/task").count }

    /// Ends the process with success while threads of TLS connections may be about to end. OpenSSL's cleanup at an ordinary exit
    /// takes no lock on what such a thread removes, and reads it after it was freed (`OPENSSL_cleanup` and `OPENSSL_thread_stop`).
    static func leave() -> Never { _exit(EXIT_SUCCESS) }

    private static func isSocket(_ path: String) -> Bool {
        var target = [CChar](repeating: 0, count: 64)
        let count = unsafe readlink(path, &target, target.count)
        return count > 7 && target.prefix(7).map(UInt8.init(bitPattern:)) == Array("socket:".utf8)
    }

    private static func entries(_ path: String) -> [String] {
        guard let directory = unsafe opendir(path) else { return [] }
        defer { unsafe closedir(directory) }
        var names: [String] = []
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { buffer in
                unsafe String(decoding: buffer.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }
}
