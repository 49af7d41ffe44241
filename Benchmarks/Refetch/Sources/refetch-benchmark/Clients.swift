import AsyncHTTPClient
import CurlTransport
import Foundation
import HTTPTransport
import NIOCore
import NIOSSL

/// Asks for one purchase and gives back how many octets the answer has.
protocol RefetchClient: Sendable {
    static var name: String { get }
    func refetch(_ number: Int) async throws -> Int
    func shutdown() async throws
}

struct Failure: Error, CustomStringConvertible {
    var description: String
}

/// Where the server is, and whom to trust.
struct Target: Sendable {
    var port: Int
    var authority: String

    func token(_ number: Int) -> String {
        "kpbgnfjmlaidhoecbeaghdfc.AO-J1OyT5mU2s9wq7Fh4Xc0Zb3Nv6Kd8Re1Lp5Ta2Wy7Qi9Uo4-\(number)"
    }
}

struct Curl: RefetchClient {
    static let name = "CurlTransport"
    let target: Target
    let transport: CurlHTTPTransport

    init(_ target: Target) throws {
        self.target = target
        transport = try CurlHTTPTransport(.init(trustRoots: .file(path: target.authority)))
    }

    func refetch(_ number: Int) async throws -> Int {
        let url = try HTTPSURL(
            host: "localhost",
            port: target.port,
            path: [
                "androidpublisher", "v3", "applications", "com.example.lingua", "purchases", "subscriptionsv2",
                "tokens",
                .init(target.token(number)),
            ]
        )
        let request = try HTTPTransportRequest(
            .get,
            url,
            headers: ["Accept": "application/json", "Authorization": "Bearer \(accessToken)"]
        )
        let response = try await transport.send(request)
        guard response.status == 200, response.headers["Date"] != nil else {
            throw Failure(description: "status \(response.status)")
        }
        return response.body.count
    }

    func shutdown() async throws { await transport.shutdown() }
}

struct AsyncHTTP: RefetchClient {
    static let name = "async-http-client"
    let target: Target
    let client: HTTPClient

    init(_ target: Target) throws {
        self.target = target
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .file(target.authority)
        var configuration = HTTPClient.Configuration(tlsConfiguration: tls, redirectConfiguration: .disallow)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 64
        configuration.decompression = .enabled(limit: .size(1 << 20))
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    func refetch(_ number: Int) async throws -> Int {
        var request = HTTPClientRequest(
            url: "https://localhost:\(target.port)/androidpublisher/v3/applications/com.example.lingua/purchases/"
                + "subscriptionsv2/tokens/\(target.token(number))"
        )
        request.headers.add(name: "Accept", value: "application/json")
        request.headers.add(name: "Authorization", value: "Bearer \(accessToken)")
        let response = try await client.execute(request, timeout: .seconds(10))
        let body = try await response.body.collect(upTo: 1 << 20)
        guard response.status == .ok, response.headers.first(name: "Date") != nil else {
            throw Failure(description: "status \(response.status)")
        }
        // The mapping needs octets.
        return Array(buffer: body).count
    }

    func shutdown() async throws { try await client.shutdown() }
}

private let accessToken = String(repeating: "ya29.c0ASRK0Ga", count: 12)
