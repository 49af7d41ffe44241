import HTTPTypes
import NIOCore
import NIOHTTPTypes
import Synchronization

/// Ends a connection that its client would keep for good. The server waits without a limit for the rest of a body that no route has
/// read, for a client that takes no answer, and, once it has closed its side, for the client to close the other one.
///
/// It also has a client send the body for which it announced to wait (`Expect: 100-continue`): curl waits for a second with each body
/// of more than a megabyte, and other clients for good.
final class ConnectionHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// How long a client may keep the connection after the last answer. It loses the answer if the connection closes while it is still
    /// sending (RFC 9112, section 9.6).
    static let farewell: TimeAmount = .seconds(5)
    /// How long a client may take for what the server has written so far.
    static let standstill: TimeAmount = .minutes(5)

    private let connections: Connections
    /// How many requests have no whole answer yet.
    private var unanswered = 0
    /// True until the body of the latest request has ended.
    private var isReading = false
    /// True from the head of the last answer on.
    private var isLast = false
    /// True if nothing more is written.
    private var isClosing = false
    private var timer: Scheduled<Void>?

    init(_ connections: Connections) { self.connections = connections }

    func handlerAdded(context: ChannelHandlerContext) { connections.open() }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
        connections.close()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isClosing else { return }
        switch unwrapInboundIn(data) {
        case .head(let head):
            unanswered += 1
            isReading = true
            // Between the parts of an earlier request's answer it would be taken for that one's.
            if unanswered == 1, head.headerFields[.expect]?.lowercased() == "100-continue" {
                context.writeAndFlush(wrapOutboundOut(.head(HTTPResponse(status: .continue))), promise: nil)
            }
        case .body: break
        case .end: isReading = false
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(var head):
            // The next request would begin behind a body that no one needs.
            let isEarly = isReading && unanswered == 1
            isLast = isEarly || connections.areMany
            if isLast { head.headerFields[.connection] = "close" }
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .body:
            context.write(data, promise: promise)
        case .end:
            unanswered -= 1
            guard isLast else { return context.write(data, promise: promise) }
            context.writeAndFlush(data, promise: promise)
            close(context: context, mode: .output, promise: nil)
        }
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode == .output else { return context.close(mode: mode, promise: promise) }
        isClosing = true
        close(context, in: Self.standstill)
        // This one closes when all is written.
        let closing = promise ?? context.eventLoop.makePromise()
        closing.futureResult.assumeIsolated().whenComplete { _ in self.close(context, in: Self.farewell) }
        context.close(mode: .output, promise: closing)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if !context.channel.isWritable { close(context, in: Self.standstill) } else if !isClosing { timer?.cancel() }
        context.fireChannelWritabilityChanged()
    }

    private func close(_ context: ChannelHandlerContext, in time: TimeAmount) {
        timer?.cancel()
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: time) { context.close(promise: nil) }
    }
}

/// How many connections there are, and how many there may be.
final class Connections: Sendable {
    /// A process has 1024 descriptors, as a rule, and the database needs some.
    static let maximum = 768

    private let count = Atomic(0)

    /// True if a connection should end with its answer, so that a waiting client gets a turn.
    var areMany: Bool { count.load(ordering: .relaxed) > Self.maximum / 2 }

    func open() { count.add(1, ordering: .relaxed) }

    func close() { count.subtract(1, ordering: .relaxed) }
}
