import ConformanceVectors
import NotificationSimulator
import SignatureCore
import SignatureIssuing
import WireJSON

/// A JWS of Apple's around a payload, in the body that its kind comes in.
///
/// `Tests/Vectors/README.md` describes the members that `send` may have.
struct AppleCaseSender: CaseSender {
    let manners: Set = [
        "around", "as", "certificates", "compact", "head", "hmac", "key", "over", "signature", "wrap", "x5c",
    ]
    private let certificates: AppleCaseCertificates

    init() throws { certificates = try AppleCaseCertificates() }

    func send(_ delivery: CaseDelivery) throws -> (headers: JSONMembers, body: [UInt8]) {
        let signer = AppleCaseSigner(certificates: try certificates(of: delivery))
        var octets = delivery.body.octets
        if case .object(let text) = delivery.body { octets = try signer.signed(text).bytes }
        if !delivery.isBare {
            let jws = try signer.jws(octets, delivery.manner)
            let kind = try delivery.config["kind"]?.string()
            let member = try delivery.manner("as") ?? (["notification", nil].contains(kind) ? "signedPayload" : "jws")
            let around = delivery.manner["around"] ?? .object(JSONMembers([(member, "{jws}")]))
            octets = try around.filled { jws[$0] }.octets
        }
        return (JSONMembers([("Content-Type", "application/json")]), octets)
    }

    func word(_ name: String, in text: String, of delivery: CaseDelivery) throws -> JSONText? {
        try certificates(of: delivery).word(name)
    }

    private func certificates(of delivery: CaseDelivery) throws -> AppleCaseCertificates {
        try certificates.adding(delivery.manner["certificates"])
    }
}

/// Makes JWS as `send` says. Within a body `{"signed":V}` is the JWS of an object, with the same members beside it.
private struct AppleCaseSigner {
    let certificates: AppleCaseCertificates

    /// The same, with every `signed` object replaced by its JWS.
    func signed(_ text: JSONText) throws -> JSONText {
        switch text {
        case .array(let elements): return .array(try elements.map(signed))
        case .object(let members):
            guard let payload = members["signed"] else {
                return .object(JSONMembers(try members.map { ($0.name, try signed($0.value)) }))
            }
            let manner = JSONMembers(members.filter { $0.name != "signed" }.map { ($0.name, $0.value) })
            let known: Set = ["compact", "head", "hmac", "key", "over", "signature", "x5c"]
            if let other = manner.first(where: { !known.contains($0.name) }) {
                throw VectorError("\(other.name): not beside signed")
            }
            return try jws(signed(payload).bytes, manner)["jws"] ?? text
        default: return text
        }
    }

    /// The words of the JWS of a payload.
    func jws(_ payload: [UInt8], _ manner: JSONMembers) throws -> [String: JSONText] {
        let x5c = try (manner["x5c"] ?? ["{leaf}", "{intermediate}", "{root}"]).filled(certificates.word)
        let usual = JSONText.object(JSONMembers([("alg", "ES256"), ("x5c", x5c)]))
        let header = try (manner["head"] ?? usual).filled { name in
            try name == "x5c" ? x5c : certificates.word(name)
        }
        let input = Self.input(try header.octets, payload)
        let covered = try manner["over"].map { Self.input(usual.bytes, try signed($0).bytes) } ?? input
        let signature = try signature(over: covered, manner)
        var words = [String: JSONText](jws: [input, Base64URL.encode(signature.span)], named: "jws")
        if let compact = manner["compact"] { words["jws"] = try compact.filled { [words] in words[$0] } }
        return words
    }

    /// The octets that a signature covers.
    private static func input(_ header: [UInt8], _ payload: [UInt8]) -> [UInt8] {
        Array([Base64URL.encode(header.span), Base64URL.encode(payload.span)].joined(separator: ".".utf8))
    }

    private func signature(over input: [UInt8], _ manner: JSONMembers) throws -> [UInt8] {
        if let text = manner["hmac"] {
            let encoded = try text.filled(certificates.word).octets
            let secret = try Base64.decode(encoded.span)
            return try HMACSHA256(key: secret.span).authenticationCode(over: input.span).bytes
        }
        let key = try certificates.certificate(manner["key"]?.string() ?? "leaf").key
        guard let text = manner["signature"] else { return try key.es256(input) }
        let octets = try text.filled { name in
            switch name {
            case "r": .string(try key.es256(input).prefix(32).hexadecimal)
            case "s": .string(try key.es256(input).suffix(32).hexadecimal)
            default: nil
            }
        }
        return try [UInt8](hexadecimal: octets.string())
    }
}
