import CLifecycleOpenSSL
import Glibc
import SignatureCore
import SignatureIssuing
import Synchronization
import Testing

/// How many more pieces of memory libcrypto gets.
private let supply = Atomic<Int>(.max)

private func takesOne() -> Bool {
    supply.wrappingSubtract(1, ordering: .relaxed).oldValue > 0
}

/// A failure in libcrypto, in a process of its own, ends in an error: nothing traps, and no unchecked proof holds.
@Suite("libcrypto that fails")
struct LibcryptoFailureTests {
    /// Everything that libcrypto proves, each with what it needs.
    private static func proofs() throws -> [(name: String, prove: () throws(SignatureError) -> Void)] {
        let chain = try IssuedChain.genuine.get()
        let point = try [4] + base64URL(ECDSATests.x) + base64URL(ECDSATests.y)
        let message = ascii("\(ECDSATests.header).\(ECDSATests.payload)")
        let signature = try base64URL(ECDSATests.signature)
        return [
            (
                "ES256",
                { () throws(SignatureError) in
                    try P256PublicKey(uncompressedPoint: point.span).verify(
                        signature: signature.span,
                        over: message.span
                    )
                }
            ),
            (
                "HMAC",
                { () throws(SignatureError) in
                    let key = try HMACSHA256(key: message.span)
                    guard try key.authenticationCode(over: message.span) == key.authenticationCode(over: message.span)
                    else { throw SignatureError(.signature, "two codes of one message") }
                }
            ),
            (
                "chain",
                { () throws(SignatureError) in
                    _ = try chain.verification().verify(chain.certificates, at: IssuedChain.middle)
                }
            ),
        ]
    }

    private static let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

    @Test("Memory that runs out at any point")
    func memory() async {
        await #expect(processExitsWith: .success) {
            let isReplaced = unsafe CRYPTO_set_mem_functions(
                { size, _, _ in takesOne() ? unsafe malloc(size) : nil },
                { memory, size, _, _ in takesOne() ? unsafe realloc(memory, size) : nil },
                { memory, _, _ in unsafe free(memory) }
            )
            try #require(isReplaced == 1)
            for (name, prove) in try Self.proofs() {
                // Once with everything, so that what libcrypto keeps is there already.
                try prove()
                var failures = 0
                for count in 0..<2000 {
                    supply.store(count, ordering: .relaxed)
                    let failure = failure(prove)
                    let digest = SHA256.hash(ascii("abc").span).hexadecimal
                    let isExhausted = supply.exchange(.max, ordering: .relaxed) < 0
                    try #require(digest == Self.digest)
                    // libcrypto does without some of its memory, such as for a cache.
                    if failure != nil { failures += 1 } else if !isExhausted { break }
                }
                #expect(failures > 3, "\(name) needs no memory")
                try prove()
            }
        }
    }

    @Test("A libcrypto without algorithms")
    func provider() async {
        await #expect(processExitsWith: .success) {
            // It takes the place of the default provider, which nothing has asked for yet: nothing can be fetched.
            try #require(unsafe OSSL_PROVIDER_load(nil, "null") != nil)
            for (name, prove) in try Self.proofs() {
                #expect(failure(prove) != nil, "\(name) holds without algorithms")
            }
            #expect(SHA256.hash(ascii("abc").span).hexadecimal == Self.digest)
        }
    }
}
