package import SignatureCore
package import WireJSON

/// The members of a JWS protected header (RFC 7515 §4) that decide how a signature is verified.
///
/// Keys and locations in it (`jwk`, `jku`, `x5u`) are not read: nothing a sender names is fetched or trusted.
package struct JWSProtectedHeader: Sendable {
    /// The algorithms that are verified (RFC 7518 §3.1). Which of them, the receiver says and never the header.
    package enum Algorithm: String, Sendable {
        case es256 = "ES256"
        case rs256 = "RS256"
    }

    /// The handling of `x5c` (RFC 7515 §4.1.6).
    package enum CertificateRule: Sendable, Hashable {
        case ignored
        /// Has to be there with this many entries.
        case required(count: Int)
    }

    package static let limits: JSONLimits = {
        var limits = JSONLimits()
        limits.maximumBytes = 128 * 1024
        limits.maximumDepth = 16
        limits.maximumNodes = 1024
        return limits
    }()

    /// The octets of `kid`, to be compared and never opened.
    package let keyID: [UInt8]?
    /// `typ`, if it is a string.
    package let type: String?
    /// The certificates of `x5c` in DER, in order; empty if they are ignored.
    package let certificates: [[UInt8]]

    /// Reads a decoded header.
    ///
    /// - Throws: `header` for anything but one strict JSON object, and for `crit` and `b64` whatever they say;
    ///   `algorithm` unless `alg` is exactly the pinned one; `certificate` for an `x5c` that breaks its rule.
    package init(
        reading bytes: [UInt8],
        algorithm: Algorithm,
        certificates rule: CertificateRule
    ) throws(SignatureError) {
        let members: JSONObject
        do throws(JSONError) {
            members = try JSONDocument(parsing: bytes, limits: Self.limits).root.object()
        } catch {
            throw SignatureError(.header, "JWS header: \(error.description)")
        }
        guard let named = members["alg"], named.isString(algorithm.rawValue) else {
            throw SignatureError(.algorithm, "JWS algorithm is not \(algorithm.rawValue)")
        }
        // An extension that has to be understood is one we do not understand (RFC 7515 §4.1.11, RFC 7797 §3).
        guard members["crit"] == nil, members["b64"] == nil else {
            throw SignatureError(.header, "JWS header asks for an extension")
        }
        if let identifier = members["kid"] {
            guard let octets = try? identifier.utf8() else {
                throw SignatureError(.header, "JWS key identifier is not a string")
            }
            keyID = octets
        } else {
            keyID = nil
        }
        type = try? members["typ"]?.string()
        switch rule {
        case .ignored: certificates = []
        case .required(let count): certificates = try Self.certificates(members["x5c"], count: count)
        }
    }

    private static func certificates(_ member: JSONValue?, count: Int) throws(SignatureError) -> [[UInt8]] {
        guard let entries = try? member?.array() else {
            throw SignatureError(.certificate, "x5c is not an array")
        }
        guard entries.count == count else {
            throw SignatureError(.certificate, "x5c has \(entries.count) entries, not \(count)")
        }
        var certificates: [[UInt8]] = []
        for entry in entries {
            guard let text = try? entry.utf8Slice() else {
                throw SignatureError(.certificate, "x5c entry is not a string")
            }
            guard !text.isEmpty, text.count <= (Certificate.maximumCount + 2) / 3 * 4 else {
                throw SignatureError(.certificate, "x5c entry of \(text.count) characters")
            }
            do throws(SignatureError) {
                certificates.append(try Base64.decode(text.span))
            } catch {
                throw SignatureError(.certificate, "x5c entry: \(error.message)")
            }
        }
        return certificates
    }
}
