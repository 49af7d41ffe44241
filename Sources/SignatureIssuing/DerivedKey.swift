import CLifecycleOpenSSL
import SignatureCore
import Synchronization

/// A private key of libcrypto that was derived from a seed.
final class DerivedKey: Sendable {
    let object: Owned<KeyObject>

    private struct Name: Hashable {
        let algorithm: SigningKey.Algorithm
        let seed: Seed
        let label: String
    }

    /// A simulator derives the same few keys each time that it is made, and an RSA key takes longer than most of what is done with it.
    private static let known = Mutex<[Name: DerivedKey]>([:])
    private static let mostKnown = 256

    /// The key of this name, derived anew unless it is known.
    static func of(
        _ algorithm: SigningKey.Algorithm,
        _ seed: Seed,
        label: String
    ) throws(SignatureError) -> DerivedKey {
        let name = Name(algorithm: algorithm, seed: seed, label: label)
        if let key = known.withLock({ $0[name] }) { return key }
        let key = try DerivedKey(name)
        known.withLock { known in
            if known.count >= mostKnown { known.removeAll() }
            known[name] = key
        }
        return key
    }

    private init(_ name: Name) throws(SignatureError) {
        // Few RSA keys need the most, and to lay out so many octets takes ten times as long as the key. Each attempt draws the
        // same ones from the start, so the key does not depend on the count.
        var count = 4096
        while true {
            do throws(SignatureError) {
                object = try Self.generate(name, octets: count)
                return
            } catch {
                guard count < Self.mostOctets else { throw error }
                count *= 8
            }
        }
    }

    private static let mostOctets = 1 << 21

    private static func generate(_ name: Name, octets: Int) throws(SignatureError) -> Owned<KeyObject> {
        let (type, parameters) = name.algorithm.generation
        // Both encodings of a P-256 key get the same point, for attacks that swap one for the other.
        let kind = name.algorithm == .p256ExplicitParameters ? SigningKey.Algorithm.p256 : name.algorithm
        let purpose = "key \(kind) \(name.label)"
        return try DeterministicLibrary.withEntropy(from: name.seed, for: purpose, count: octets) {
            (library) throws(SignatureError) -> Owned<KeyObject> in
            let context = try unsafe Owned<KeyContextObject>(
                EVP_PKEY_CTX_new_from_name(library.pointer, type, nil),
                "libcrypto offers no \(type)"
            )
            guard unsafe EVP_PKEY_keygen_init(context.pointer) == 1 else {
                throw .openSSL(.internalFailure, "\(type) key generation not started")
            }
            let parameters = Parameters(parameters)
            guard unsafe EVP_PKEY_CTX_set_params(context.pointer, parameters.pointer) == 1 else {
                throw .openSSL(.internalFailure, "\(type) parameters not set")
            }
            var key: OpaquePointer? = nil
            guard unsafe EVP_PKEY_generate(context.pointer, &key) == 1 else {
                throw .openSSL(.internalFailure, "\(type) key not generated")
            }
            return try unsafe Owned(key, "\(type) key not generated")
        }
    }
}

extension SigningKey.Algorithm {
    /// libcrypto's name of the type, and its parameters.
    fileprivate var generation: (type: String, parameters: KeyValuePairs<String, Parameters.Value>) {
        switch self {
        case .p256: ("EC", [OSSL_PKEY_PARAM_GROUP_NAME: .text("prime256v1")])
        case .p256ExplicitParameters:
            (
                "EC",
                [
                    OSSL_PKEY_PARAM_GROUP_NAME: .text("prime256v1"),
                    OSSL_PKEY_PARAM_EC_ENCODING: .text("explicit"),
                ]
            )
        case .p384: ("EC", [OSSL_PKEY_PARAM_GROUP_NAME: .text("secp384r1")])
        case .secp256k1: ("EC", [OSSL_PKEY_PARAM_GROUP_NAME: .text("secp256k1")])
        case .brainpoolP256r1: ("EC", [OSSL_PKEY_PARAM_GROUP_NAME: .text("brainpoolP256r1")])
        case .rsa1024: ("RSA", [OSSL_PKEY_PARAM_RSA_BITS: .number(1024)])
        case .rsa2048: ("RSA", [OSSL_PKEY_PARAM_RSA_BITS: .number(2048)])
        case .ed25519: ("ED25519", [:])
        }
    }
}
