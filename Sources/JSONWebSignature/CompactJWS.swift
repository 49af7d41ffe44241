package import SignatureCore

/// A JWS in compact serialisation (RFC 7515 §7.1), found inside bytes that are not copied.
///
/// Its shape is checked when it is made. Its payload comes out only together with a key that verified it.
package struct CompactJWS: Sendable {
    /// The most characters that are read.
    package static let maximumCount = 256 * 1024

    private let bytes: [UInt8]
    /// Where the encoded protected header stands.
    package let headerRange: Range<Int>
    /// Where the encoded payload stands.
    package let payloadRange: Range<Int>
    /// Where the encoded signature stands.
    package let signatureRange: Range<Int>

    /// - Throws: `limit` above `maximumCount`; `malformed` unless there are three non-empty segments.
    package init(_ bytes: [UInt8], in range: Range<Int>) throws(SignatureError) {
        guard range.lowerBound >= 0, range.upperBound <= bytes.count else {
            throw SignatureError(.malformed, "range reaches outside \(bytes.count) octets")
        }
        guard range.count <= Self.maximumCount else {
            throw SignatureError(.limit, "JWS of \(range.count) characters is longer than \(Self.maximumCount)")
        }
        // Three are as many as it takes to refuse.
        var dots: [Int] = []
        var start = range.lowerBound
        while dots.count < 3,
            let next = bytes.span.extracting(start..<range.upperBound).firstIndex(of: UInt8(ascii: "."))
        {
            dots.append(start + next)
            start += next + 1
        }
        guard dots.count == 2, let first = dots.first, let second = dots.last else {
            throw SignatureError(
                .malformed,
                dots.count > 2 ? "JWS has more than 3 segments" : "JWS has \(dots.count + 1) segments, not 3"
            )
        }
        headerRange = range.lowerBound..<first
        payloadRange = first + 1..<second
        signatureRange = second + 1..<range.upperBound
        guard !headerRange.isEmpty, !payloadRange.isEmpty, !signatureRange.isEmpty else {
            throw SignatureError(.malformed, "JWS has an empty segment")
        }
        self.bytes = bytes
    }

    package init(_ bytes: [UInt8]) throws(SignatureError) {
        try self.init(bytes, in: bytes.indices)
    }

    /// The signed octets: the encoded header, the dot and the encoded payload, as received (RFC 7515 §5.2).
    package var signingInputRange: Range<Int> { headerRange.lowerBound..<payloadRange.upperBound }

    /// The encoded header, which all JWS of one signer share and a cache of chains can be keyed with.
    package var headerSegment: ArraySlice<UInt8> { bytes[headerRange] }

    /// The decoded protected header.
    package func header() throws(SignatureError) -> [UInt8] {
        try Base64URL.decode(bytes, headerRange)
    }

    /// The decoded signature.
    package func signature() throws(SignatureError) -> [UInt8] {
        try Base64URL.decode(bytes, signatureRange)
    }

    /// The payload of an ES256 signature that this key verifies.
    ///
    /// - Throws: `signature` if it does not hold; `malformed` if signature or payload are not base64url.
    package func payload(verifiedBy key: P256PublicKey) throws(SignatureError) -> [UInt8] {
        let signature = try signature()
        try key.verify(signature: signature.span, over: bytes.span.extracting(signingInputRange))
        return try Base64URL.decode(bytes, payloadRange)
    }

    /// The payload of an RS256 signature that this key verifies.
    ///
    /// - Throws: `signature` if it does not hold; `malformed` if signature or payload are not base64url.
    package func payload(verifiedBy key: RSAPublicKey) throws(SignatureError) -> [UInt8] {
        let signature = try signature()
        try key.verify(signature: signature.span, over: bytes.span.extracting(signingInputRange))
        return try Base64URL.decode(bytes, payloadRange)
    }
}
