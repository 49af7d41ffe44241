package import FoundationEssentials
package import Normalizer
import SignatureCore
package import WireJSON

/// One case of a test-vector file: a delivery, how the receiver is configured, and what is expected of it.
///
/// `TestVectors/README.md` describes the format, which can be read from any language.
package struct Vector: Sendable {
    package enum Outcome: String, Sendable {
        case accept, reject
    }

    package let id: String
    package let provider: Provider
    package private(set) var headers: Delivery.Headers
    package private(set) var body: [UInt8]
    /// How the receiver is configured; each provider's builder reads its own members.
    package let config: JSONValue
    /// The time of receipt.
    package let now: Date
    package let http: [RecordedAnswer]?
    package let expect: Outcome?
    package let code: DeliveryError.Code?
    package let events: [JSONValue]?
    /// Whether `events` are partial objects.
    package let matchesSubset: Bool
    /// Whether refusing is as good as accepting.
    package let orReject: Bool

    package static let limits: JSONLimits = {
        var limits = JSONLimits()
        // A case may carry a body beyond the limit that it tests.
        limits.maximumBytes = 64 << 20
        limits.maximumNodes = 1 << 20
        limits.maximumDepth = 128
        return limits
    }()

    package var delivery: Delivery {
        Delivery(headers: headers, body: body, receivedAt: now)
    }

    /// The same case with another delivery.
    package func replacing(body: [UInt8], headers: Delivery.Headers) -> Vector {
        var vector = self
        vector.body = body
        vector.headers = headers
        return vector
    }
}

/// A provider's answer that was recorded, or made up, for a look-up.
package struct RecordedAnswer: Sendable {
    package let method: String
    package let url: String
    package let status: Int
    package let headers: [(name: String, value: String)]
    package private(set) var body: [UInt8]

    /// The same answer with another body.
    package func with(body: [UInt8]) -> RecordedAnswer {
        var answer = self
        answer.body = body
        return answer
    }
}

/// A line that is not a case.
package struct VectorError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

extension Vector {
    package init(line: ArraySlice<UInt8>) throws(VectorError) {
        do throws(JSONError) {
            let reader = try ObjectReader(try JSONDocument(parsing: Array(line), limits: Self.limits).root)
            id = try reader.string("id")
            provider = Provider(rawValue: try reader.string("provider"))
            headers = try Self.headers(reader.optionalValue("headers"))
            let encoded = try reader.optionalUTF8Slice("body_base64") ?? []
            guard let decoded = try? Base64.decode(Array(encoded).span) else {
                throw try reader.value("body_base64").error(.invalidEscape)
            }
            body = decoded
            config = try reader.value("config")
            now = Date(millisecondsSince1970: try ObjectReader(config).int64("now"))
            http = try reader.optionalArray("http").map { answers throws(JSONError) in
                try answers.map { answer throws(JSONError) in try RecordedAnswer(answer) }
            }
            let expect = try reader.optionalString("expect")
            self.expect = expect.flatMap(Outcome.init(rawValue:))
            if let expect, self.expect == nil, !expect.isEmpty {
                throw try reader.value("expect").error(.missing)
            }
            code = try reader.optionalString("code").map(DeliveryError.Code.init(rawValue:))
            events = try reader.optionalArray("events").map { Array($0) }
            matchesSubset = try reader.optionalString("match") == "subset"
            orReject = try reader.optionalBool("or_reject") ?? false
        } catch {
            throw VectorError("not a test vector: \(error)")
        }
    }

    /// A value may be an array, for a header that came more than once.
    package static func headers(_ value: JSONValue?) throws(JSONError) -> Delivery.Headers {
        var headers = Delivery.Headers()
        guard let value else { return headers }
        for (name, value) in try value.object().members {
            if value.kind == .array {
                for element in try value.array() { headers.add(name, try element.string()) }
            } else {
                headers.add(name, try value.string())
            }
        }
        return headers
    }
}

extension RecordedAnswer {
    fileprivate init(_ value: JSONValue) throws(JSONError) {
        let reader = try ObjectReader(value)
        method = try reader.string("method")
        url = try reader.string("url")
        guard let status = Int(exactly: try reader.int64("status")) else {
            throw try reader.value("status").error(.integerOutOfRange)
        }
        self.status = status
        var headers: [(name: String, value: String)] = []
        if let fields = reader.optionalValue("headers") {
            for (name, value) in try fields.object().members { headers.append((name, try value.string())) }
        }
        self.headers = headers
        if let encoded = try reader.optionalUTF8Slice("body_base64") {
            guard let decoded = try? Base64.decode(Array(encoded).span) else {
                throw try reader.value("body_base64").error(.invalidEscape)
            }
            body = decoded
        } else if let body = reader.optionalValue("body") {
            self.body = body.kind == .string ? try body.utf8() : Array(body.rawBytes)
        } else {
            body = []
        }
    }
}
