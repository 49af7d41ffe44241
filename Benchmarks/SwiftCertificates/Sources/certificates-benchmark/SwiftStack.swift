import Crypto
import Foundation
import JWTKit
import SwiftASN1
@_spi(FixedExpiryValidationTime) import X509

/// The way of Apple's own library for Swift, built from what it is built from: the header and payload are decoded by
/// `JSONDecoder`, the chain is validated by swift-certificates for the time of signing, and JWTKit verifies the signature
/// with the leaf's key. A validated chain can be remembered by its certificates. Revocation is not checked.
struct SwiftStack {
    private struct Header: Decodable {
        var alg: String
        var x5c: [String]
    }

    private struct Chain: Hashable {
        var leaf: Certificate
        var intermediate: Certificate
    }

    private actor Cache {
        private var keys: [Chain: Certificate.PublicKey] = [:]

        func key(of chain: Chain) -> Certificate.PublicKey? { keys[chain] }
        func remember(_ key: Certificate.PublicKey, of chain: Chain) { keys[chain] = key }
    }

    /// The payload that JWTKit decodes while it verifies.
    private struct Nothing: JWTPayload {
        func verify(using algorithm: some JWTAlgorithm) {}
    }

    private let roots: CertificateStore
    private let cache: Cache?

    init(root: [UInt8], remembersChains: Bool) throws {
        roots = CertificateStore([try Certificate(derEncoded: root)])
        cache = remembersChains ? Cache() : nil
    }

    /// The notification with its transaction and renewal info, each verified.
    func verify(_ body: Data) async throws {
        let envelope = try JSONDecoder().decode(Envelope.self, from: body)
        let data = try await verified(envelope.signedPayload, as: NotificationPayload.self).data
        guard let transaction = data?.signedTransactionInfo, let renewal = data?.signedRenewalInfo else {
            throw Failure("the notification has no transaction or no renewal info")
        }
        _ = try await verified(transaction, as: TransactionPayload.self)
        _ = try await verified(renewal, as: RenewalInfoPayload.self)
    }

    private func verified<Payload: SignedPayload>(_ jws: String, as: Payload.Type) async throws -> Payload {
        let segments = jws.components(separatedBy: ".")
        guard segments.count == 3, let headerData = Data(base64URL: segments[0]),
            let payloadData = Data(base64URL: segments[1])
        else { throw Failure("no JWS") }
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .millisecondsSince1970
        let header = try decoder.decode(Header.self, from: headerData)
        let payload = try decoder.decode(Payload.self, from: payloadData)
        guard header.alg == "ES256", header.x5c.count == 3 else { throw Failure("another header") }
        let certificates = try header.x5c.prefix(2).map { text in
            guard let der = Data(base64Encoded: text) else { throw Failure("no certificate") }
            return try Certificate(derEncoded: Array(der))
        }
        let chain = Chain(leaf: certificates[0], intermediate: certificates[1])
        let key = try await key(of: chain, at: payload.signedDate)
        guard let key = P256.Signing.PublicKey(key) else { throw Failure("another kind of key") }
        let keys = JWTKeyCollection()
        await keys.add(ecdsa: try ES256PublicKey(backing: key))
        _ = try await keys.verify(jws, as: Nothing.self)
        return payload
    }

    private func key(of chain: Chain, at time: Date) async throws -> Certificate.PublicKey {
        if let key = await cache?.key(of: chain) { return key }
        var verifier = Verifier(rootCertificates: roots) {
            RFC5280Policy(fixedExpiryValidationTime: time)
            AppStoreMarkers()
        }
        let result = await verifier.validate(
            leaf: chain.leaf,
            intermediates: CertificateStore([chain.intermediate])
        )
        guard case .validCertificate(let path) = result, let leaf = path.first else { throw Failure("no valid chain") }
        await cache?.remember(leaf.publicKey, of: chain)
        return leaf.publicKey
    }
}

/// That the certificates are ones for signing receipts.
private struct AppStoreMarkers: VerifierPolicy {
    let verifyingCriticalExtensions: [ASN1ObjectIdentifier] = []
    private let leaf: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 11, 1]
    private let intermediate: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 2, 1]

    func chainMeetsPolicyRequirements(chain: UnverifiedCertificateChain) async -> PolicyEvaluationResult {
        guard chain.count == 3, chain[0].extensions[oid: leaf] != nil,
            chain[1].extensions[oid: intermediate] != nil
        else { return .failsToMeetPolicy(reason: "not a chain for signing receipts") }
        return .meetsPolicy
    }
}

struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

extension Data {
    fileprivate init?(base64URL text: String) {
        var base64 = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        base64 += String(repeating: "=", count: (4 - base64.count % 4) % 4)
        self.init(base64Encoded: base64)
    }
}
