import CLifecycleOpenSSL
package import SignatureCore

/// A private key derived from a seed, for simulated providers and hostile tests. Never for anything real.
package final class SigningKey: Sendable {
    package enum Algorithm: Sendable, Hashable, CaseIterable {
        case p256
        /// P-256 whose parameters are spelled out instead of named.
        case p256ExplicitParameters
        case p384
        case secp256k1
        case brainpoolP256r1
        case rsa1024
        case rsa2048
        case ed25519
    }

    package let algorithm: Algorithm
    let seed: Seed
    private let key: DerivedKey
    private let label: String

    /// - Parameter label: distinguishes the keys of one seed.
    package init(_ algorithm: Algorithm, seed: Seed, label: String) throws(SignatureError) {
        self.algorithm = algorithm
        self.seed = seed
        self.label = label
        key = try DerivedKey.of(algorithm, seed, label: label)
    }

    /// Valid as long as this key lives.
    var pointer: OpaquePointer { unsafe key.object.pointer }

    /// r‖s over the SHA-256 of the message (RFC 7518 §3.4).
    package func es256(_ message: [UInt8]) throws(SignatureError) -> [UInt8] {
        try ECDSASignature.joined(der: signature(over: message))
    }

    /// A PKCS #1 v1.5 signature over the SHA-256 of the message (RFC 7518 §3.3).
    package func rs256(_ message: [UInt8]) throws(SignatureError) -> [UInt8] {
        try signature(over: message)
    }

    /// libcrypto's default signature, over SHA-256: DER for EC keys.
    package func signature(over message: [UInt8]) throws(SignatureError) -> [UInt8] {
        let purpose = "signature \(label) \(SHA256.hash(message.span).hexadecimal)"
        return try DeterministicLibrary.withEntropy(from: seed, for: purpose) {
            (library) throws(SignatureError) in
            try unsafe key.object.signature(over: message.span, in: library.pointer)
        }
    }

    /// The encoded SubjectPublicKeyInfo.
    package func publicKeyInfo() throws(SignatureError) -> [UInt8] {
        let key = unsafe pointer
        return try unsafe encoded("public key") { unsafe i2d_PUBKEY(key, $0) }
    }

    /// The uncompressed point of an EC key.
    package func uncompressedPoint() throws(SignatureError) -> [UInt8] {
        var point = [UInt8](repeating: 0, count: 256)
        var count = 0
        var span = point.mutableSpan
        let key = unsafe pointer
        let found = unsafe span.withUnsafeMutableBufferPointer { buffer in
            unsafe EVP_PKEY_get_octet_string_param(
                key,
                OSSL_PKEY_PARAM_PUB_KEY,
                buffer.baseAddress,
                buffer.count,
                &count
            )
        }
        guard found == 1, count <= point.count else { throw .openSSL(.key, "key has no point") }
        return Array(point.prefix(count))
    }

    /// Modulus and exponent of an RSA key, most significant octet first.
    package func modulusAndExponent() throws(SignatureError) -> (modulus: [UInt8], exponent: [UInt8]) {
        (try integer(OSSL_PKEY_PARAM_RSA_N), try integer(OSSL_PKEY_PARAM_RSA_E))
    }

    /// The private key as stores hand it out: PKCS #8 in PEM.
    package func privatePEM() throws(SignatureError) -> [UInt8] {
        let key = unsafe pointer
        return try unsafe text { unsafe PEM_write_bio_PKCS8PrivateKey($0, key, nil, nil, 0, nil, nil) }
    }

    package func publicPEM() throws(SignatureError) -> [UInt8] {
        let key = unsafe pointer
        return try unsafe text { unsafe PEM_write_bio_PUBKEY($0, key) }
    }

    private func integer(_ name: String) throws(SignatureError) -> [UInt8] {
        var number: OpaquePointer? = nil
        guard unsafe EVP_PKEY_get_bn_param(pointer, name, &number) == 1 else {
            throw .openSSL(.key, "key has no \(name)")
        }
        let owned = try unsafe Owned<BigNumberObject>(number, "key has no \(name)")
        var octets = [UInt8](repeating: 0, count: Int((unsafe BN_num_bits(owned.pointer) + 7) / 8))
        var span = octets.mutableSpan
        let written = unsafe span.withUnsafeMutableBufferPointer { unsafe BN_bn2bin(owned.pointer, $0.baseAddress) }
        guard Int(written) == octets.count else { throw .openSSL(.internalFailure, "\(name) not written") }
        return octets
    }

    private func text(_ write: (OpaquePointer) -> CInt) throws(SignatureError) -> [UInt8] {
        let file = try unsafe Owned<BasicIOObject>(BIO_new(BIO_s_mem()), "no memory file")
        guard unsafe write(file.pointer) == 1 else { throw .openSSL(.internalFailure, "key not written") }
        var start: UnsafeMutablePointer<CChar>? = nil
        let count = unsafe lifecycle_BIO_get_mem_data(file.pointer, &start)
        return unsafe UnsafeBufferPointer(start: start, count: max(count, 0)).map { UInt8(bitPattern: $0) }
    }
}
