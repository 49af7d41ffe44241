import RawOpenSSL

/// Raw signatures over messages of given lengths.
final class RawFloor: @unchecked Sendable {
    // Written once; verification only reads them.
    private let signatures: [OpaquePointer]

    /// P-256 signatures.
    init(lengths: [Int]) throws {
        signatures = try lengths.map {
            guard let signature = raw_signature_new($0) else { throw BenchmarkError("libcrypto made no signature") }
            return signature
        }
    }

    /// An RSA signature of 2048 bits.
    init(rsaLength: Int) throws {
        guard let signature = raw_rsa_signature_new(rsaLength) else {
            throw BenchmarkError("libcrypto made no signature")
        }
        signatures = [signature]
    }

    func verify() throws {
        for signature in signatures where raw_signature_verify(signature) != 1 {
            throw BenchmarkError("a raw signature does not hold")
        }
    }

    static func hmac(_ octets: [UInt8]) throws {
        guard raw_hmac(octets, octets.count) == 1 else { throw BenchmarkError("no MAC") }
    }

    static func sha256(_ octets: [UInt8]) throws {
        guard raw_sha256(octets, octets.count) == 1 else { throw BenchmarkError("no digest") }
    }

    deinit {
        for signature in signatures { raw_signature_free(signature) }
    }
}
