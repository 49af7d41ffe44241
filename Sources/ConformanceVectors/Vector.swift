package import FoundationEssentials
package import Normalizer
import ReceiverConfiguration
import SignatureCore
package import WireJSON

/// One case of a test-vector file: a delivery, the receiver's configuration, and the expected result.
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
    /// True if `events` are partial objects.
    package let matchesSubset: Bool
    /// True if refusing is as good as accepting.
    package let orReject: Bool

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

    package init(
        method: String,
        url: String,
        status: Int,
        headers: [(name: String, value: String)],
        body: [UInt8]
    ) {
        self.method = method
        self.url = url
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The same answer with another body.
    package func with(body: [UInt8]) -> RecordedAnswer {
        var answer = self
        answer.body = body
        return answer
    }
}

/// Reads the lines of a file, one after the other.
package struct VectorReader: Sendable {
    /// The parts to which the lines from here on refer.
    package private(set) var shared = SharedParts()

    package init() {}

    /// The case of a line; nil for the line with the shared parts.
    package mutating func read(_ line: ArraySlice<UInt8>) throws(VectorError) -> Vector? {
        if let shared = try SharedParts.read(line) {
            self.shared = shared
            return nil
        }
        return try Vector(line: line, shared: shared)
    }

    /// Every case of a file.
    package static func vectors(in file: [UInt8]) throws(VectorError) -> [Vector] {
        var reader = VectorReader()
        var vectors: [Vector] = []
        for line in file.split(separator: 0x0A) {
            if let vector = try reader.read(line) { vectors.append(vector) }
        }
        return vectors
    }
}

/// A line that is not a case.
package struct VectorError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

extension Vector {
    /// Reads a case.
    ///
    /// - Parameter shared: the shared parts from the file's first line.
    package init(line: ArraySlice<UInt8>, shared: SharedParts = SharedParts()) throws(VectorError) {
        do throws(JSONError) {
            let reader = try ObjectReader(try JSONDocument(parsing: Array(line), limits: Receivers.limits).root)
            id = try reader.string("id")
            provider = Provider(rawValue: try reader.string("provider"))
            headers = try Self.headers(reader.optionalValue("headers"), shared)
            if let encoded = try reader.optionalUTF8Slice("body_base64") {
                guard let decoded = try? Base64.decode(Array(encoded).span) else {
                    throw try reader.value("body_base64").error(.invalidEscape)
                }
                body = decoded
            } else if let text = reader.optionalValue("body") {
                body = try shared.octets(text)
            } else {
                body = []
            }
            config = try shared.whole(try reader.value("config"))
            now = Date(millisecondsSince1970: try ObjectReader(config).int64("now"))
            http = try reader.optionalArray("http").map { answers throws(JSONError) in
                try answers.map { answer throws(JSONError) in try RecordedAnswer(try shared.whole(answer)) }
            }
            let expect = try reader.optionalString("expect")
            self.expect = expect.flatMap(Outcome.init(rawValue:))
            if let expect, self.expect == nil, !expect.isEmpty {
                throw try reader.value("expect").error(.missing)
            }
            code = try reader.optionalString("code").map(DeliveryError.Code.init(rawValue:))
            events = try reader.optionalArray("events").map { events throws(JSONError) in
                try events.map(shared.whole)
            }
            matchesSubset = try reader.optionalString("match") == "subset"
            orReject = try reader.optionalBool("or_reject") ?? false
        } catch {
            throw VectorError("not a test vector: \(error)")
        }
    }
}

extension Vector {
    /// A field may have come more than once, and its value may be a text that the file shares.
    private static func headers(_ value: JSONValue?, _ shared: SharedParts) throws(JSONError) -> Delivery.Headers {
        var headers = Delivery.Headers()
        guard let value else { return headers }
        for (name, value) in try value.object().members {
            let fields = value.kind == .array ? Array(try value.array()) : [value]
            for field in fields {
                let octets = try shared.octets(field)
                headers.add(name, String(decoding: octets, as: UTF8.self))
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
