import CLifecycleOpenSSL
import SignatureCore

/// A libcrypto context of its own, whose random source yields octets that we lay out for it.
///
/// libcrypto keeps a `TEST-RAND` generator for its known-answer tests. With it, key generation and ECDSA give the same
/// result for the same seed, and all cryptography stays in libcrypto. Nothing outside of this context is affected.
enum DeterministicLibrary {
    /// Never freed: keys refer to it for as long as the process lives.
    @safe
    struct Context: @unchecked Sendable {
        // libcrypto lets several threads share a context; its generators are one for each thread.
        let pointer: OpaquePointer
    }

    static let context: Result<Context, SignatureError> = Result { () throws(SignatureError) in
        guard let pointer = unsafe OSSL_LIB_CTX_new() else {
            throw .openSSL(.internalFailure, "no library context")
        }
        guard unsafe RAND_set_DRBG_type(pointer, "TEST-RAND", nil, nil, nil) == 1 else {
            throw .openSSL(.internalFailure, "no TEST-RAND")
        }
        return unsafe Context(pointer: pointer)
    }

    /// Runs one operation of libcrypto on octets that depend on seed and purpose alone.
    ///
    /// - Parameter count: at least as many octets as the operation draws; it fails when they run out.
    static func withEntropy<Value>(
        from seed: Seed,
        for purpose: String,
        count: Int = 4096,
        _ operation: (Context) throws(SignatureError) -> Value
    ) throws(SignatureError) -> Value where Value: ~Copyable {
        let context = try context.get()
        let entropy = Parameters([
            OSSL_RAND_PARAM_TEST_ENTROPY: .octets(seed.octets(for: purpose, count: count))
        ])
        // Generators are per thread, so another thread's operation cannot draw from these.
        try unsafe set(entropy, on: RAND_get0_public(context.pointer))
        try unsafe set(entropy, on: RAND_get0_private(context.pointer))
        return try operation(context)
    }

    private static func set(
        _ entropy: borrowing Parameters,
        on generator: OpaquePointer?
    ) throws(SignatureError) {
        guard let generator = unsafe generator,
            unsafe EVP_RAND_CTX_set_params(generator, entropy.pointer) == 1
        else {
            throw .openSSL(.internalFailure, "test entropy not set")
        }
    }
}

/// The seed of everything issued: the same seed gives the same keys, certificates and signatures.
package struct Seed: Sendable, Hashable {
    private let octets: [UInt8]

    package init(_ octets: [UInt8]) {
        self.octets = octets
    }

    package init(_ text: String) {
        self.init(Array(text.utf8))
    }

    /// As many octets as asked for: SHA-256 over seed, purpose and a running number.
    func octets(for purpose: String, count: Int) -> [UInt8] {
        var block = SHA256.hash(octets.span).bytes + SHA256.hash(purpose.utf8.span).bytes
        let digestCount = block.count
        block += [UInt8](repeating: 0, count: 8)
        var expanded: [UInt8] = []
        expanded.reserveCapacity(count + 32)
        var number: UInt64 = 0
        while expanded.count < count {
            for place in 0..<8 { block[digestCount + place] = UInt8(truncatingIfNeeded: number >> (8 * place)) }
            expanded += SHA256.hash(block.span).bytes
            number += 1
        }
        return expanded
    }
}
