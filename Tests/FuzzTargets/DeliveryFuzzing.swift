import ConformanceVectors
import FoundationEssentials
import Normalizer
import ReceiverConfiguration
import SignatureCore
import Synchronization
import WireJSON

/// Edits of genuine deliveries. Signed again, they get past authentication and must not shake what stands behind it;
/// with one octet changed after signing, they must not get past it.
///
/// An input is the id of a vector, a line feed, a mode, and then edits of six octets each. Mode 0 signs again; any
/// other mode changes one octet of what is signed instead, and the edits say which.
enum DeliveryFuzzing {
    private static let groups = [
        "apple/mapping/", "apple/shapes/", "apple/uploads/", "google/", "revenuecat/", "stripe/",
    ]
    private static let vectors = Corpus.vectors.filter { vector in
        vector.expect == .accept && !vector.orReject && vector.body.count < 20_000
            && !vector.id.hasPrefix("google/oidc/")
            && groups.contains { vector.id.hasPrefix($0) }
    }
    private static let byID = Dictionary(vectors.enumerated().map { ($1.id, $0) }) { first, _ in first }
    /// Scalars by which a provider tells cases apart.
    private static let words: [Provider: [[UInt8]]] = Dictionary(
        grouping: vectors.map { vector in (vector.provider, SignedDelivery(vector)) },
        by: \.0
    ).mapValues { entries in
        let scalars = Set(entries.flatMap { $0.1.texts.flatMap { $0.scalars.filter { $0.count <= 40 } } })
        return scalars.sorted { $0.lexicographicallyPrecedes($1) }
    }

    static func run(_ input: [UInt8], _ meter: inout Meter) throws(Violation) -> Outcome {
        let end = input.firstIndex(of: UInt8(ascii: "\n")) ?? input.endIndex
        let name = input[..<end]
        let index =
            byID[String(decoding: name, as: UTF8.self)] ?? name.reduce(0) { ($0 &* 31 &+ Int($1)) & 0xFFFF }
            % vectors.count
        let rest = input[end...].dropFirst()
        let subject = Subject(index: index, vector: vectors[index])
        var genuine = SignedDelivery(subject.vector)
        guard rest.first ?? 0 == 0 else {
            return try subject.alter(genuine.delivery(), by: rest.dropFirst(), meter: &meter)
        }
        let edits = JSONEdit.list(rest.dropFirst())
        for edit in edits where !genuine.texts.isEmpty {
            edit.apply(to: &genuine.texts[edit.part % genuine.texts.count], words: words[subject.vector.provider] ?? [])
        }
        let results = try subject.receive(genuine.delivery(), answers: genuine.http, meter: &meter)
        guard case .success(let normalization) = results else {
            if case .failure(let error) = results {
                try promise(!edits.isEmpty, "a genuine delivery is refused: \(error)")
                // When Apple signed decides by which certificates it may have, and the date is one of the edits. So is the app: what
                // Apple signs for another one, or for none that can be read, is nothing that it sent us.
                let isOfAnother =
                    subject.vector.provider == .apple
                    && [.untrusted, .stale, .misdirected, .malformed].contains(error.code)
                // Nothing proves what an app uploads of Google Play's, or what Stripe is asked about.
                let isUpload = ["upload", "question"].contains(subject.kind)
                try promise(
                    error.isAuthentic != isUpload || error.code == .unavailable || isOfAnother,
                    "a signed delivery counts as forged: \(error)"
                )
            }
            return .refused
        }
        try Promises.check(normalization)
        return .accepted
    }

    static func seeds() -> [[UInt8]] {
        vectors.enumerated().flatMap { index, vector -> [[UInt8]] in
            let name = Array("\(vector.id)\n".utf8)
            let place = UInt8(truncatingIfNeeded: index &* 37)
            return [
                name + [0],
                name + [0, UInt8(index % 3), UInt8(index % 8), 0, place, 0, UInt8(truncatingIfNeeded: index)],
                name + [1, 0, place, place, 1],
            ]
        }
    }
}

/// A vector by its place in the list, under which its receiver is kept.
private struct Subject {
    private static let receivers = Mutex<[Int: any ConfiguredReceiver]>([:])

    let index: Int
    let vector: Vector

    var kind: String? { try? ObjectReader(vector.config).optionalString("kind") }

    /// Changes one octet of the proven part, without signing again.
    func alter(_ delivery: Delivery, by input: ArraySlice<UInt8>, meter: inout Meter) throws(Violation) -> Outcome {
        let octets = Array(input.prefix(5)) + [0, 0, 0, 0, 0]
        let place = Int(octets[0]) << 16 | Int(octets[1]) << 8 | Int(octets[2])
        let change = octets[3] == 0 ? 1 : octets[3]
        var altered = delivery
        // The connection proves a pulled message, and nothing proves an upload: there is no proof to alter.
        guard !["pull", "upload"].contains(kind) else { return .refused }
        if SignedDelivery.coversBody(vector) {
            guard !delivery.body.isEmpty else { return .refused }
            altered.body[place % delivery.body.count] ^= change
        } else {
            // A bearer's token does not cover the body, so it is the token that changes.
            var value = Array((delivery.headers.values("Authorization").first ?? "").utf8)
            guard !value.isEmpty else { return .refused }
            value[place % value.count] = value[place % value.count] ^ change & 0x7F
            let text = String(decoding: value, as: UTF8.self)
            guard text != delivery.headers.values("Authorization").first else { return .refused }
            // RFC 9110 §11.1: the scheme is compared without regard to case.
            guard
                text.lowercased().hasPrefix("bearer ") == false
                    || text.dropFirst(7) != delivery.headers.values("Authorization").first?.dropFirst(7)
            else { return .refused }
            altered.headers = ["Authorization": text]
        }
        let result = try receive(altered, answers: vector.http, meter: &meter)
        guard case .failure(let error) = result else {
            throw Violation("a delivery with one octet changed is accepted")
        }
        try promise(!error.isAuthentic, "an altered delivery counts as authentic: \(error)")
        return .refused
    }

    func receive(
        _ delivery: Delivery,
        answers: [RecordedAnswer]?,
        meter: inout Meter
    ) throws(Violation) -> Result<Normalization, DeliveryError> {
        let receiver = try sound("no receiver") { () -> any ConfiguredReceiver in try self.receiver(answers: answers) }
        let results = [0, 1].map { _ -> Result<Normalization, DeliveryError> in
            meter {
                CallingThread.result { () throws(DeliveryError) -> Normalization in
                    try await receiver.receive(delivery)
                }
            }
        }
        _ = try Outcome.of(results[0], results[1])
        if case .success(let first) = results[0], case .success(let second) = results[1] {
            try promise(first == second, "the same delivery gives other events")
        }
        return results[0]
    }

    /// Kept where nothing that an input changes goes into it.
    private func receiver(answers: [RecordedAnswer]?) throws -> any ConfiguredReceiver {
        if answers == nil, let kept = Self.receivers.withLock({ $0[index] }) { return kept }
        let receiver = try Receivers.receiver(
            for: vector.provider,
            config: vector.config,
            answers: answers.map(RecordedTransport.init)
        )
        if answers == nil { Self.receivers.withLock { $0[index] = receiver } }
        return receiver
    }
}

/// A delivery taken apart into the JSON texts in it, which can be put together and signed again.
struct SignedDelivery {
    private enum Layout {
        /// Notifications: `texts[0]` with these JWS inside, each given by its own text.
        case apple(member: String, nested: [[UInt8]])
        /// `texts[0]` in base64 inside a message that stays as it is.
        case google(envelope: JSONTree, data: [UInt8])
        case plain
    }

    private let vector: Vector
    private var layout: Layout = .plain
    /// The JSON texts: those of the delivery, then those of recorded answers.
    var texts: [JSONTree] = []
    private var ownTexts = 0
    /// Recorded answers that are no JSON, or were without a body, stay.
    private var answers: [Int] = []

    init(_ vector: Vector) {
        self.vector = vector
        switch vector.provider {
        case .apple: takeApartApple()
        case .google: takeApartGoogle()
        default: if let tree = JSONTree(vector.body) { texts = [tree] }
        }
        ownTexts = texts.count
        for (index, answer) in (vector.http ?? []).enumerated() {
            if let tree = JSONTree(answer.body) {
                texts.append(tree)
                answers.append(index)
            }
        }
    }

    private mutating func takeApartApple() {
        guard let body = JSONTree(vector.body) else { return }
        for member in ["signedPayload", "jws"] {
            guard let jws = body.strings(named: member).first, let payload = JWSFuzzing.payload(jws),
                let tree = JSONTree(payload)
            else { continue }
            texts = [tree]
            var nested: [[UInt8]] = []
            for name in ["signedTransactionInfo", "signedRenewalInfo", "signedAppTransactionInfo"] {
                for inner in tree.strings(named: name) {
                    guard let payload = JWSFuzzing.payload(inner), let inside = JSONTree(payload) else { continue }
                    nested.append(inner)
                    texts.append(inside)
                }
            }
            layout = .apple(member: member, nested: nested)
            return
        }
    }

    private mutating func takeApartGoogle() {
        guard let envelope = JSONTree(vector.body), let data = envelope.strings(named: "data").first,
            let decoded = try? Base64.decode(data.span), let tree = JSONTree(decoded)
        else {
            if let tree = JSONTree(vector.body) { texts = [tree] }
            return
        }
        texts = [tree]
        layout = .google(envelope: envelope, data: data)
    }

    /// True if the proof covers the body.
    static func coversBody(_ vector: Vector) -> Bool {
        switch vector.provider {
        case .google: false
        case .revenuecat: !vector.headers.values("X-RevenueCat-Webhook-Signature").isEmpty
        default: true
        }
    }

    /// Recorded answers as they are now.
    var http: [RecordedAnswer]? {
        guard var http = vector.http else { return nil }
        for (place, index) in answers.enumerated() {
            http[index] = http[index].with(body: texts[ownTexts + place].bytes)
        }
        return http
    }

    /// The delivery, signed.
    func delivery() -> Delivery {
        switch layout {
        case .apple(let member, let nested):
            var payload = texts[0]
            for (index, jws) in nested.enumerated() {
                payload.replace(Self.quoted(jws), by: Self.quoted(AppleWorld.sign(texts[index + 1].bytes)))
            }
            let body = Array("{\"\(member)\":".utf8) + Self.quoted(AppleWorld.sign(payload.bytes)) + Array("}".utf8)
            return Delivery(headers: vector.headers, body: body, receivedAt: vector.now)
        case .google(var envelope, let data):
            let bytes = texts[0].bytes
            envelope.replace(Self.quoted(data), by: Self.quoted(Base64.encode(bytes.span)))
            return Delivery(headers: vector.headers, body: envelope.bytes, receivedAt: vector.now)
        case .plain:
            let body = ownTexts > 0 ? texts[0].bytes : vector.body
            return Delivery(headers: headers(signing: body), body: body, receivedAt: vector.now)
        }
    }

    private func headers(signing body: [UInt8]) -> Delivery.Headers {
        let (header, member): (String, MemberName)
        switch vector.provider {
        case .stripe: (header, member) = ("Stripe-Signature", "secrets")
        case .revenuecat where Self.coversBody(vector):
            (header, member) = ("X-RevenueCat-Webhook-Signature", "hmacSecrets")
        default: return vector.headers
        }
        guard let config = try? ObjectReader(vector.config), let secret = try? config.value(member) else {
            return vector.headers
        }
        let secrets = (secret.kind == .string ? try? [secret.string()] : try? secret.strings()) ?? []
        guard let key = secrets.first.map({ Array($0.utf8) }) else { return vector.headers }
        let time = "\(vector.now.millisecondsSince1970 / 1000)"
        let signed = Array("\(time).".utf8) + body
        guard let code = try? HMACSHA256(key: key.span).authenticationCode(over: signed.span) else {
            return vector.headers
        }
        var headers = Delivery.Headers([(name: header, value: "t=\(time),v1=\(code.hexadecimal)")])
        for value in vector.headers.values("Authorization") { headers.add("Authorization", value) }
        return headers
    }

    private static func quoted(_ text: [UInt8]) -> [UInt8] { [UInt8(ascii: "\"")] + text + [UInt8(ascii: "\"")] }
}
