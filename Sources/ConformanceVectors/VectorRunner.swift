import FoundationEssentials
package import Normalizer
import ReceiverConfiguration

/// The result of a vector.
package struct VectorOutcome: Sendable {
    package let id: String
    package let result: Result<Normalization, DeliveryError>
    package let answer: Int
    /// True if it is as expected; nil if nothing was.
    package let matched: Bool?
    /// The differences from the expectation, for people.
    package let difference: String?

    /// The line that `lifecycle check` prints.
    package func line() throws -> [UInt8] {
        var output = Output(id: id, outcome: "accept", answer: answer, matched: matched)
        switch result {
        case .success(let normalization):
            output.events = normalization.events
            let statements = normalization.logLines.filter {
                if case .statement = $0 { true } else { false }
            }
            output.statements = statements.isEmpty ? nil : statements
            output.anomalies = normalization.anomalies.isEmpty ? nil : normalization.anomalies
        case .failure(let error):
            output.outcome = "reject"
            output.code = error.code
            output.message = error.message
        }
        return try CanonicalJSON.bytes(output)
    }

    private struct Output: Encodable {
        var id: String
        var outcome: String
        var code: DeliveryError.Code?
        var message: String?
        var answer: Int
        var events: [NormalizedEvent] = []
        /// The store's statements without an event, as lines of a log, so that they can go into one as they are.
        var statements: [LogLine]?
        /// Where the payload lacks something, or has what is not expected.
        var anomalies: [String]?
        var matched: Bool?
    }
}

/// Runs vectors, each against a receiver of its own.
package enum VectorRunner {
    package static func run(_ vector: Vector) async -> VectorOutcome {
        let result = await outcome(of: vector)
        let answer = Acknowledgement(for: result, provider: vector.provider).status
        let difference = difference(result, vector)
        return VectorOutcome(
            id: vector.id,
            result: result,
            answer: answer,
            matched: vector.expect == nil ? nil : difference == nil,
            difference: difference
        )
    }

    private static func outcome(of vector: Vector) async -> Result<Normalization, DeliveryError> {
        do throws(DeliveryError) {
            return .success(try await receiver(for: vector).receive(vector.delivery))
        } catch {
            return .failure(error)
        }
    }

    private static func receiver(for vector: Vector) throws(DeliveryError) -> any ConfiguredReceiver {
        do throws(ConfigurationError) {
            return try Receivers.receiver(
                for: vector.provider,
                config: vector.config,
                answers: vector.http.map(RecordedTransport.init)
            )
        } catch {
            // A receiver that would verify nothing does not start: every delivery waits until it is mended.
            throw DeliveryError(.configuration, error.message)
        }
    }

    private static func difference(_ result: Result<Normalization, DeliveryError>, _ vector: Vector) -> String? {
        guard let expect = vector.expect else { return nil }
        switch (expect, result) {
        case (.accept, .failure(let error)):
            return vector.orReject ? nil : "expected accept, got reject: \(error)"
        case (.reject, .success(let normalization)):
            let code = vector.code.map { " with code \($0)" } ?? ""
            return "expected reject\(code), got accept with \(normalization.events.count) events"
        case (.reject, .failure(let error)):
            guard let code = vector.code, code != error.code else { return nil }
            return "expected reject with code \(code), got \(error)"
        case (.accept, .success(let normalization)):
            return vector.events.flatMap { expected in
                EventComparison(allowsMore: vector.matchesSubset).difference(expected, normalization.events)
            }
        }
    }
}

extension DeliveryError.Code {
    /// The receiver of a vector is configured so that it cannot start.
    package static let configuration: DeliveryError.Code = "configuration"
}
