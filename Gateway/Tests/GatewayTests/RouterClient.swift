import HTTPTypes
import Hummingbird
import Logging
import NIOEmbedded

/// Asks a router, without a server. Hummingbird's own client for tests needs a TLS library, which takes minutes to compile.
struct RouterClient {
    struct Answer {
        var status: HTTPResponse.Status
        var headers: HTTPFields
        var body: ByteBuffer
    }

    private let responder: RouterResponder<BasicRequestContext>
    private let logger: Logger

    /// Builds the routes once for some requests.
    static func with(
        _ router: Router<BasicRequestContext>,
        logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
        _ requests: (RouterClient) async throws -> Void
    ) async throws {
        try await requests(RouterClient(responder: router.buildResponder(), logger: logger))
    }

    /// An error that no route and no middleware answers is a 500, as the server makes it.
    func executeRequest(
        uri: String,
        method: HTTPRequest.Method,
        headers: HTTPFields,
        body: ByteBuffer?
    ) async throws -> Answer {
        var head = HTTPRequest(method: method, scheme: "http", authority: "localhost", path: uri, headerFields: headers)
        if let body { head.headerFields[.contentLength] = "\(body.readableBytes)" }
        let request = Request(head: head, body: RequestBody(buffer: body ?? ByteBuffer()))
        let response: Response
        do {
            response = try await responder.respond(to: request, context: Self.context(logger))
        } catch {
            response = Response(status: .internalServerError)
        }
        let written = Written()
        try await response.body.write(written)
        return Answer(status: response.status, headers: response.headers, body: await written.body)
    }

    static func context(_ logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        -> BasicRequestContext
    {
        BasicRequestContext(source: ApplicationRequestContextSource(channel: NIOAsyncTestingChannel(), logger: logger))
    }

    /// The body of an answer, as it is written.
    private actor Written: ResponseBodyWriter {
        var body = ByteBuffer()

        func write(_ buffer: ByteBuffer) { body.writeImmutableBuffer(buffer) }

        func finish(_ trailingHeaders: HTTPFields?) {}
    }
}
