import CurlTransport
import Glibc
import HTTPTransport
import LoopbackServer
import Testing

extension Loopback {
    /// A process that has no descriptors left, for which another part of it may be to blame. Each is one of its own, so that no
    /// other test is left without.
    @Suite struct ExhaustionTests {
        @Test func transportThatCannotBeWokenIsRefused() async {
            await #expect(processExitsWith: .success) {
                let configuration = try Loopback.configuration()
                let error = try await withoutDescriptors { () async throws -> HTTPTransportError? in
                    do throws(HTTPTransportError) {
                        _ = try CurlHTTPTransport(configuration)
                        return nil
                    } catch {
                        return error
                    }
                }
                #expect(error?.code == .transportFailure)
            }
        }

        @Test func transportOutlivesAShortage() async {
            await #expect(processExitsWith: .success) {
                let server = try Loopback.server { $0.respond(200) }
                defer { server.stop() }
                let transport = try Loopback.transport()
                let code = try await withoutDescriptors { await transport.failure(try server.request()) }
                #expect(code == .connectionFailed)
                #expect(try await transport.send(server.request()).status == 200)
            }
        }
    }
}

/// Takes every descriptor there is while `body` runs.
private func withoutDescriptors<Result>(_ body: () async throws -> Result) async throws -> Result {
    var limits = rlimit()
    try #require(unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0)
    let usual = limits
    let first = unsafe open("/dev/null", O_RDONLY)
    try #require(first >= 0)
    limits.rlim_cur = min(usual.rlim_cur, rlim_t(first) + 64)
    try #require(unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0)
    var taken = [first]
    while case let next = unsafe open("/dev/null", O_RDONLY), next >= 0 { taken.append(next) }
    defer {
        for descriptor in taken { close(descriptor) }
        var usual = usual
        unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &usual)
    }
    return try await body()
}
