import SignatureCore
import SignatureIssuing
import Testing

@Suite("The answer of an OCSP responder", .timeLimit(.minutes(5))) struct CertificateStatusTests {
    static let now: Int64 = 1_790_000_000_000
    let chain: IssuedChain
    let question: CertificateStatusQuestion

    init() throws {
        chain = try IssuedChain.genuine.get()
        question = try CertificateStatusQuestion(
            about: Certificate(der: chain.leaf),
            issuedBy: Certificate(der: chain.intermediate.certificate),
            under: Certificate(der: chain.root.certificate)
        )
    }

    private func answer(
        from begin: Int64 = -3_600_000,
        to end: Int64 = 3_600_000,
        _ statement: StatusAnswerTemplate.Statement = .good
    ) throws -> [UInt8] {
        var answer = StatusAnswerTemplate(
            about: chain.leaf,
            issuedBy: chain.intermediate.certificate,
            thisUpdate: Self.now + begin,
            nextUpdate: Self.now + end
        )
        answer.statement = statement
        // A copy of the certificate that the question knows would be of no influence.
        answer.includesResponder = false
        let issuer = StatusAnswerTemplate.Responder(
            certificate: chain.intermediate.certificate,
            key: chain.intermediate.key
        )
        return try answer.answer(to: question.encoded, by: issuer)
    }

    private func kind(of answer: [UInt8], at time: Int64) -> SignatureError.Kind? {
        do throws(SignatureError) {
            _ = try question.status(in: answer, at: time, tolerance: 1000)
            return nil
        } catch {
            return error.kind
        }
    }

    @Test("passes with no octet changed")
    func mutations() throws {
        let genuine = try answer(.revoked)
        var refusals: Set<SignatureError.Kind?> = []
        for index in genuine.indices {
            for mask: UInt8 in [1, 0x80] {
                var changed = genuine
                changed[index] ^= mask
                refusals.insert(kind(of: changed, at: Self.now))
            }
        }
        #expect(refusals == [.malformed, .signature])
    }

    @Test("counts from its beginning to its end, with the tolerance on both sides, to the millisecond")
    func window() throws {
        let answer = try answer(from: 0, to: 10_000)
        let times: [Int64] = [-1001, -1000, 0, 10_000, 11_000, 11_001]
        #expect(times.map { kind(of: answer, at: Self.now + $0) } == [.validity, nil, nil, nil, nil, .validity])
        // Times that no certificate has, and no clock.
        #expect(kind(of: answer, at: .max) != nil)
        #expect(kind(of: answer, at: .min) != nil)
    }

    @Test("states a status for a time", arguments: [StatusAnswerTemplate.Statement.good, .revoked, .unknown])
    func statements(statement: StatusAnswerTemplate.Statement) throws {
        let status = try question.status(in: try answer(statement), at: Self.now, tolerance: 0)
        let expected: CertificateStatus.Statement =
            switch statement {
            case .good: .good
            case .revoked: .revoked
            case .unknown: .unknown
            }
        #expect(
            status
                == CertificateStatus(
                    expected,
                    thisUpdate: Self.now - 3_600_000,
                    nextUpdate: Self.now + 3_600_000
                )
        )
    }

    @Test("differs from question to question")
    func nonces() throws {
        let other = try CertificateStatusQuestion(
            about: Certificate(der: chain.leaf),
            issuedBy: Certificate(der: chain.intermediate.certificate),
            under: Certificate(der: chain.root.certificate)
        )
        #expect(other.encoded != question.encoded)
        let answer = try answer()
        #expect(throws: SignatureError.self) { try other.status(in: answer, at: Self.now, tolerance: 0) }
    }
}
