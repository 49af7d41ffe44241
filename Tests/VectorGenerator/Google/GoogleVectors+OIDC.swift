import ConformanceVectors
import Normalizer
import SignatureCore
import SignatureIssuing

// The token of a push: who calls. Each case changes one thing about a push that would be accepted.
extension GoogleVectors {
    private static let test = notification("testNotification", ["version": "\"1.0\""])
    private static let accepted = Expectation.events([Expected("notice", #"{"kind":"test"}"#)])

    static func oidcCases(_ issuer: Issuer) throws -> [Case] {
        var cases: [Case] = []

        func add(
            _ id: String,
            _ why: String,
            header: String?,
            config: [String: String] = [:],
            _ expect: Expectation
        ) {
            var headers = ["Content-Type": "\"application/json\""]
            headers["Authorization"] = header
            cases.append(
                Case(
                    id: id,
                    why: why,
                    config: config,
                    expect: expect,
                    delivery: Delivery(headers: headers, body: wrapped(Array(test.utf8), id: id))
                )
            )
        }
        func bearer(_ token: String) -> String { JSON.string("Bearer \(token)") }
        func claims(
            _ id: String,
            _ why: String,
            _ changes: [String: String?],
            config: [String: String] = [:],
            _ expect: Expectation
        ) throws {
            let token = try Issuer.token(claims: Issuer.claims(changes), key: issuer.key)
            add(id, why, header: bearer(token), config: config, expect)
        }
        func head(
            _ id: String,
            _ why: String,
            _ header: [String: String?],
            key: SigningKey? = nil,
            _ expect: Expectation
        ) throws {
            let token = try Issuer.token(
                header: JSON.object(header),
                claims: Issuer.claims(),
                key: key ?? issuer.key
            )
            add(id, why, header: bearer(token), expect)
        }
        let now = noon / 1000
        let kid = JSON.string(Issuer.keyID)

        // Accepted.
        add("valid", "a token in order", header: bearer(issuer.token), accepted)
        add("scheme-lower-case", "the scheme in lower case", header: JSON.string("bearer \(issuer.token)"), accepted)
        try claims("issuer-short", "Google's other name for itself", ["iss": "\"accounts.google.com\""], accepted)
        try head("typ-absent", "no typ", ["alg": "\"RS256\"", "kid": kid], accepted)
        try head(
            "rotated-key",
            "the other key of the set",
            ["alg": "\"RS256\"", "kid": JSON.string(Issuer.otherKeyID), "typ": "\"JWT\""],
            key: issuer.otherKey,
            accepted
        )
        try head(
            "key-in-header-ignored",
            "a key in the header does not count, and the right one signed",
            ["alg": "\"RS256\"", "kid": kid, "jku": "\"https://attacker.example/jwks\""],
            accepted
        )
        try claims("exp-within-skew", "expired 59 s ago", ["exp": "\(now - 59)"], accepted)
        try claims("iat-within-skew", "issued in 59 s", ["iat": "\(now + 59)"], accepted)
        try claims("nbf-past", "valid since a minute", ["nbf": "\(now - 60)"], accepted)
        try claims("claim-unknown", "a claim that nobody knows", ["google": #"{"x":1}"#], accepted)
        try claims(
            "sub-pinned",
            "the account's number is configured",
            [:],
            config: ["serviceAccountId": "\"113774264463038321964\""],
            accepted
        )

        // Not the caller that is configured.
        try claims(
            "email-other-account",
            "another service account, with our audience: anybody with a project can have that signed",
            ["email": "\"attacker@evil.iam.gserviceaccount.com\""],
            .reject(.unauthenticated)
        )
        try claims(
            "email-suffix",
            "an address that ends in ours",
            ["email": JSON.string("x" + email)],
            .reject(.unauthenticated)
        )
        try claims(
            "email-case",
            "ours in capitals",
            ["email": JSON.string(email.uppercased())],
            .reject(.unauthenticated)
        )
        try claims("email-absent", "no address", ["email": nil], .reject(.unauthenticated))
        try claims(
            "email-array",
            "a list of addresses",
            ["email": "[\(JSON.string(email))]"],
            .reject(.unauthenticated)
        )
        try claims("email-unverified", "not verified", ["email_verified": "false"], .reject(.unauthenticated))
        try claims(
            "email-verified-string",
            "verified in words",
            ["email_verified": "\"true\""],
            .reject(.unauthenticated)
        )
        try claims("email-verified-one", "verified as a number", ["email_verified": "1"], .reject(.unauthenticated))
        try claims("email-verified-absent", "nothing about it", ["email_verified": nil], .reject(.unauthenticated))
        try claims(
            "sub-other",
            "the address was given to another account",
            ["sub": "\"1\""],
            config: ["serviceAccountId": "\"113774264463038321964\""],
            .reject(.unauthenticated)
        )

        // Not for us.
        try claims("aud-other", "another audience", ["aud": "\"https://other.example.com/\""], .reject(.misdirected))
        try claims(
            "aud-without-query",
            "the audience without its query",
            ["aud": "\"https://hooks.example.com/google\""],
            .reject(.misdirected)
        )
        try claims("aud-slash", "a slash more", ["aud": JSON.string(audience + "/")], .reject(.misdirected))
        try claims("aud-array", "a list with ours in it", ["aud": "[\(JSON.string(audience))]"], .reject(.misdirected))
        try claims("aud-absent", "no audience", ["aud": nil], .reject(.misdirected))
        try claims("aud-empty", "an empty audience", ["aud": "\"\""], .reject(.misdirected))

        // Not Google.
        try claims("iss-other", "another issuer", ["iss": "\"https://accounts.example.com\""], .reject(.untrusted))
        try claims("iss-http", "Google over http", ["iss": "\"http://accounts.google.com\""], .reject(.untrusted))
        try claims("iss-slash", "a slash more", ["iss": "\"https://accounts.google.com/\""], .reject(.untrusted))
        try claims("iss-absent", "no issuer", ["iss": nil], .reject(.untrusted))

        // Not now.
        try claims("exp-past", "expired 61 s ago", ["exp": "\(now - 61)", "iat": "\(now - 3661)"], .reject(.stale))
        try claims("exp-absent", "without an end", ["exp": nil], .reject(.stale))
        try claims("exp-string", "the end in words", ["exp": "\"\(now + 3000)\""], .reject(.stale))
        try claims("exp-huge", "until the end of all integers", ["exp": "9223372036854775807"], .reject(.stale))
        try claims("iat-future", "issued in 61 s", ["iat": "\(now + 61)"], .reject(.stale))
        try claims("iat-absent", "without a beginning", ["iat": nil], .reject(.stale))
        try claims("iat-lowest", "issued at the lowest integer", ["iat": "-9223372036854775808"], .reject(.stale))
        try claims(
            "lifetime",
            "valid for longer than an hour",
            ["iat": "\(now - 7200)", "exp": "\(now + 3000)"],
            .reject(.stale)
        )
        try claims("nbf-future", "valid in 61 s", ["nbf": "\(now + 61)"], .reject(.stale))
        try claims(
            "skew-configured",
            "expired 6 s ago, and 5 are allowed",
            ["exp": "\(now - 6)"],
            config: ["clockSkewSeconds": "5"],
            .reject(.stale)
        )

        // Not that key.
        try head("kid-unknown", "a key nobody knows", ["alg": "\"RS256\"", "kid": "\"0000\""], .reject(.untrusted))
        try head("kid-absent", "no key named", ["alg": "\"RS256\""], .reject(.untrusted))
        try head("kid-empty", "an empty name", ["alg": "\"RS256\"", "kid": "\"\""], .reject(.untrusted))
        try head(
            "kid-path",
            "a name that is a path",
            ["alg": "\"RS256\"", "kid": #""../../../dev/null""#],
            .reject(.untrusted)
        )
        try head(
            "kid-of-other-key",
            "signed by one key, and the other is named",
            ["alg": "\"RS256\"", "kid": JSON.string(Issuer.otherKeyID)],
            .reject(.unauthenticated)
        )
        try head(
            "attacker-key",
            "signed by an attacker under our key's name",
            ["alg": "\"RS256\"", "kid": kid],
            key: issuer.attacker,
            .reject(.unauthenticated)
        )
        try head(
            "attacker-jwk",
            "the attacker's key in the header",
            ["alg": "\"RS256\"", "kid": kid, "jwk": try Issuer.jwk(issuer.attacker, Issuer.keyID)],
            key: issuer.attacker,
            .reject(.unauthenticated)
        )

        // Not that algorithm, not that form.
        for algorithm in ["none", "NONE", "HS256", "RS512", "PS256", "ES256", "rs256"] {
            try head(
                "alg-\(algorithm)",
                "alg \(algorithm)",
                ["alg": JSON.string(algorithm), "kid": kid],
                .reject(.unauthenticated)
            )
        }
        try head(
            "crit",
            "an extension that must be understood",
            ["alg": "\"RS256\"", "kid": kid, "crit": #"["b64"]"#],
            .reject(.malformed)
        )
        try head(
            "typ-other",
            "a token of another type",
            ["alg": "\"RS256\"", "kid": kid, "typ": "\"JOSE+JSON\""],
            .reject(.malformed)
        )
        let parts = issuer.token.split(separator: ".").map(String.init)
        add(
            "alg-none-unsigned",
            "no algorithm and no signature",
            header: bearer("eyJhbGciOiJub25lIn0.\(parts[1])."),
            .reject(.malformed)
        )
        add("signature-absent", "no signature", header: bearer("\(parts[0]).\(parts[1])."), .reject(.malformed))
        add("segments-two", "two segments", header: bearer("\(parts[0]).\(parts[1])"), .reject(.malformed))
        add("segments-five", "five segments", header: bearer(issuer.token + ".a.b"), .reject(.malformed))
        add("padding", "a padded signature", header: bearer(issuer.token + "=="), .reject(.malformed))
        let changed = parts[1].dropLast(6) + (parts[1].suffix(6).first == "A" ? "B" : "A") + parts[1].suffix(5)
        add(
            "payload-changed",
            "a claim changed after signing",
            header: bearer("\(parts[0]).\(changed).\(parts[2])"),
            .reject(.unauthenticated)
        )
        add("header-absent", "no Authorization", header: nil, .reject(.unauthenticated))
        add("header-basic", "another scheme", header: "\"Basic dXNlcjpwYXNz\"", .reject(.unauthenticated))
        add("header-empty", "nothing behind the scheme", header: "\"Bearer \"", .reject(.unauthenticated))
        add(
            "header-twice",
            "two tokens",
            header: JSON.array([bearer(issuer.token), bearer(issuer.token)]),
            .reject(.unauthenticated)
        )
        add("header-long", "a token of 9 KiB", header: bearer(String(repeating: "a", count: 9216)), .reject(.malformed))

        // A receiver that would check nothing does not start.
        for (name, value) in [
            ("audience", ""), ("audience", "\"\""), ("audience", "\"  \""), ("serviceAccountEmail", ""),
            ("serviceAccountEmail", "\"\""), ("jwks", ""), ("jwks", #"{"keys":[]}"#), ("packageName", ""),
        ] {
            add(
                "config-\(name)-\(value.isEmpty ? "absent" : "blank-\(value.utf8.count)")",
                "no \(name) is configured",
                header: bearer(issuer.token),
                config: [name: value],
                .reject(.configuration)
            )
        }
        return cases
    }
}
