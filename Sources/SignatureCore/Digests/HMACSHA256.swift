import CLifecycleOpenSSL
import Synchronization

/// HMAC with SHA-256 (RFC 2104) under one key, set up once and used from any thread.
package final class HMACSHA256: Sendable {
    private let keyed: Owned<MACContextObject>
    /// Contexts of computations that are finished, for the next ones to restart: a copy takes eleven pieces of
    /// memory. As many as there usually are threads that compute at once.
    private let spares = Mutex<InlineArray<8, Owned<MACContextObject>?>>(InlineArray { _ in nil })
    /// True if a finished context can be restarted. Providers of libcrypto before 3.0.3, which a later libcrypto may
    /// load, report that they restarted and did not (openssl/openssl#17811); there each computation has a copy.
    private let beginsAnew: Bool

    /// - Parameter beginsAnew: restarts a finished context; by default, if a trial has shown that it works.
    /// - Throws: `key` for an empty key, with which every sender could authenticate.
    package init(key: Span<UInt8>, beginsAnew: Bool? = nil) throws(SignatureError) {
        guard key.count > 0 else { throw SignatureError(.key, "empty HMAC key") }
        let algorithm = try unsafe Owned<MACObject>(EVP_MAC_fetch(nil, "HMAC", nil), "libcrypto offers no HMAC")
        let keyed = try unsafe Owned<MACContextObject>(EVP_MAC_CTX_new(algorithm.pointer), "no HMAC context")
        let parameters = Parameters([OSSL_MAC_PARAM_DIGEST: .text("SHA256")])
        let started = unsafe key.withUnsafeBufferPointer { key in
            unsafe EVP_MAC_init(keyed.pointer, key.baseAddress, key.count, parameters.pointer)
        }
        guard started == 1 else { throw .openSSL(.internalFailure, "HMAC-SHA-256 not started") }
        let trial = try Self.copy(of: keyed)
        let first = try trial.code(over: key)
        let second = trial.begin() ? try? trial.code(over: key) : nil
        self.beginsAnew = beginsAnew ?? (second == first)
        self.keyed = keyed
    }

    private static func copy(
        of keyed: borrowing Owned<MACContextObject>
    ) throws(SignatureError) -> Owned<MACContextObject> {
        try unsafe Owned(EVP_MAC_CTX_dup(keyed.pointer), "HMAC state not copied")
    }

    /// The code over the pieces, one after the other.
    package func authenticationCode(over first: Span<UInt8>) throws(SignatureError) -> Digest {
        var computation = try start()
        try computation.update(first)
        return try computation.finalize()
    }

    /// The code over the pieces, one after the other.
    package func authenticationCode(
        over first: Span<UInt8>,
        _ second: Span<UInt8>
    ) throws(SignatureError) -> Digest {
        var computation = try start()
        try computation.update(first)
        try computation.update(second)
        return try computation.finalize()
    }

    /// The code over the pieces, one after the other.
    package func authenticationCode(
        over first: Span<UInt8>,
        _ second: Span<UInt8>,
        _ third: Span<UInt8>
    ) throws(SignatureError) -> Digest {
        var computation = try start()
        try computation.update(first)
        try computation.update(second)
        try computation.update(third)
        return try computation.finalize()
    }

    /// A computation over any number of pieces.
    package func start() throws(SignatureError) -> Computation {
        if beginsAnew, let context = spares.withLock({ Self.takeOne(from: &$0) }) {
            guard context.begin() else { throw .openSSL(.internalFailure, "HMAC not restarted") }
            return Computation(of: self, in: context)
        }
        return Computation(of: self, in: try Self.copy(of: keyed))
    }

    private static func takeOne(
        from spares: inout InlineArray<8, Owned<MACContextObject>?>
    ) -> Owned<MACContextObject>? {
        for place in spares.indices {
            if let context = spares[place].take() { return context }
        }
        return nil
    }

    private func keep(_ context: consuming Owned<MACContextObject>) {
        var kept: Owned<MACContextObject>? = context
        spares.withLock { spares in
            for place in spares.indices where spares[place] == nil {
                spares[place] = kept.take()
                return
            }
        }
    }

    /// One code being computed.
    package struct Computation: ~Copyable {
        private let key: HMACSHA256
        private let context: Owned<MACContextObject>

        fileprivate init(of key: HMACSHA256, in context: consuming Owned<MACContextObject>) {
            self.key = key
            self.context = context
        }

        package mutating func update(_ bytes: Span<UInt8>) throws(SignatureError) { try context.update(bytes) }

        package consuming func finalize() throws(SignatureError) -> Digest {
            let code = try context.finalize()
            key.keep(context)
            return code
        }
    }
}

extension Owned where Object == MACContextObject {
    /// Starts again; without a key, the one before is kept.
    fileprivate func begin() -> Bool { unsafe EVP_MAC_init(pointer, nil, 0, nil) == 1 }

    fileprivate func update(_ bytes: Span<UInt8>) throws(SignatureError) {
        let updated = unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe EVP_MAC_update(pointer, bytes.baseAddress, bytes.count)
        }
        guard updated == 1 else { throw .openSSL(.internalFailure, "HMAC not updated") }
    }

    fileprivate func finalize() throws(SignatureError) -> Digest {
        var octets = InlineArray<32, UInt8>(repeating: 0)
        var written = 0
        var span = octets.mutableSpan
        let finished = unsafe span.withUnsafeMutableBufferPointer { buffer in
            unsafe EVP_MAC_final(pointer, buffer.baseAddress, &written, buffer.count)
        }
        guard finished == 1, written == 32 else { throw .openSSL(.internalFailure, "HMAC not finished") }
        return Digest(octets)
    }

    fileprivate func code(over bytes: Span<UInt8>) throws(SignatureError) -> Digest {
        try update(bytes)
        return try finalize()
    }
}
