import Foundation
import GooglePubSub
import HTTPTransport
import Normalizer
import NormalizerTesting
import Synchronization
import WireJSON

/// A subscription as the stub plays it: what is published is delivered until it is acknowledged.
final class ScriptedSubscription: Sendable {
    struct State {
        var queue: [(id: String, data: String)] = []
        var leased: [String: (id: String, data: String)] = [:]
        var nextAcknowledgement = 0
        var acknowledged: [String] = []
        var returned: [String] = []
        var delays: [Int64] = []
        var extended: [String] = []
        var sizes: [Int] = []
        var waiting: [CheckedContinuation<Void, Never>] = []
        var outstanding = 0
        var mostOutstanding = 0
    }

    let state = Mutex(State())
    let transport = StubTransport()
    private static let path = "/v1/projects/project-one/subscriptions/play-events"

    init() {
        transport.on(.init(.post, host: "pubsub.googleapis.com", path: Self.path + ":acknowledge")) {
            [unowned self] (request) throws(HTTPTransportError) in
            for id in Self.ids(request) {
                state.withLock { state in
                    guard let message = state.leased.removeValue(forKey: id) else { return }
                    state.acknowledged.append(message.id)
                    state.outstanding -= 1
                }
            }
            return HTTPTransportResponse(status: 200, body: Array("{}".utf8))
        }
        transport.on(.init(.post, host: "pubsub.googleapis.com", path: Self.path + ":modifyAckDeadline")) {
            [unowned self] (request) throws(HTTPTransportError) in
            // Time is not played: what is given back comes again at once, whatever the delay.
            let deadline = (try? ObjectReader(parsing: request.body).int64("ackDeadlineSeconds")) ?? 0
            let isReturn = deadline != 60
            for id in Self.ids(request) {
                state.withLock { state in
                    guard let message = state.leased[id] else { return }
                    if isReturn {
                        state.leased[id] = nil
                        state.returned.append(message.id)
                        state.delays.append(deadline)
                        state.queue.append(message)
                        state.outstanding -= 1
                    } else {
                        state.extended.append(message.id)
                    }
                }
            }
            if isReturn { wake() }
            return HTTPTransportResponse(status: 200, body: Array("{}".utf8))
        }
        transport.on(.init(.post, host: "pubsub.googleapis.com", path: Self.path + ":pull")) {
            [unowned self] (request) throws(HTTPTransportError) in
            let limit = (try? ObjectReader(parsing: request.body).int64("maxMessages")).map(Int.init) ?? 0
            await waitForMessages()
            if Task.isCancelled { throw HTTPTransportError(.canceled, "canceled") }
            return HTTPTransportResponse(status: 200, body: deliver(limit))
        }
    }

    private static func ids(_ request: HTTPTransportRequest) -> [String] {
        (try? ObjectReader(parsing: request.body).strings("ackIds")) ?? []
    }

    private func deliver(_ limit: Int) -> [UInt8] {
        state.withLock { state in
            let batch = state.queue.prefix(limit)
            state.queue.removeFirst(batch.count)
            state.sizes.append(batch.count)
            let entries = batch.map { message in
                state.nextAcknowledgement += 1
                state.outstanding += 1
                state.mostOutstanding = max(state.mostOutstanding, state.outstanding)
                let id = "ack-\(state.nextAcknowledgement)"
                state.leased[id] = message
                return
                    #"{"ackId":"\#(id)","message":{"data":"\#(message.data)","messageId":"\#(message.id)"}}"#
            }
            return Array("{\"receivedMessages\":[\(entries.joined(separator: ","))]}".utf8)
        }
    }

    private func waitForMessages() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    if !state.queue.isEmpty || Task.isCancelled { return true }
                    state.waiting.append(continuation)
                    return false
                }
                if isReady { continuation.resume() }
            }
        } onCancel: {
            wake()
        }
    }

    private func wake() {
        let waiting = state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    func publish(_ ids: some Sequence<String>, data: [UInt8] = Array("x".utf8)) {
        publish(ids, text: Google.base64(data))
    }

    /// - Parameter text: what stands in place of the data in base64.
    func publish(_ ids: some Sequence<String>, text: String) {
        state.withLock { state in
            for id in ids { state.queue.append((id, text)) }
        }
        wake()
    }

    /// Delivers again what was not acknowledged, as Pub/Sub does when a deadline has passed.
    func expireLeases() {
        state.withLock { state in
            state.queue += state.leased.values
            state.outstanding = 0
            state.leased = [:]
        }
        wake()
    }
}
