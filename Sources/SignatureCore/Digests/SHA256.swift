import CLifecycleOpenSSL

/// A SHA-256 computation over octets that come in pieces.
package struct SHA256: ~Copyable {
    private let context: Owned<DigestContextObject>

    package init() {
        do throws(SignatureError) {
            context = try unsafe Owned(EVP_MD_CTX_new(), "no digest context")
        } catch {
            // As in `require(_:)`: no input can cause it.
            preconditionFailure(error.description)
        }
        let started = unsafe EVP_DigestInit_ex2(context.pointer, Self.algorithm.object.pointer, nil)
        Self.require(started)
    }

    package mutating func update(_ bytes: Span<UInt8>) {
        let updated = unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe EVP_DigestUpdate(context.pointer, bytes.baseAddress, bytes.count)
        }
        Self.require(updated)
    }

    package consuming func finalize() -> Digest {
        var octets = InlineArray<32, UInt8>(repeating: 0)
        var span = octets.mutableSpan
        let finished = unsafe span.withUnsafeMutableBufferPointer { buffer in
            unsafe EVP_DigestFinal_ex(context.pointer, buffer.baseAddress, nil)
        }
        Self.require(finished)
        return Digest(octets)
    }

    /// The digest of octets that are at hand in one piece.
    package static func hash(_ bytes: Span<UInt8>) -> Digest {
        var octets = InlineArray<32, UInt8>(repeating: 0)
        var span = octets.mutableSpan
        let hashed = unsafe span.withUnsafeMutableBufferPointer { buffer in
            unsafe bytes.withUnsafeBufferPointer { bytes in
                unsafe EVP_Digest(
                    bytes.baseAddress,
                    bytes.count,
                    buffer.baseAddress,
                    nil,
                    algorithm.object.pointer,
                    nil
                )
            }
        }
        require(hashed)
        return Digest(octets)
    }

    /// Fetched once, because every implicit fetch takes a lock that all threads share.
    static let algorithm: DigestAlgorithm = {
        do throws(SignatureError) {
            return try DigestAlgorithm(named: "SHA256")
        } catch {
            // As in `require(_:)`: no input can cause it.
            preconditionFailure(error.description)
        }
    }()

    /// Hashing fails only where libcrypto has no SHA-256 or no memory; input cannot cause it.
    private static func require(_ result: CInt) {
        precondition(result == 1, "libcrypto did not compute SHA-256")
    }
}

/// A digest algorithm of libcrypto, looked up by name once.
package final class DigestAlgorithm: Sendable {
    let object: Owned<DigestObject>

    init(named name: String) throws(SignatureError) {
        object = try unsafe Owned(EVP_MD_fetch(nil, name, nil), "libcrypto offers no \(name)")
    }
}
