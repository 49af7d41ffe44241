import ConformanceVectors
import FoundationEssentials
import Normalizer
import RevenueCatEvents
import SignatureCore
import Stripe

/// Codes that hold, which inputs name by one control character each, so that a fuzzer need not forge them.
private struct Codes {
    static let now: Int64 = 1_772_366_400
    /// At the time of receipt, at both edges of the tolerance and beyond each.
    static let times: [Int64] = [now, now - 300, now + 300, now - 301, now + 301, 0]

    let body: [UInt8]
    let texts: [String]

    init(secret: String, body: String) {
        self.body = Array(body.utf8)
        let key = Array(secret.utf8)
        texts = Self.times.map { time in
            let signed = Array("\(time).\(body)".utf8)
            let code = try? HMACSHA256(key: key.span).authenticationCode(over: signed.span)
            return code?.hexadecimal ?? ""
        }
    }

    /// The text of a header in which `0x01` stands for the first code, `0x02` for the second and so on.
    func expand(_ input: some Sequence<UInt8>) -> String {
        var bytes: [UInt8] = []
        for octet in input {
            if (1...UInt8(texts.count)).contains(octet) {
                bytes += Array(texts[Int(octet) - 1].utf8)
            } else {
                bytes.append(octet)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// One header for each time.
    static var seeds: [String] {
        times.enumerated().map { index, time in "t=\(time),v1=" + String(UnicodeScalar(UInt8(index + 1))) }
    }

    /// True if a header has an acceptable code, next to its time.
    func hold(_ header: String) -> Bool {
        zip(Self.times, texts).prefix(3).contains { time, code in
            header.contains(code) && header.contains("\(time)")
        }
    }
}

extension Outcome {
    /// A receiver's outcome for a delivery that it got twice.
    static func of<Value>(
        _ first: Result<Value, DeliveryError>,
        _ second: Result<Value, DeliveryError>
    ) throws(Violation) -> Outcome {
        switch (first, second) {
        case (.success, .success): return .accepted
        case (.failure(let first), .failure(let second)):
            try promise(first.description == second.description, "the same delivery fails in two ways")
            try promise(!first.description.contains(Corpus.canary), "an error shows what was read")
            return .refused
        default: throw Violation("the same delivery is accepted once and refused once")
        }
    }
}

enum StripeHeaderFuzzing {
    private static let secret = "whsec_fuzzing_0123456789abcdef"
    private static let codes = Codes(
        secret: secret,
        body:
            #"{"id":"evt_1","object":"event","type":"customer.created","created":1772366400,"livemode":true,"api_version":"2026-10-28.endive","data":{"object":{"id":"cus_1","object":"customer"}}}"#
    )
    private static let adapter = try? StripeAdapter(.init(signingSecrets: [SecretBytes(secret)]))

    static func run(_ input: [UInt8], _ meter: inout Meter) throws(Violation) -> Outcome {
        guard let adapter else { throw Violation("no adapter") }
        let header = codes.expand(input)
        let delivery = Delivery(
            headers: ["Stripe-Signature": header],
            body: codes.body,
            receivedAt: Date(millisecondsSince1970: Codes.now * 1000)
        )
        let results = [0, 1].map { _ -> Result<Authenticated<StripeNotification>, DeliveryError> in
            meter { Result { () throws(DeliveryError) in try adapter.authenticate(delivery) } }
        }
        let outcome = try Outcome.of(results[0], results[1])
        if outcome == .accepted { try promise(codes.hold(header), "a code that was never made is accepted") }
        return outcome
    }

    static func seeds() -> [[UInt8]] {
        let now = Codes.now
        var headers = Corpus.headers(.stripe, "Stripe-Signature") + Codes.seeds
        headers += ["t=\(now), v1=0,v1=\u{1},v0=\u{2}", "v1=\u{1},t=\(now)", "t=\(now),t=\(now),v1=\u{1}"]
        headers += ["t=+\(now),v1=\u{1}", "t=\(now),v1=\(Corpus.canary)", "t=\(Corpus.canary),v1=\u{1}"]
        return headers.map { Array($0.utf8) }
    }
}

enum RevenueCatHeaderFuzzing {
    private static let secret = "rc_whsec_fuzzing_0123456789"
    private static let authorization = "Bearer fuzzing"
    private static let codes = Codes(
        secret: secret,
        body: #"{"api_version":"1.0","event":{"id":"E-1","type":"TEST","event_timestamp_ms":1772366400000}}"#
    )
    private static let adapters: (both: RevenueCatAdapter, signature: RevenueCatAdapter)? = {
        guard
            let both = try? RevenueCatAdapter(
                .init(authorizations: [SecretBytes(authorization)], signingSecrets: [SecretBytes(secret)])
            ), let signature = try? RevenueCatAdapter(.init(signingSecrets: [SecretBytes(secret)]))
        else { return nil }
        return (both, signature)
    }()

    static func run(_ input: [UInt8], _ meter: inout Meter) throws(Violation) -> Outcome {
        guard let adapters else { throw Violation("no adapter") }
        let lines = input.split(separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
        let header = codes.expand(lines.count > 1 ? lines[1] : [])
        let value = String(decoding: lines[0], as: UTF8.self)
        let delivery = Delivery(
            headers: ["Authorization": value, "X-RevenueCat-Webhook-Signature": header],
            body: codes.body,
            receivedAt: Date(millisecondsSince1970: Codes.now * 1000)
        )
        var outcomes: [Outcome] = []
        for adapter in [adapters.both, adapters.signature] {
            let results = [0, 1].map { _ -> Result<Authenticated<RevenueCatNotification>, DeliveryError> in
                meter { Result { () throws(DeliveryError) in try adapter.authenticate(delivery) } }
            }
            outcomes.append(try Outcome.of(results[0], results[1]))
        }
        if outcomes[1] == .accepted { try promise(codes.hold(header), "a code that was never made is accepted") }
        if outcomes[0] == .accepted {
            try promise(outcomes[1] == .accepted, "a signature counts only without the other credential")
            try promise(value.utf8.elementsEqual(authorization.utf8), "a value that is not configured is accepted")
        }
        return outcomes[1]
    }

    static func seeds() -> [[UInt8]] {
        var lines = Corpus.vectors(.revenuecat).map { vector in
            ["Authorization", "X-RevenueCat-Webhook-Signature"]
                .map { vector.headers.values($0).first ?? "" }.joined(separator: "\n")
        }
        lines += Codes.seeds.map { "\(authorization)\n\($0)" }
        lines.append("\(Corpus.canary)\nt=\(Corpus.canary),v1=\u{1}")
        return lines.map { Array($0.utf8) }
    }
}
