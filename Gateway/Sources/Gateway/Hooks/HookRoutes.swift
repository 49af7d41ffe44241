import Foundation
import Hummingbird
import HTTPTypes
import LifecycleJournal
import Logging
import Normalizer
import Synchronization

/// `POST /hooks/<source>`: takes providers' deliveries.
struct HookRoutes: Sendable {
    /// How many requests may be under way at once. A further one is answered with 503, and its provider repeats it.
    var maximumRequests = 256

    let intake: Intake
    let adapters: [String: any ProviderAdapter]
    let metrics: GatewayMetrics
    let now: @Sendable () -> Date
    var underWay = Counter()
    var memory = BodyMemory()

    /// Counts the requests under way.
    final class Counter: Sendable {
        private let count = Mutex(0)

        func enter(limit: Int) -> Bool {
            count.withLock { count in
                guard count < limit else { return false }
                count += 1
                return true
            }
        }

        func leave() { count.withLock { $0 -= 1 } }

        var isZero: Bool { count.withLock { $0 == 0 } }
    }

    func add(to router: Router<BasicRequestContext>) {
        router.post("hooks/:source") { request, context in
            let source = try context.parameters.require("source")
            guard let adapter = adapters[source] else {
                metrics.refused("", because: "unknown_source")
                throw HTTPError(.notFound, message: "no source has this name")
            }
            let body: [UInt8]
            do throws(HTTPError) {
                body = try await request.wholeBody(of: memory)
            } catch {
                metrics.refused(source, because: error.status == HTTPError.busy.status ? "busy" : "body")
                throw error
            }
            defer { memory.giveBack(body.count) }
            // Not before the body is there: anyone can begin a request and send nothing more.
            guard underWay.enter(limit: maximumRequests) else {
                metrics.refused(source, because: "busy")
                throw HTTPError.busy
            }
            defer { underWay.leave() }
            let headers = Delivery.Headers(request.headers.map { ($0.name.rawName, $0.value) })
            let delivery = Delivery(headers: headers, body: body, receivedAt: now())
            // A provider has given up by then, as a rule, and repeats the delivery.
            let answer = try await cancelling(after: .seconds(20)) {
                await intake.take(delivery, adapter, as: source)
            }
            if answer.decision != .accept {
                var metadata: Logger.Metadata = [
                    "source": "\(source)", "decision": "\(answer.decision)", "code": "\(answer.loggedCode)",
                    "status": "\(answer.status)", "bytes": "\(body.count)",
                ]
                if let trace = Self.trace(request)?.traceID { metadata["trace"] = "\(trace)" }
                context.logger.warning("delivery \(answer.outcome)", metadata: metadata)
            }
            return Response(
                status: .init(code: answer.status),
                headers: answer.decision == .retryLater ? HTTPError.later : [:]
            )
        }
    }

    private static func trace(_ request: Request) -> TraceParent? {
        HTTPField.Name(TraceParent.header).flatMap { request.headers[$0] }.flatMap { TraceParent($0) }
    }
}

extension HTTPError {
    /// When to come again.
    static let later: HTTPFields = [.retryAfter: "5"]

    /// Too many callers at once.
    static var busy: HTTPError { HTTPError(.serviceUnavailable, headers: later, message: "busy") }
}
