import Testing
import WireJSON

/// Log texts must not carry received content.
@Suite struct ErrorTests {
    /// Occurs in no message of ours.
    private static let marker = "Zq7#x9"

    @Test(arguments: [
        #"{"Zq7#x9":1,"Zq7#x9":2}"#, #"{"Zq7#x9" Zq7#x9}"#, #"["Zq7#x9\q"]"#, #"["Zq7#x9\ud800"]"#, "[Zq7#x9]",
        "1 Zq7#x9",
        #""Zq7#x9"#, "[1Zq7#x9]", "[-Zq7#x9]", "nuZq7#x9", "\"Zq7#x9\u{1}\"", #"{"Zq7#x9":[[["Zq7#x9"}"#,
    ])
    func refusalsCarryNoContent(text: String) throws {
        let error = try #require(refusal(text))
        #expect(error.path.isEmpty)
        for output in ["\(error)", error.description, String(reflecting: error)] {
            #expect(!output.contains(Self.marker))
            #expect(!output.contains("Zq7"))
        }
    }

    @Test func wrongKindsCarryNoContent() throws {
        let object = try parse(#"{"Zq7#x9":{"a":"Zq7#x9","Zq7#x9":["Zq7#x9"]},"b":99999999999999999999}"#).object()
        var errors: [JSONError] = []
        func collect<Value>(_ read: () throws(JSONError) -> Value) {
            do throws(JSONError) { _ = try read() } catch { errors.append(error) }
        }
        for (_, member) in object.members {
            collect { () throws(JSONError) in try member.bool() }
            collect { () throws(JSONError) in try member.object().required("a").int64() }
            collect { () throws(JSONError) in try member.int64() }
            guard let inner = try? member.object() else { continue }
            for (_, value) in inner.members {
                collect { () throws(JSONError) in try value.bool() }
                collect { () throws(JSONError) in for element in try value.array() { _ = try element.bool() } }
            }
        }
        #expect(errors.count >= 8)
        for error in errors {
            #expect(!error.description.contains("Zq7"))
            #expect(!String(reflecting: error).contains("Zq7"))
        }
        #expect(Set(errors.map(\.path)) == ["*", "*.a", "*.*", "*.*[0]"])
    }

    @Test func everyReasonSaysSomethingOfItsOwn() {
        let reasons: [JSONError.Reason] = [
            .tooLarge(limit: 1), .tooDeep(limit: 1), .tooManyNodes(limit: 1), .byteOrderMark, .unexpectedEnd,
            .unexpectedOctet,
            .trailingOctets, .invalidNumber, .invalidEscape, .unescapedControl, .invalidUTF8, .loneSurrogate,
            .duplicateMember,
            .missing, .unexpectedKind(expected: .array, found: .null), .notAnInteger, .integerOutOfRange,
            .decimalOutOfRange,
        ]
        #expect(Set(reasons.map { JSONError($0, offset: 0).description }).count == reasons.count)
        #expect(
            JSONError(.unexpectedKind(expected: .number, found: .string), path: "data.appAppleId", offset: 123)
                .description
                == "data.appAppleId: expected number, found string at octet 123"
        )
    }

    @Test(arguments: [
        ("", 0), ("  ", 2), ("[1,]", 3), ("[1 2]", 3), ("{} x", 3), (#"["\q"]"#, 2), (#"["ab\ud800"]"#, 4), ("[01]", 2),
        ("[-x]", 2), ("[\"a\u{1}\"]", 3), ("tru", 3), ("trux", 3),
    ])
    func offsetsPointAtTheFault(text: String, offset: Int) {
        #expect(refusal(text)?.offset == offset)
    }
}
