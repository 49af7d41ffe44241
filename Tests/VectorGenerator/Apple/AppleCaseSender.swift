import ConformanceVectors
import NotificationSimulator
import SignatureCore
import SignatureIssuing
import WireJSON

/// A JWS of Apple's around a payload, in the body that its kind comes in.
///
/// `send` may have `by`, the name of the signer, `apple` by default; `as`, the member of the body; `around`, the body with
/// `{jws}` in it; `wrap`: false if nothing is put around the body. Within a body `{"signed":V,"by":N}` is the JWS of an object;
/// with `over`, its signature covers that object instead.
struct AppleCaseSender: CaseSender {
    /// The header of a JWS, and the key; without a key the signature is made up.
    private struct Signer {
        var header: [UInt8]
        var key: SigningKey?
    }

    private let signers: [String: Signer]
    /// Certificates in base64, by the words of the configuration.
    private let certificates: [String: String]

    init() throws {
        let apple = try AppleSimulator(seed: "vectors").certificates
        let impostor = try AppleSimulator(seed: "impostor").certificates
        // Both ends of a validity are included.
        func tenDays(_ template: inout CertificateTemplate) {
            template.notBefore = AppleVectorWorld.start
            template.notAfter = AppleVectorWorld.start + 10 * AppleVectorWorld.day
        }
        let root = apple.root
        let shortLeaf = try AppleCertificates.makeLeaf(
            under: apple.intermediate,
            key: apple.leafKey,
            adjust: tenDays
        )
        let shortIntermediate = try AppleCertificates.makeIntermediate(
            under: root,
            key: apple.intermediate.key,
            adjust: tenDays
        )
        let underShort = try AppleCertificates.makeLeaf(under: shortIntermediate, key: apple.leafKey)
        let shortRoot = try AppleCertificates.makeRoot(key: root.key, adjust: tenDays)
        func signer(_ certificates: [[UInt8]], _ key: SigningKey) -> Signer {
            Signer(header: JWSIssuer.header(algorithm: "ES256", certificates: certificates), key: key)
        }
        signers = [
            "apple": signer(apple.x5c, apple.leafKey), "impostor": signer(impostor.x5c, impostor.leafKey),
            "short-leaf": signer([shortLeaf, apple.intermediate.certificate, root.certificate], apple.leafKey),
            "short-intermediate": signer([underShort, shortIntermediate.certificate, root.certificate], apple.leafKey),
            "xcode": Signer(header: Array(#"{"alg":"ES256","kid":"Apple_Xcode_Key","typ":"JWT","x5c":["AAAA"]}"#.utf8)),
            "nobody": Signer(header: Array(#"{"alg":"none"}"#.utf8)),
        ]
        certificates = [
            "root": base64(root.certificate), "root.short": base64(shortRoot.certificate), "leaf": base64(apple.leaf),
            "intermediate": base64(apple.intermediate.certificate),
        ]
    }

    func send(_ delivery: CaseDelivery) throws -> (headers: JSONMembers, body: [UInt8]) {
        var octets = delivery.body.octets
        if case .object(let text) = delivery.body { octets = try signed(text).bytes }
        if !delivery.isBare {
            let jws = try self.jws(octets, by: delivery.manner("by"))
            let kind = try delivery.config["kind"].map { try JSONDocument(parsing: $0.bytes).root.string() }
            let member = try delivery.manner("as") ?? (["notification", nil].contains(kind) ? "signedPayload" : "jws")
            octets = Array(
                (try delivery.manner("around") ?? "{\"\(member)\":\"{jws}\"}").replacing("{jws}", with: jws).utf8
            )
        }
        return (JSONMembers([("Content-Type", "application/json")]), octets)
    }

    func word(_ name: String, in text: String, of delivery: CaseDelivery) -> JSONText? {
        certificates[name].map { .string($0) }
    }

    /// The same, with every `signed` object replaced by its JWS.
    private func signed(_ text: JSONText) throws -> JSONText {
        switch text {
        case .array(let elements): return .array(try elements.map(signed))
        case .object(let members):
            guard let payload = members["signed"] else {
                return .object(JSONMembers(try members.map { ($0.name, try signed($0.value)) }))
            }
            let name = try members["by"].map { try JSONDocument(parsing: $0.bytes).root.string() }
            let jws = try self.jws(signed(payload).bytes, by: name)
            guard let other = try members["over"].map({ try self.jws(signed($0).bytes, by: name) }) else {
                return .string(jws)
            }
            let parts = jws.split(separator: ".").dropLast() + other.split(separator: ".").suffix(1)
            return .string(parts.joined(separator: "."))
        default: return text
        }
    }

    private func jws(_ payload: [UInt8], by name: String?) throws -> String {
        guard let signer = signers[name ?? "apple"] else { throw VectorError("\(name ?? ""): no such signer") }
        if let key = signer.key {
            return String(
                decoding: try JWSIssuer.es256(header: signer.header, payload: payload, key: key),
                as: UTF8.self
            )
        }
        return [signer.header, payload].map { String(decoding: Base64URL.encode($0.span), as: UTF8.self) }
            .joined(separator: ".") + (name == "xcode" ? ".AQ" : ".AA")
    }
}
