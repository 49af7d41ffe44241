import FoundationEssentials
import JSONWebSignature
import LifecycleEvents
import SignatureCore
import WireJSON

/// The payload of a JWS whose chain and signature hold.
struct VerifiedPayload {
    let bytes: [UInt8]
    let document: JSONDocument
    let receivedAt: Date
    let evidence: Origin.Evidence
    /// True if Apple signed it for this receiver, so that a later failure is worth keeping.
    let isAuthentic: Bool

    /// A JWS inside the payload.
    func nested(_ range: Range<Int>) -> ReceivedJWS { ReceivedJWS(bytes, range, at: receivedAt) }
}

/// The verification of each of Apple's JWS, outer and nested alike.
///
/// The order is: size, shape, pinned algorithm, certificates, signature, and only then content. The chain is judged
/// without a date first; the date comes out of the payload once the signature holds, and is then held against the
/// validity of the three certificates. So nothing unproven chooses a time, a key or a branch.
struct SignedDataVerification: Sendable {
    private static let leafMarker = "1.2.840.113635.100.6.11.1"
    private static let intermediateMarker = "1.2.840.113635.100.6.2.1"

    let isSigned: Bool
    private let chains: ChainVerification
    let cache: ChainCache
    private let certificateTime: AppleAdapter.Configuration.CertificateTime
    private let futureSkew: Int64
    /// In milliseconds; nil for any age.
    var maximumAge: Int64?
    var revocation: RevocationJudgement

    init(_ configuration: AppleAdapter.Configuration) throws(ConfigurationError) {
        isSigned = configuration.environments.contains(where: \.isSigned)
        do throws(SignatureError) {
            chains = try ChainVerification(
                trustAnchors: configuration.trustAnchors.anchors,
                requiredLeafExtension: Self.leafMarker,
                requiredIntermediateExtension: Self.intermediateMarker
            )
        } catch {
            throw ConfigurationError("certificate verification: \(error.message)")
        }
        cache = ChainCache(capacity: configuration.chainCacheCapacity)
        certificateTime = configuration.certificateTime
        futureSkew = configuration.maximumFutureSkew.wholeMilliseconds
        maximumAge = configuration.maximumAge?.wholeMilliseconds
        revocation = RevocationJudgement(revocation: configuration.revocation)
    }

    /// - Parameters:
    ///   - dateMember: the payload's member with the time of signing.
    ///   - role: the name of the JWS, for messages.
    ///   - recognize: decides if a payload with a valid signature is for this receiver; throws for payloads that the receiver does
    ///     not take.
    func verify(
        _ received: ReceivedJWS,
        dateMember: MemberName,
        role: StaticString,
        recognize: (JSONValue) throws(DeliveryError) -> Bool
    ) throws(DeliveryError) -> VerifiedPayload {
        let payload: [UInt8]
        let chain: ValidatedChain?
        do throws(SignatureError) {
            let jws = try CompactJWS(received.bytes, in: received.range)
            if isSigned {
                let known = cache.chain(for: jws.headerSegment)
                let validated: ValidatedChain
                if let known { validated = known } else { validated = try self.chain(of: jws) }
                payload = try jws.payload(verifiedBy: validated.leafKey)
                // Only a header that Apple's key signed is remembered: anyone can add a member to a genuine chain's
                // header.
                if known == nil { cache.insert(validated, for: jws.headerSegment) }
                chain = validated
            } else {
                // Configured for Xcode or unit tests, whose data no root vouches for.
                payload = try Base64URL.decode(received.bytes, jws.payloadRange)
                chain = nil
            }
        } catch {
            throw DeliveryError(error.kind.code, "\(role): \(error.message)", underlying: error)
        }
        return try open(
            payload,
            dateMember: dateMember,
            receivedAt: received.receivedAt,
            chain: chain,
            role: role,
            recognize: recognize
        )
    }

    private func chain(of jws: CompactJWS) throws(SignatureError) -> ValidatedChain {
        let header = try JWSProtectedHeader(
            reading: try jws.header(),
            algorithm: .es256,
            certificates: .required(count: 3)
        )
        return try chains.verify(header.certificates, at: nil)
    }

    private func open(
        _ payload: [UInt8],
        dateMember: MemberName,
        receivedAt: Date,
        chain: ValidatedChain?,
        role: StaticString,
        recognize: (JSONValue) throws(DeliveryError) -> Bool
    ) throws(DeliveryError) -> VerifiedPayload {
        let document: JSONDocument
        do throws(JSONError) {
            document = try JSONDocument(parsing: payload)
        } catch {
            throw DeliveryError(.malformed, "\(role): \(error)", underlying: error)
        }
        let isAuthentic = try recognize(document.root) && isSigned
        let signedDate: Int64
        do throws(JSONError) {
            let reader = try ObjectReader(document.root)
            signedDate = try reader.date(dateMember, isSigned: isSigned)
        } catch {
            throw DeliveryError(.malformed, "\(role): \(error)", isAuthentic: isAuthentic, underlying: error)
        }
        let received = receivedAt.millisecondsSince1970
        let window = SignedTimeWindow(maximumAge: maximumAge, maximumSkew: futureSkew)
        let name = "\(role): \(dateMember.text)"
        try window.checkSkew(of: signedDate, receivedAt: received, named: name)
        if let chain, !chain.isValid(at: certificateTime == .receipt ? received : signedDate) {
            throw DeliveryError(.untrusted, "\(role): a certificate is expired or not yet valid")
        }
        try window.checkAge(of: signedDate, receivedAt: received, named: name, isAuthentic: isAuthentic)
        if let chain { try revocation.require(chain, receivedAt: receivedAt, role: role) }
        let evidence = chain.map { Origin.Evidence(.jwsX5C, key: $0.leafFingerprint) }
        return VerifiedPayload(
            bytes: payload,
            document: document,
            receivedAt: receivedAt,
            evidence: evidence ?? Origin.Evidence(.unchecked),
            isAuthentic: isAuthentic
        )
    }
}

extension SignatureError.Kind {
    var code: DeliveryError.Code {
        switch self {
        case .malformed, .header, .limit: .malformed
        case .algorithm, .signature: .unauthenticated
        case .certificate, .chain, .validity, .key: .untrusted
        case .internalFailure: .unavailable
        }
    }
}
