import CoreMetrics
import HTTPTransport
import Metrics

/// Counts the questions to a provider by their result, and measures how long answers take.
struct MeasuredTransport: HTTPTransportProtocol {
    let transport: any HTTPTransportProtocol
    let source: String
    /// Nil for the process's own metrics.
    var factory: (any MetricsFactory)?

    func send(_ request: HTTPTransportRequest) async throws(HTTPTransportError) -> HTTPTransportResponse {
        let start = ContinuousClock.now
        do throws(HTTPTransportError) {
            let response = try await transport.send(request)
            note("\(response.status)", since: start)
            return response
        } catch {
            note(error.code.rawValue, since: start)
            throw error
        }
    }

    private func note(_ result: String, since start: ContinuousClock.Instant) {
        let factory = factory ?? MetricsSystem.factory
        Counter(
            label: "lifecycle_lookups_total",
            dimensions: [("source", source), ("result", result)],
            factory: factory
        )
        .increment()
        let (seconds, attoseconds) = (ContinuousClock.now - start).components
        Timer(
            label: "lifecycle_lookup",
            dimensions: [("source", source)],
            preferredDisplayUnit: .seconds,
            factory: factory
        )
        .recordNanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}
