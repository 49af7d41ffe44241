import HTTPTypes
import Hummingbird
import NIOCore
import Normalizer

/// The body of a request. It has no members but the known ones: a misspelled one would be about something else without a word.
protocol RequestBody: Decodable {
    associatedtype Member: CodingKey & CaseIterable
}

/// A body that was read with all of its members known, or the reason why it could not be.
private struct Checked<Body: RequestBody>: Decodable {
    /// Fails with a `DecodingError`, or with an `HTTPError` with the known names.
    let body: Result<Body, any Error>

    init(from decoder: any Decoder) {
        body = Result {
            let known = Body.Member.allCases.map(\.stringValue)
            let stated = try decoder.container(keyedBy: AnyMember.self).allKeys.map(\.stringValue)
            guard stated.allSatisfy(known.contains) else {
                throw HTTPError(.badRequest, message: "the members are \(known.sorted().joined(separator: ", "))")
            }
            return try Body(from: decoder)
        }
    }

    private struct AnyMember: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}

extension Request {
    /// No provider sends as much, and no proof of a purchase is as long.
    private static let maximumBodyBytes = 1 << 20

    /// Reads the body to its end.
    ///
    /// - Parameter memory: the memory that it takes a part of, for its caller to give back.
    /// - Throws: `HTTPError`: 413 for a body that is longer, 408 for one that does not come in time, 400 for one that breaks off or is
    ///   in another transfer coding, 503 if there is no memory for it.
    func wholeBody(
        within timeout: Duration = .seconds(15),
        of memory: BodyMemory = BodyMemory()
    ) async throws(HTTPError) -> [UInt8] {
        // It would be taken as it comes, and be another body than the one that was meant.
        guard headers[.transferEncoding].map({ $0.lowercased() == "chunked" }) ?? true else {
            throw HTTPError(.badRequest, message: "the transfer coding must be chunked")
        }
        let deadline = ContinuousClock.now + timeout
        do {
            return try await cancelling(after: timeout) {
                var octets: [UInt8] = []
                do {
                    for try await part in self.body {
                        let count = octets.count + part.readableBytes
                        guard count <= Self.maximumBodyBytes else {
                            throw HTTPError(
                                .contentTooLarge,
                                message: "the body is longer than \(Self.maximumBodyBytes) bytes"
                            )
                        }
                        guard memory.take(from: octets.count, to: count) else { throw HTTPError.busy }
                        octets.append(contentsOf: part.readableBytesView)
                    }
                    try Task.checkCancellation()
                    return octets
                } catch {
                    memory.giveBack(octets.count)
                    throw error
                }
            }
        } catch let error as HTTPError {
            throw error
        } catch {
            guard ContinuousClock.now < deadline else {
                throw HTTPError(.requestTimeout, message: "the body did not come in time")
            }
            throw HTTPError(.badRequest, message: "the body broke off")
        }
    }

    /// Reads the body as JSON in which each name comes once: readers differ in which of two values they take.
    ///
    /// - Throws: `HTTPError`: as ``wholeBody(within:of:)``, and 400 for a body of another form.
    func body<Body: RequestBody>(as body: Body.Type) async throws -> Body {
        let octets = try await wholeBody()
        let checked: Checked<Body>
        do throws(InvalidValue) { checked = try CanonicalJSON.value(from: octets) } catch {
            throw HTTPError(.badRequest, message: "the body is not JSON, or has a member twice")
        }
        do { return try checked.body.get() } catch let error as DecodingError {
            throw HTTPError(.badRequest, message: Self.problem(error))
        }
    }

    /// The member, and what it must be. It never shows a value.
    private static func problem(_ error: DecodingError) -> String {
        func member(_ path: [any CodingKey]) -> String { path.last?.stringValue ?? "the body" }
        switch error {
        case .keyNotFound(let key, _): return "\(key.stringValue) is missing"
        case .valueNotFound(_, let context): return "\(member(context.codingPath)) is missing"
        case .dataCorrupted(let context): return "\(member(context.codingPath)) must be a whole number"
        case .typeMismatch(let type, let context):
            let needed = type == String.self ? "a text" : type == Int64.self ? "a whole number" : "an object"
            return "\(member(context.codingPath)) must be \(needed)"
        @unknown default: return "the body has another form"
        }
    }
}
