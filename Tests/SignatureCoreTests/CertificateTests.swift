import JSONWebSignature
import SignatureIssuing
import Testing

@testable import SignatureCore

@Suite struct CertificateTests {
    @Test func propertiesOfTheThree() throws {
        let chain = try IssuedChain.genuine.get()
        let leaf = try Certificate(der: chain.leaf)
        let intermediate = try Certificate(der: chain.intermediate.certificate)
        let root = try Certificate(der: chain.root.certificate)
        #expect(leaf.version == 3 && !leaf.isAuthority && leaf.maySignData && !leaf.mayIssue)
        #expect(intermediate.isAuthority && intermediate.mayIssue && !intermediate.maySignData)
        #expect(intermediate.pathLength == 0 && root.pathLength == nil)
        #expect(leaf.notBefore == IssuedChain.notBefore && leaf.notAfter == IssuedChain.notAfter)
        #expect(try leaf.hasExtension(ObjectIdentifier(IssuedChain.leafMarker)))
        #expect(try !leaf.hasExtension(ObjectIdentifier(IssuedChain.intermediateMarker)))
        #expect(leaf.isSignedWithStrongDigest && !leaf.hasUnknownCriticalExtension)
        #expect(root.hasSubjectAndKey(of: root) && !root.hasSubjectAndKey(of: intermediate))
        #expect(leaf.publicKeyInfo == (try chain.leafKey.publicKeyInfo()))
    }

    @Test func versionOneWithoutExtensions() throws {
        let chain = try IssuedChain(adjustLeaf: {
            $0.version = 1
            $0.basicConstraints = nil
            $0.keyUsage = nil
            $0.extensions = []
        })
        #expect(try Certificate(der: chain.leaf).version == 1)
    }

    /// Second 59 of every kind of year, and the ends of what a certificate can say.
    @Test(
        arguments: [
            (-1_000, "1969-12-31"), (0, "1970-01-01"), (951_782_399_000, "2000-02-28"), (951_868_799_000, "2000-02-29"),
            (951_868_800_000, "2000-03-01"), (2_524_607_999_000, "2049-12-31"), (2_524_608_000_000, "2050-01-01"),
            (4_107_542_399_000, "2100-02-28"), (4_107_542_400_000, "2100-03-01"), (253_402_300_799_000, "9999-12-31"),
        ] as [(Int64, String)]
    )
    func datesReadBack(milliseconds: Int64, day: String) throws {
        let chain = try IssuedChain(adjustLeaf: { $0.notAfter = milliseconds })
        #expect(try Certificate(der: chain.leaf).notAfter == milliseconds, "\(day)")
    }

    @Test func daysCountWithoutGaps() {
        var expected: Int64 = -719_528
        // From year 0 on; the calendar repeats after 400 years.
        for year in Int64(0)...800 {
            let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
            let lengths: [Int64] = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
            for (month, length) in lengths.enumerated() {
                let first = CertificateTime.daysSince1970(year: year, month: Int64(month) + 1, day: 1)
                #expect(first == expected)
                expected += length
            }
        }
        #expect(CertificateTime.daysSince1970(year: 1970, month: 1, day: 1) == 0)
    }

    /// Dates that X.509 forbids, put into a genuine certificate in place of its last one.
    @Test(arguments: [
        "400101000000", "40010100000Z0", "4001010000+00", "400132000000Z", "401301000000Z", "400101240000Z",
        "400101006000Z", "xx0101000000Z", "400230000000Z", "             ",
    ])
    func otherDatesAreRefused(text: String) throws {
        let chain = try IssuedChain.genuine.get()
        let original = ascii("400101000000Z")
        let place = try #require(chain.leaf.indices.first { chain.leaf[$0...].starts(with: original) })
        var changed = chain.leaf
        changed.replaceSubrange(place..<place + original.count, with: ascii(text).prefix(13))
        if text.utf8.count < 13 { changed[place + 12] = UInt8(ascii: "0") }
        #expect(failure { () throws(SignatureError) in try Certificate(der: changed) }?.kind == .certificate)
    }

    @Test func everyTruncationIsRefused() throws {
        let chain = try IssuedChain.genuine.get()
        for certificate in chain.certificates {
            for count in 0..<certificate.count {
                let truncated = Array(certificate.prefix(count))
                #expect(failure { () throws(SignatureError) in try Certificate(der: truncated) }?.kind == .certificate)
            }
        }
    }

    @Test(.timeLimit(.minutes(5))) func everyFlippedOctetOfLeafAndIntermediateIsRefused() throws {
        let chain = try IssuedChain.genuine.get()
        let verification = try chain.verification()
        for position in 0..<2 {
            for index in chain.certificates[position].indices {
                for mask in [0x01, 0x80] as [UInt8] {
                    var certificates = chain.certificates
                    certificates[position][index] ^= mask
                    #expect(
                        failure { () throws(SignatureError) in try verification.verify(certificates, at: nil) } != nil,
                        "certificate \(position), octet \(index)"
                    )
                }
            }
        }
    }

    /// Only subject and key of the third count, so some changes to it do no harm; none may trap or change the result.
    @Test func flippedOctetsOfTheRootChangeNothing() throws {
        let chain = try IssuedChain.genuine.get()
        let verification = try chain.verification()
        var accepted = 0
        for index in chain.root.certificate.indices {
            var certificates = chain.certificates
            certificates[2][index] ^= 0x01
            guard let validated = try? verification.verify(certificates, at: nil) else { continue }
            accepted += 1
            #expect(validated.validity == [IssuedChain.notBefore...IssuedChain.notAfter])
        }
        #expect(accepted < chain.root.certificate.count / 2)
    }

    @Test func randomOctetsAndMutationsNeverTrap() throws {
        var scrambler = Scrambler(11)
        let chain = try IssuedChain.genuine.get()
        for _ in 0..<1000 {
            let noise = scrambler.octets(Int.random(in: 0..<300, using: &scrambler))
            #expect(failure { () throws(SignatureError) in try Certificate(der: noise) } != nil)
            #expect(failure { () throws(SignatureError) in try P256PublicKey(uncompressedPoint: noise.span) } != nil)
            _ = failure { () throws(SignatureError) in try PEM.blocks(labelled: "CERTIFICATE", in: noise.span) }
            var mutated = chain.leaf
            for _ in 0..<Int.random(in: 1...6, using: &scrambler) {
                mutated[Int.random(in: mutated.indices, using: &scrambler)] = UInt8.random(
                    in: 0...255,
                    using: &scrambler
                )
            }
            if let read = try? Certificate(der: mutated) {
                _ = try? read.p256PublicKey()
                _ = (read.version, read.isAuthority, read.pathLength, read.isSignedWithStrongDigest, read.fingerprint)
            }
        }
    }
}

/// From the text of a JWS to its payload, as a receiver goes.
@Suite struct EndToEndTests {
    private func read(_ text: [UInt8], _ verification: ChainVerification) throws(SignatureError) -> [UInt8] {
        let jws = try CompactJWS(text)
        let header = try JWSProtectedHeader(
            reading: jws.header(),
            algorithm: .es256,
            certificates: .required(count: 3)
        )
        let chain = try verification.verify(header.certificates, at: IssuedChain.middle)
        return try jws.payload(verifiedBy: chain.leafKey)
    }

    @Test(.timeLimit(.minutes(5))) func noFlippedCharacterIsAccepted() throws {
        let chain = try IssuedChain.genuine.get()
        let verification = try chain.verification()
        let header = JWSIssuer.header(algorithm: "ES256", certificates: chain.certificates)
        let payload = ascii("{\"notificationType\":\"TEST\"}")
        let text = try JWSIssuer.es256(header: header, payload: payload, key: chain.leafKey)
        #expect(try read(text, verification) == payload)
        let jws = try CompactJWS(text)
        let places =
            Array(stride(from: 0, to: jws.headerRange.upperBound, by: 5))
            + Array(jws.headerRange.upperBound..<text.count)
        for place in places {
            var changed = text
            changed[place] ^= 0x01
            #expect(failure { () throws(SignatureError) in try read(changed, verification) } != nil, "octet \(place)")
        }
    }

    @Test func symmetricKeyMadeOfThePublicOneIsRefused() throws {
        let chain = try IssuedChain.genuine.get()
        let header = JWSIssuer.header(algorithm: "HS256", certificates: chain.certificates)
        for key in [try chain.leafKey.publicPEM(), try chain.leafKey.publicKeyInfo(), chain.leaf] {
            let text = try JWSIssuer.compact(header: header, payload: ascii("{}")) { (input) throws(SignatureError) in
                try HMACSHA256(key: key.span).authenticationCode(over: input.span).bytes
            }
            let verification = try chain.verification()
            #expect(failure { () throws(SignatureError) in try read(text, verification) }?.kind == .algorithm)
        }
    }

    @Test func errorsNeverQuoteContent() throws {
        let chain = try IssuedChain.genuine.get()
        let header = ascii(#"{"alg":"ES256","x5c":["MARKED","MARKED","MARKED"],"kid":"MARKED","MARKED":1}"#)
        let text = try JWSIssuer.es256(header: header, payload: ascii("MARKED"), key: chain.leafKey)
        let verification = try chain.verification()
        let thrown = failure { () throws(SignatureError) in try read(text, verification) }
        #expect(thrown?.kind == .certificate)
        #expect(thrown?.description.contains("MARKED") == false)
    }
}
