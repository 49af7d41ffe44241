@testable import Gateway
import HTTPTypes
import NIOEmbedded
import NIOHTTPTypes
import Testing

@Suite("A client that waits before it sends a body")
struct ContinueTests {
    private let channel = EmbeddedChannel(handler: ContinueHandler())

    private func send(expecting value: String?) throws -> [HTTPResponsePart] {
        var head = HTTPRequest(method: .post, scheme: "http", authority: "localhost", path: "/hooks/shop")
        head.headerFields[.expect] = value
        try channel.writeInbound(HTTPRequestPart.head(head))
        #expect(try channel.readInbound(as: HTTPRequestPart.self) == .head(head))
        return try sent()
    }

    private func sent() throws -> [HTTPResponsePart] {
        var parts: [HTTPResponsePart] = []
        while let part = try channel.readOutbound(as: HTTPResponsePart.self) { parts.append(part) }
        return parts
    }

    @Test(
        "is asked for it, and another one is not",
        arguments: [("100-continue", true), ("100-Continue", true), (nil, false), ("something", false)]
    )
    func asked(value: String?, isAsked: Bool) throws {
        let expected = isAsked ? [HTTPResponsePart.head(HTTPResponse(status: .continue))] : []
        #expect(try send(expecting: value) == expected)
    }

    @Test("is not asked in the middle of an earlier request's answer")
    func pipelined() throws {
        let continued = [HTTPResponsePart.head(HTTPResponse(status: .continue))]
        let answer = [HTTPResponsePart.head(HTTPResponse(status: .ok)), .end(nil)]
        #expect(try send(expecting: nil) == [])
        #expect(try send(expecting: "100-continue") == [])
        for _ in 0..<2 {
            for part in answer { try channel.writeOutbound(part) }
            #expect(try sent() == answer)
        }
        #expect(try send(expecting: "100-continue") == continued)
    }
}
