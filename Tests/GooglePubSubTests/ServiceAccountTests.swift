import FoundationEssentials
import GooglePubSub
import HTTPTransport
import Normalizer
import NormalizerTesting
import SignatureCore
import SignatureIssuing
import Testing

@Suite struct ServiceAccountTests {
    struct Broken: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let text: @Sendable () throws -> String

        init(_ name: String, _ text: @escaping @Sendable () throws -> String) {
            testDescription = name
            self.text = text
        }

        static func member(_ name: String, _ value: String?) -> Broken {
            Broken("\(name) \(value?.prefix(40) ?? "absent")") { try KeyFile.text([name: value]) }
        }
    }

    static let broken: [Broken] =
        [
            Broken("empty") { "" }, Broken("array") { "[]" }, Broken("no JSON") { "secret" },
            Broken("byte order mark") { "\u{FEFF}" + (try KeyFile.text()) },
            Broken("cut") { String(try KeyFile.text().dropLast()) },
            Broken("twice") { try KeyFile.text() + KeyFile.text() },
            Broken("member twice") { "{\"type\":\"service_account\"," + (try KeyFile.text().dropFirst()) },
            Broken("large") { try KeyFile.text(["x": "\"\(String(repeating: "x", count: 70_000))\""]) },
        ]
        + [nil, "null", "7", "\"authorized_user\"", "\"external_account\""].map { .member("type", $0) }
        + [nil, "\"\"", "7", "\"reader\"", "\"a@b@c\"", "\"a\\r\\n@b\"", "\"@b\"", "\"a @b\""].map {
            .member("client_email", $0)
        }
        + [
            "\"https://evil.example/token\"", "\"http://oauth2.googleapis.com/token\"",
            "\"https://oauth2.googleapis.com/token/\"", "\"https://oauth2.googleapis.com.evil.example/token\"",
            "\"https://oauth2.googleapis.com@evil.example/token\"", "\"HTTPS://oauth2.googleapis.com/token\"",
            "\"https://accounts.google.com/o/oauth2/token\"", "\"file:///etc/passwd\"", "\"\"", "7", "[]",
        ].map { .member("token_uri", $0) }
        + ["\"evil.example\"", "7"].map { .member("universe_domain", $0) }
        + ["\"\"", "7"].map { .member("private_key_id", $0) }
        + [
            nil, "null", "\"\"", "7", "\"secret\"",
            "\"-----BEGIN PRIVATE KEY-----\\nc2VjcmV0\\n-----END PRIVATE KEY-----\"",
        ].map { .member("private_key", $0) }
        + [
            Broken("public key") {
                try KeyFile.text([
                    "private_key": KeyFile.escaped(
                        String(decoding: Google.keys.get().current.publicPEM(), as: UTF8.self)
                    )
                ])
            },
            Broken("1024 bits") {
                try KeyFile.text([
                    "private_key": KeyFile.escaped(String(decoding: Google.keys.get().weak.privatePEM(), as: UTF8.self))
                ])
            },
            Broken("elliptic curve") {
                let key = try SigningKey(.p256, seed: Google.seed, label: "curve")
                return try KeyFile.text([
                    "private_key": KeyFile.escaped(String(decoding: key.privatePEM(), as: UTF8.self))
                ])
            },
            Broken("two keys") {
                try KeyFile.text(["private_key": KeyFile.escaped(KeyFile.pem.get() + KeyFile.pem.get())])
            },
            Broken("half a key") {
                try KeyFile.text(["private_key": KeyFile.escaped(String(KeyFile.pem.get().prefix(800)))])
            },
        ]

    @Test(arguments: broken)
    func refusesBrokenFiles(broken: Broken) throws {
        let text = try broken.text()
        let error = try #require(throws: ConfigurationError.self) { try ServiceAccount(keyFile: SecretBytes(text)) }
        #expect(error.message.hasPrefix("key file: "))
        for secret in ["secret", "evil", "MII", "c2Vj", "BEGIN"] { #expect(!error.message.contains(secret)) }
    }

    @Test func readsAKeyFile() throws {
        let account = try KeyFile.account()
        #expect(account.email == "reader@project-one.iam.gserviceaccount.com")
        #expect(account.keyID == "key-1")
        #expect(!"\(account)\(String(reflecting: account))".contains("MII"))
        var dumped = ""
        dump(account, to: &dumped)
        #expect(!dumped.contains("MII"))
    }

    @Test func readsWhatConfigurationsMakeOfAKey() throws {
        _ = try KeyFile.account(["private_key": KeyFile.escaped(KeyFile.pem.get().replacing("\n", with: "\\n"))])
        _ = try KeyFile.account(["private_key": KeyFile.escaped(KeyFile.pem.get().replacing("\n", with: "\r\n"))])
        _ = try KeyFile.account(["token_uri": nil, "universe_domain": nil, "private_key_id": nil])
        _ = try ServiceAccount(email: "a@b.c", keyID: nil, privateKeyPEM: SecretBytes(KeyFile.pem.get()))
    }
}
