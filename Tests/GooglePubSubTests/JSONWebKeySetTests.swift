import GooglePubSub
import Normalizer
import SignatureIssuing
import Testing

@Suite struct JSONWebKeySetTests {
    static let good = Result { try Google.jwk("good", Google.keys.get().current) }

    @Test(arguments: [
        "", "null", "[]", "{}", #"{"keys":{}}"#, #"{"keys":[]}"#, #"{"keys":[7]}"#, #"{"keys":[[]]}"#,
        #"{"keys":null}"#, #"{"keys":[{"kid":"a"}]}"#, #"{"keys":[{"kid":"a","kty":7}]}"#, #"{"keys":[],"keys":[]}"#,
        #"{"keys":[{"kid":7,"kty":"RSA"}]}"#, #"{"keys":[{"kid":"a","kty":"RSA"}]}"#,
        #"{"keys":[{"kid":"a","kty":"RSA","n":7,"e":"AQAB"}]}"#,
        #"{"keys":[{"kid":"a","kty":"oct","k":"AAAA","alg":"HS256"}]}"#, "{\"keys\":[]} ", "\u{FEFF}{\"keys\":[]}",
    ])
    func refusesWhatIsNoSet(text: String) {
        #expect(throws: DeliveryError.self) { try JSONWebKeySet(Array(text.utf8)) }
        #expect(throws: ConfigurationError.self) { try StaticKeySource(json: Array(text.utf8)) }
    }

    @Test func refusesTwoKeysOfOneID() throws {
        let good = try Self.good.get()
        for other in [
            good, try Google.jwk("good", Google.keys.get().foreign), #"{"kty":"oct","kid":"good","k":"AAAA"}"#,
            good.replacing(#""kid":"good""#, with: #""kid":"g\u006fod""#),
        ] {
            #expect(throws: DeliveryError.self) { try JSONWebKeySet(Array("{\"keys\":[\(good),\(other)]}".utf8)) }
        }
    }

    @Test func countsAndMeasures() throws {
        let key = try Google.keys.get().current
        let sixteen = (0..<16).map { ("key-\($0)", key) }
        #expect(try JSONWebKeySet(Google.keySet(sixteen)).keys.count == 16)
        #expect(throws: DeliveryError.self) { try JSONWebKeySet(Google.keySet(sixteen + [("more", key)])) }
        var large = try Google.keySet([("a", key)])
        large += [UInt8](repeating: 0x20, count: 65_536 - large.count)
        #expect(try JSONWebKeySet(large).keys.count == 1)
        #expect(throws: DeliveryError.self) { try JSONWebKeySet(large + [0x20]) }
    }

    /// One key that is no good leaves the others in place.
    @Test(arguments: [
        ("for encryption", #""use":"enc","alg":"RS256""#), ("use of another type", #""use":["sig"]"#),
        ("another algorithm", #""alg":"RS512""#), ("padding scheme", #""alg":"PS256""#),
        ("symmetric", #""alg":"HS256""#),
        ("operations", #""key_ops":["encrypt"]"#), ("case", #""alg":"rs256""#),
    ])
    func leavesOutKeysForSomethingElse(name: String, members: String) throws {
        let other = try Google.jwk("other", Google.keys.get().foreign, members: members)
        let set = try JSONWebKeySet(Array("{\"keys\":[\(other),\(Self.good.get())]}".utf8))
        #expect(set.keys.map(\.id) == ["good"])
        #expect(set.key("other") == nil)
    }

    /// No token can name them, and there may be several.
    @Test(arguments: ["", #""kid":"","#, #""kid":null,"#])
    func leavesOutKeysWithoutAnID(member: String) throws {
        let good = try Self.good.get()
        let nameless = good.replacing(#""kid":"good","#, with: member)
        #expect(nameless != good)
        let set = try JSONWebKeySet(Array("{\"keys\":[\(nameless),\(good),\(nameless)]}".utf8))
        #expect(set.keys.map(\.id) == ["good"])
    }

    @Test func leavesOutWeakKeys() throws {
        let (modulus, _) = try Google.keys.get().current.modulusAndExponent()
        let n = Google.base64URL(modulus)
        let even = Google.base64URL(modulus.dropLast() + [0])
        let padded = Google.base64URL([0] + modulus)
        var keys = [try Google.jwk("weak", Google.keys.get().weak)]
        for (number, (n, e)) in [
            (n, "AQ"), (n, "AA"), (n, ""), (n, "Ag"), (n, "AAEAAQ"), (n, "AQAB=="), (n, "AQ+B"), (even, "AQAB"),
            (padded, "AQAB"), ("", "AQAB"), ("AQAB", "AQAB"), (n + "A", "AQAB"),
        ].enumerated() {
            keys.append(#"{"kty":"RSA","kid":"k\#(number)","n":"\#(n)","e":"\#(e)"}"#)
        }
        keys.append(try Self.good.get())
        #expect(try JSONWebKeySet(Array("{\"keys\":[\(keys.joined(separator: ","))]}".utf8)).keys.map(\.id) == ["good"])
    }

    @Test func keysWithoutUseAreForSignatures() throws {
        let key = try Google.jwk("plain", Google.keys.get().current, members: #""key_ops":["verify"],"x":1"#)
        let source = try StaticKeySource(json: Array("{\"keys\":[\(key)]}".utf8))
        #expect(try source.key("plain").id == "plain")
        #expect(throws: DeliveryError.self) { try source.key("plai") }
    }
}
