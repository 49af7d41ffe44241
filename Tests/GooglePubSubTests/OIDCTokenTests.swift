import FoundationEssentials
import GooglePubSub
import Normalizer
import SignatureCore
import SignatureIssuing
import Testing

@Suite struct OIDCTokenTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let code: DeliveryError.Code
        let token: @Sendable () throws -> String

        init(_ name: String, _ code: DeliveryError.Code, token: @escaping @Sendable () throws -> String) {
            testDescription = name
            self.code = code
            self.token = token
        }

        static func claim(
            _ name: String,
            _ value: String?,
            code: DeliveryError.Code,
            more: String = ""
        ) -> Case {
            Case("\(name) \(value ?? "absent")\(more)", code) {
                try Google.token(claims: Google.claims([name: value]))
            }
        }

        static func header(_ header: String, _ code: DeliveryError.Code) -> Case {
            Case("header \(header.prefix(60))", code) { try Google.token(header: header) }
        }
    }

    static let now = Google.now

    static let algorithms = [
        "none", "None", "NONE", "nOnE", "HS256", "RS384", "RS512", "PS256", "ES256", "rs256", "RS256 ", " RS256",
        "RS256\\u0000", "EdDSA",
    ].map { Case.header(#"{"alg":"\#($0)","kid":"current","typ":"JWT"}"#, .unauthenticated) }

    static let headers: [Case] = [
        .header(#"{"kid":"current"}"#, .unauthenticated),
        .header(#"{"alg":["RS256"],"kid":"current"}"#, .unauthenticated),
        .header(#"{"alg":null,"kid":"current"}"#, .unauthenticated),
        .header(#"{"alg":"RS256","alg":"none","kid":"current"}"#, .malformed),
        .header(#"{"alg":"RS256","\u0061lg":"none","kid":"current"}"#, .malformed),
        .header(#"{"alg":"RS256","kid":"current","kid":"next"}"#, .malformed),
        .header(#"{"alg":"RS256","kid":"current","crit":["exp"],"exp":1}"#, .malformed),
        .header(#"{"alg":"RS256","kid":"current","crit":[]}"#, .malformed),
        .header(#"{"alg":"RS256","kid":"current","b64":false}"#, .malformed),
        .header(#"{"alg":"RS256","kid":"current","typ":"at+jwt"}"#, .malformed),
        .header(#"{"alg":"RS256","kid":"current","typ":7}"#, .malformed),
        .header(#"{"alg":"RS256"}"#, .untrusted),
        .header(#"{"alg":"RS256","kid":""}"#, .untrusted),
        .header(#"{"alg":"RS256","kid":7}"#, .malformed),
        .header(#"{"alg":"RS256","kid":"curren"}"#, .untrusted),
        .header(#"{"alg":"RS256","kid":"current2"}"#, .untrusted),
        .header(#"{"alg":"RS256","kid":"CURRENT"}"#, .untrusted),
        .header(#"{"alg":"RS256","kid":"current\u0000"}"#, .untrusted),
        .header(#"{"alg":"RS256","kid":"current\r\nX: y"}"#, .untrusted),
        .header(#"{"alg":"RS256","kid":"../../etc/passwd"}"#, .untrusted),
        .header(#"{"alg":"RS256","kid":"https://evil.example/jwks"}"#, .untrusted),
        .header(#"{"alg":"RS256","kid":"' OR 1=1 --"}"#, .untrusted),
        .header(#"["RS256"]"#, .malformed),
        .header("\u{FEFF}" + Google.header, .malformed),
    ]

    static let signatures: [Case] = [
        Case("signed by a key that is not Google's", .unauthenticated) {
            try Google.token(key: Google.keys.get().foreign)
        },
        Case("key in the header", .unauthenticated) {
            let foreign = try Google.keys.get().foreign
            let jwk = try Google.jwk("current", foreign)
            return try Google.token(
                header: #"{"alg":"RS256","kid":"current","jwk":\#(jwk),"jku":"https://evil.example/"}"#,
                key: foreign
            )
        },
        Case("HMAC with the public key", .unauthenticated) {
            let pem = try Google.keys.get().current.publicPEM()
            let token = try JWSIssuer.compact(
                header: Array(#"{"alg":"HS256","kid":"current"}"#.utf8),
                payload: Array(Google.claims().utf8)
            ) { (input) throws(SignatureError) in
                try HMACSHA256(key: pem.span).authenticationCode(over: input.span).bytes
            }
            return String(decoding: token, as: UTF8.self)
        },
        Case("signature of another token", .unauthenticated) {
            let parts = try Google.token().split(separator: ".")
            let other = try Google.token(claims: Google.claims(["aud": "\"other\""])).split(separator: ".")
            return "\(other[0]).\(other[1]).\(parts[2])"
        },
        Case("signature without its first octet", .unauthenticated) {
            let parts = try Google.token().split(separator: ".")
            let signature = try Base64URL.decode(Array(parts[2].utf8).span).dropFirst()
            return "\(parts[0]).\(parts[1]).\(Google.base64URL(Array(signature)))"
        },
        Case("signature with a leading zero", .unauthenticated) {
            let parts = try Google.token().split(separator: ".")
            let signature = [0] + (try Base64URL.decode(Array(parts[2].utf8).span))
            return "\(parts[0]).\(parts[1]).\(Google.base64URL(signature))"
        },
        Case("empty signature", .malformed) {
            let parts = try Google.token().split(separator: ".")
            return "\(parts[0]).\(parts[1])."
        },
        Case("no signature", .malformed) {
            let parts = try Google.token().split(separator: ".")
            return "\(parts[0]).\(parts[1])"
        },
        Case("four segments", .malformed) { try Google.token() + ".AAAA" },
        Case("padding", .malformed) { try Google.token() + "==" },
        Case("space behind", .malformed) { try Google.token() + " " },
        Case("two spaces before", .malformed) { " " + (try Google.token()) },
        Case("quotes", .malformed) { "\"\(try Google.token())\"" },
        Case("standard alphabet", .malformed) {
            // Some signature of these contains a character in which the alphabets differ.
            for number in 0..<64 {
                let token = try Google.token(claims: Google.claims(["n": "\(number)"]))
                if token.contains(where: { $0 == "-" || $0 == "_" }) {
                    return String(token.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
                }
            }
            return "+.+.+"
        },
        Case("only dots", .malformed) { ".." },
        Case("one letter", .malformed) { "x" },
        Case("more than 8 KiB", .malformed) {
            try Google.token(claims: Google.claims(["x": "\"\(String(repeating: "x", count: 9000))\""]))
        },
        Case("claims are an array", .malformed) { try Google.token(claims: "[]") },
        Case("claims are no JSON", .malformed) { try Google.token(claims: "{\"aud\":") },
        Case("claim twice", .malformed) {
            try Google.token(claims: "{\"aud\":\"\(Google.audience)\"," + Google.claims().dropFirst())
        },
        Case("byte order mark before the claims", .malformed) {
            try Google.token(claims: "\u{FEFF}" + Google.claims())
        },
    ]

    static let claims: [Case] =
        [
            nil, "\"\"", "\"http://accounts.google.com\"", "\"https://accounts.google.com/\"",
            "\"accounts.google.com.evil.example\"", "\"ACCOUNTS.GOOGLE.COM\"", "\"https://securetoken.google.com/p\"",
            "[\"https://accounts.google.com\"]", "7", "\"https://accounts.google.com\\u0000\"",
        ].map { .claim("iss", $0, code: .untrusted) }
        + [
            nil, "\"\"", "\"https://backend.example/hooks/play\"", "\"\(Google.audience)/\"",
            "\"https://BACKEND.example/hooks/play?x=1\"", "[\"\(Google.audience)\"]",
            "[\"\(Google.audience)\",\"other\"]", "null", "7", "{\"a\":\"\(Google.audience)\"}",
            "\"\(Google.audience)\\u0000\"", "\" \(Google.audience)\"",
        ].map { .claim("aud", $0, code: .misdirected) }
        + [
            nil, "\"\"", "\"other@project-one.iam.gserviceaccount.com\"",
            "\"PUSH@project-one.iam.gserviceaccount.com\"",
            "\"push@project-one.iam.gserviceaccount.com.evil.example\"", "[\"\(Google.account)\"]", "null",
            "\"xpush@project-one.iam.gserviceaccount.com\"", "\"\(Google.account)\\u0000\"",
        ].map { .claim("email", $0, code: .unauthenticated) }
        + [nil, "false", "\"true\"", "1", "null", "[true]"].map { .claim("email_verified", $0, code: .unauthenticated) }
        + [
            nil, "null", "\"\(now + 3000)\"", "\(now + 3000).0", "\(now + 3000).5", "1e10", "true", "-1", "0",
            "9223372036854775807", "-9223372036854775808", "99999999999999999999", "\(now - 60)", "\(now - 600)",
            "\(now + 3061)",
        ].map { .claim("exp", $0, code: .stale) }
        + [
            nil, "null", "\"\(now)\"", "\(now).5", "true", "9223372036854775807", "-9223372036854775808", "-1",
            "\(now + 61)", "\(now + 3001)", "0",
        ].map { .claim("iat", $0, code: .stale) }
        + ["\(now + 61)", "\"\(now)\"", "null", "9223372036854775807"].map { .claim("nbf", $0, code: .stale) }
        + [
            Case("ends before it begins", .stale) {
                try Google.token(claims: Google.claims(["exp": "\(now - 30)", "iat": "\(now)"]))
            }
        ]

    @Test(arguments: algorithms + headers + signatures + claims)
    func refuses(hostile: Case) async throws {
        let error = try #require(
            await Google.adapter().refusal(try Google.delivery(token: hostile.token()))
        )
        #expect(error.code == hostile.code, "\(error)")
        #expect(!error.isAuthentic)
        #expect(!error.description.contains("evil"))
        let status = GooglePubSubStatus.of(error)
        #expect(status == 400 || status == 401)
    }

    static let good: [Case] = [
        Case("as Google sends it", "") { try Google.token() },
        Case("the other issuer", "") { try Google.token(claims: Google.claims(["iss": "\"accounts.google.com\""])) },
        Case("without typ", "") { try Google.token(header: #"{"alg":"RS256","kid":"current"}"#) },
        Case("escaped header", "") {
            try Google.token(header: #"{"alg":"\u0052S256","kid":"c\u0075rrent","typ":"JWT"}"#)
        },
        Case("keys in the header that are not used", "") {
            try Google.token(header: #"{"alg":"RS256","kid":"current","jku":"https://evil.example","x5c":["x"]}"#)
        },
        Case("unknown claims", "") { try Google.token(claims: Google.claims(["hd": "\"x\"", "n": "1e400"])) },
        Case("expires in the last second of the skew", "") {
            try Google.token(claims: Google.claims(["exp": "\(now - 59)", "iat": "\(now - 3600)"]))
        },
        Case("issued in the last second of the skew", "") {
            try Google.token(claims: Google.claims(["iat": "\(now + 60)", "exp": "\(now + 3660)"]))
        },
        Case("lives for as long as the skew allows", "") {
            try Google.token(claims: Google.claims(["iat": "\(now)", "exp": "\(now + 3660)"]))
        },
        Case("not before now", "") { try Google.token(claims: Google.claims(["nbf": "\(now + 60)"])) },
    ]

    @Test(arguments: good)
    func accepts(case: Case) async throws {
        let proven = try await Google.adapter().authenticate(try Google.delivery(token: `case`.token()))
        #expect(proven.evidence == Origin.Evidence(.oidc, key: "current"))
        #expect(proven.channel == .webhook)
        #expect(proven.value.message.messageID == "136969346945")
    }

    /// Both edges of the skew, to the millisecond.
    @Test(arguments: [(59_999, true), (60_000, false), (60_001, false)])
    func expiryEndsToTheMillisecond(late: Int64, isAccepted: Bool) async throws {
        let claims = Google.claims(["exp": "\(Google.now)", "iat": "\(Google.now - 3600)"])
        var delivery = try Google.delivery(token: Google.token(claims: claims))
        delivery.receivedAt = Date(millisecondsSince1970: Google.now * 1000 + late)
        #expect(try await Google.adapter().refusal(delivery)?.code == (isAccepted ? nil : .stale))
    }

    @Test(arguments: [(60_000, true), (60_001, false)])
    func issueBeginsToTheMillisecond(early: Int64, isAccepted: Bool) async throws {
        let claims = Google.claims(["exp": "\(Google.now + 3600)", "iat": "\(Google.now)"])
        var delivery = try Google.delivery(token: Google.token(claims: claims))
        delivery.receivedAt = Date(millisecondsSince1970: Google.now * 1000 - early)
        #expect(try await Google.adapter().refusal(delivery)?.code == (isAccepted ? nil : .stale))
    }

    @Test(arguments: [
        [], ["Bearer A", "Bearer B"], [""], ["Bearer"], ["Bearer "], ["Basic eDp5"], ["Token"], ["Bearer\tx.y.z"],
        ["bearers x.y.z"],
    ])
    func refusesOtherCredentials(values: [String]) async throws {
        var headers = Delivery.Headers()
        for value in values { headers.add("Authorization", value) }
        let delivery = Delivery(headers: headers, body: Google.wrapped(), receivedAt: Google.receivedAt)
        let error = try #require(await Google.adapter().refusal(delivery))
        #expect(error.code == .unauthenticated || error.code == .malformed && values == ["Bearer "])
        #expect(!error.isAuthentic)
    }

    @Test(arguments: ["bearer", "BEARER", "BeArEr"])
    func schemeHasNoCase(scheme: String) async throws {
        let delivery = Delivery(
            headers: ["AUTHORIZATION": "\(scheme) \(try Google.token())"],
            body: Google.wrapped(),
            receivedAt: Google.receivedAt
        )
        #expect(try await Google.adapter().refusal(delivery) == nil)
    }

    @Test func pinnedSubject() async throws {
        var configuration = Google.configuration()
        configuration.push?.serviceAccountID = "104029292853099978293"
        #expect(try await Google.adapter(configuration).refusal(try Google.delivery()) == nil)
        configuration.push?.serviceAccountID = "1"
        #expect(try await Google.adapter(configuration).refusal(try Google.delivery())?.code == .unauthenticated)
    }

    /// Where nothing is configured nothing is accepted, and nothing is lost.
    @Test func refusesPushesThatAreNotConfigured() async throws {
        var configuration = Google.configuration()
        configuration.push = nil
        let error = try #require(await Google.adapter(configuration).refusal(try Google.delivery()))
        #expect(error.code == .unavailable)
        #expect(GooglePubSubStatus.of(error) == 503)
    }

    @Test func pushesAreNotConfiguredWithoutKeys() {
        #expect(throws: ConfigurationError.self) {
            try GooglePlayAdapter(Google.configuration(), keys: nil, api: nil)
        }
    }

    @Test func everyChangedOctetIsRefused() async throws {
        let token = Array(try Google.token().utf8)
        let adapter = try Google.adapter()
        for index in stride(from: 0, to: token.count, by: 7) where token[index] != UInt8(ascii: ".") {
            var changed = token
            changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            let text = String(decoding: changed, as: UTF8.self)
            #expect(await adapter.refusal(try Google.delivery(token: text)) != nil, "octet \(index)")
        }
    }

    @Test(
        arguments: [
            { $0.packageNames = [] }, { $0.packageNames = [""] }, { $0.packageNames = ["com.example/.."] },
            { $0.packageNames = ["example"] }, { $0.subscriptions = ["play-events"] },
            { $0.subscriptions = ["projects/../subscriptions/x"] }, { $0.push?.audience = "" },
            { $0.push?.audience = " \t" }, { $0.push?.serviceAccountEmail = "" },
            { $0.push?.serviceAccountEmail = "gserviceaccount.com" }, { $0.push?.serviceAccountID = "" },
            { $0.push?.clockSkew = .seconds(301) }, { $0.push?.clockSkew = .seconds(-1) }, { $0.maximumBodyBytes = 0 },
            { $0.maximumPredecessors = 51 }, { $0.maximumPredecessors = -1 }, { $0.settlingWindow = .seconds(601) },
            { $0.settlingWindow = .seconds(-1) }, { $0.deniedRetryWindow = .seconds(-1) },
        ] as [@Sendable (inout GooglePlayAdapter.Configuration) -> Void]
    )
    func refusesConfigurationsThatVerifyNothing(change: @Sendable (inout GooglePlayAdapter.Configuration) -> Void)
        throws
    {
        var configuration = Google.configuration()
        change(&configuration)
        #expect(throws: ConfigurationError.self) { try Google.adapter(configuration) }
    }
}

enum GooglePubSubStatus {
    static func of(_ error: DeliveryError) -> Int {
        Acknowledgement(for: .failure(error), provider: .google).status
    }
}
