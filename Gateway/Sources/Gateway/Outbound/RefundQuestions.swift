import AppStoreServer
import Foundation
import HTTPTransport
import Normalizer

/// Answers Apple's questions about refunds with what your backend answers to the same question.
///
/// The gateway posts the event, signed as news is. Your backend answers with a ``RefundStatement``, or with 204 if it has nothing to
/// say. While it does not answer, the gateway asks again, until Apple's deadline.
struct RefundQuestions: OwedAnswers {
    /// How long your backend has for an answer.
    private static let timeout: Duration = .seconds(15)

    let server: AppStoreServerClient
    let destination: GatewayConfiguration.Destination
    let transport: any HTTPTransportProtocol
    let metrics: GatewayMetrics
    let now: @Sendable () -> Date

    func isOwed(_ answer: OwedAnswer) -> Bool { server.consumptionAnswers { _ in nil }.isOwed(answer) }

    func answer(_ owed: OwedAnswer) async throws(DeliveryError) {
        let information: ConsumptionInformation
        do throws(DeliveryError) {
            information = try await ask(owed)
        } catch {
            metrics.refundQuestionFailed(because: error.code.rawValue)
            throw error
        }
        try await server.consumptionAnswers { _ in information }.answer(owed)
    }

    /// Asks your backend.
    ///
    /// - Throws: `DeliveryError` with `unavailable` if it has not answered yet, and with `dismissed`, which is final, if it has
    ///   nothing to say.
    private func ask(_ owed: OwedAnswer) async throws(DeliveryError) -> ConsumptionInformation {
        let response: HTTPTransportResponse
        do {
            // News of the event has the event's own id, and is another message.
            let id = "refund_question/\(owed.event.id)"
            let body = try CanonicalJSON.bytes(
                CloudEvent(
                    id: id,
                    type: "lifecycle.refund_question",
                    about: owed.event,
                    data: Question(event: owed.event, answerBy: owed.deadline)
                )
            )
            var request = try HTTPTransportRequest(
                .post,
                destination.url,
                headers: ["Content-Type": "application/cloudevents+json; charset=utf-8", "Accept": "application/json"],
                body: body,
                timeout: Self.timeout,
                maximumResponseBytes: 64 * 1024
            )
            for (name, value) in try destination.signature.headers(id: id, at: now(), body: body) {
                try request.setHeader(name, to: value)
            }
            request.isIdempotent = true
            response = try await transport.send(request)
        } catch {
            let reason = (error as? HTTPTransportError)?.code.rawValue ?? "\(type(of: error))"
            throw DeliveryError(.unavailable, "your backend has not answered: \(reason)")
        }
        guard response.isSuccess else {
            throw DeliveryError(.unavailable, "your backend has answered with status \(response.status)")
        }
        guard response.status != 204 else {
            throw DeliveryError(.dismissed, "your backend has nothing to say")
        }
        let statement: RefundStatement
        do { statement = try CanonicalJSON.value(from: response.body) } catch {
            throw DeliveryError(.unavailable, "your backend's answer cannot be read: \(error)")
        }
        guard statement.customerConsented else {
            throw DeliveryError(.dismissed, "the customer has not consented to sharing information")
        }
        return statement.information
    }

    private struct Question: Encodable {
        var event: NormalizedEvent
        @OptionalEventTime var answerBy: Date?

        private enum CodingKeys: String, CodingKey {
            case event
            case answerBy = "answer_by"
        }
    }
}

extension DeliveryError.Code {
    /// Your backend has decided not to answer a store.
    static let dismissed: DeliveryError.Code = "dismissed"
}

/// The answer of your backend to a question about a refund, in JSON.
struct RefundStatement: Decodable {
    /// False if the customer did not agree to sharing this with Apple: then nothing is sent.
    var customerConsented: Bool
    /// For Apple.
    var information: ConsumptionInformation

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case customerConsented = "customer_consented"
        case delivery
        case sampleContentProvided = "sample_content_provided"
        case consumptionMillipercent = "consumption_millipercent"
        case refundPreference = "refund_preference"
    }

    private struct AnyKey: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// Reads the answer. A misspelled member is an error: without it, Apple would get another statement than you meant.
    init(from decoder: any Decoder) throws {
        let known = Set(CodingKeys.allCases.map(\.rawValue))
        for key in try decoder.container(keyedBy: AnyKey.self).allKeys where !known.contains(key.stringValue) {
            throw DecodingError.dataCorrupted(
                .init(codingPath: [], debugDescription: "the members are \(known.sorted().joined(separator: ", "))")
            )
        }
        let container = try decoder.container(keyedBy: CodingKeys.self)
        customerConsented = try container.decode(Bool.self, forKey: .customerConsented)
        let delivery = try container.decodeIfPresent(String.self, forKey: .delivery)
        information = ConsumptionInformation(
            delivery.map { .init(rawValue: $0) } ?? .delivered,
            sampleContentProvided: try container.decodeIfPresent(Bool.self, forKey: .sampleContentProvided) ?? false,
            consumptionMillipercent: try container.decodeIfPresent(Int.self, forKey: .consumptionMillipercent),
            refundPreference: try container.decodeIfPresent(String.self, forKey: .refundPreference)
                .map { .init(rawValue: $0) }
        )
        guard customerConsented else { return }
        guard delivery != nil else {
            throw DecodingError.keyNotFound(
                CodingKeys.delivery,
                .init(codingPath: [], debugDescription: "delivery is missing")
            )
        }
    }
}
