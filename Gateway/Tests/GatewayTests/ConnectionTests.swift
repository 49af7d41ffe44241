@testable import Gateway
import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Testing

/// The socket's part: `EmbeddedChannel` closes both sides at once.
private final class HalfClosing: ChannelOutboundHandler {
    typealias OutboundIn = HTTPResponsePart

    var isHalfClosed = false
    /// True for a client that takes nothing.
    var isStuck = false

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode == .output else { return context.close(mode: mode, promise: promise) }
        if isStuck { return }
        isHalfClosed = true
        promise?.succeed()
    }
}

@Suite("A connection")
struct ConnectionTests {
    private let socket = HalfClosing()
    private let connections = Connections()
    private let channel: EmbeddedChannel

    init() throws {
        channel = EmbeddedChannel(handlers: [socket, ConnectionHandler(connections)])
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    private func head(expecting value: String? = nil) -> HTTPRequestPart {
        var head = HTTPRequest(method: .post, scheme: "http", authority: "localhost", path: "/hooks/shop")
        head.headerFields[.expect] = value
        return .head(head)
    }

    private func send(_ parts: HTTPRequestPart...) throws -> [HTTPResponsePart] {
        for part in parts {
            try channel.writeInbound(part)
            #expect(try channel.readInbound(as: HTTPRequestPart.self) == part)
        }
        return try sent()
    }

    private func sent() throws -> [HTTPResponsePart] {
        var parts: [HTTPResponsePart] = []
        while let part = try channel.readOutbound(as: HTTPResponsePart.self) { parts.append(part) }
        return parts
    }

    private func answer() throws -> [HTTPResponsePart] {
        for part in [HTTPResponsePart.head(HTTPResponse(status: .ok)), .end(nil)] { try channel.writeOutbound(part) }
        return try sent()
    }

    private static let answer = [HTTPResponsePart.head(HTTPResponse(status: .ok)), .end(nil)]
    private static let lastAnswer = [
        HTTPResponsePart.head(HTTPResponse(status: .ok, headerFields: [.connection: "close"])), .end(nil),
    ]

    @Test(
        "has its client asked for the body that it waits with, and no other client",
        arguments: [("100-continue", true), ("100-Continue", true), (nil, false), ("something", false)]
    )
    func asked(value: String?, isAsked: Bool) throws {
        let expected = isAsked ? [HTTPResponsePart.head(HTTPResponse(status: .continue))] : []
        #expect(try send(head(expecting: value)) == expected)
    }

    @Test("asks for no body in the middle of an earlier request's answer")
    func pipelined() throws {
        let continued = [HTTPResponsePart.head(HTTPResponse(status: .continue))]
        #expect(try send(head(), .end(nil)) == [])
        #expect(try send(head(expecting: "100-continue")) == [])
        #expect(try answer() == Self.answer)
        #expect(try send(.end(nil)) == [])
        #expect(try answer() == Self.answer)
        #expect(try send(head(expecting: "100-continue")) == continued)
    }

    @Test("ends in seconds after an answer to a request whose body goes on")
    func early() throws {
        let part = HTTPRequestPart.body(ByteBuffer(string: "a"))
        #expect(try send(head(), part) == [])
        #expect(try answer() == Self.lastAnswer)
        #expect(socket.isHalfClosed)
        for _ in 0..<4 {
            channel.embeddedEventLoop.advanceTime(by: .seconds(1))
            try channel.writeInbound(part)
            #expect(try channel.readInbound(as: HTTPRequestPart.self) == nil)
        }
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }

    @Test("serves on after an answer to a whole request")
    func whole() throws {
        for _ in 0..<2 {
            #expect(try send(head(), .body(ByteBuffer(string: "a")), .end(nil)) == [])
            #expect(try answer() == Self.answer)
        }
        channel.embeddedEventLoop.advanceTime(by: .hours(1))
        #expect(channel.isActive && !socket.isHalfClosed)
    }

    @Test("ends in minutes if its client takes nothing of an answer, or not the end of the last one")
    func stuck() throws {
        channel.isWritable = false
        channel.pipeline.fireChannelWritabilityChanged()
        channel.embeddedEventLoop.advanceTime(by: .minutes(4))
        channel.isWritable = true
        channel.pipeline.fireChannelWritabilityChanged()
        channel.embeddedEventLoop.advanceTime(by: .minutes(4))
        #expect(channel.isActive)
        socket.isStuck = true
        _ = try send(head())
        _ = try answer()
        channel.pipeline.fireChannelWritabilityChanged()
        channel.embeddedEventLoop.advanceTime(by: .minutes(4))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .minutes(1))
        #expect(!channel.isActive)
    }

    @Test("ends with its answer where there are many, and is counted until it ends")
    func many() throws {
        for _ in 0..<Connections.maximum / 2 { connections.open() }
        #expect(try send(head(), .end(nil)) == [])
        #expect(try answer() == Self.lastAnswer)
        #expect(connections.areMany)
        channel.embeddedEventLoop.advanceTime(by: .seconds(5))
        #expect(!channel.isActive && !connections.areMany)
    }
}
