import Testing
import WireJSON

@Suite struct ValueTests {
    @Test(arguments: [
        (#""""#, ""), (#""a""#, "a"), (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"),
        (#""\u0041\u00e9\u20AC""#, "Aé€"),
        (#""\ud83d\ude00!""#, "😀!"), (#""\ud800\udc00\udbff\udfff""#, "\u{10000}\u{10FFFF}"), (#""\u0000""#, "\u{0}"),
        (#""\u07ff\u0800\uffff""#, "\u{7FF}\u{800}\u{FFFF}"), (#""é\u00e9é""#, "ééé"), (#""\u005cn""#, #"\n"#),
        (#""\r\n""#, "\r\n"), (#""a\u0301""#, "a\u{301}"),
    ])
    func strings(text: String, expected: String) throws {
        let value = try parse(text)
        #expect(try Array(value.string().utf8) == Array(expected.utf8))
        #expect(try value.utf8() == Array(expected.utf8))
        #expect(try Array(value.utf8Slice()) == Array(expected.utf8))
        #expect(value.isString(expected))
        #expect(!value.isString(expected + "\u{0}"))
        #expect(!value.isString(String(expected.unicodeScalars.dropLast()) + "?"))
        if !expected.isEmpty { #expect(!value.isString(String(expected.unicodeScalars.dropLast()))) }
    }

    @Test(arguments: 1...40) func equalityLooksAtEveryOctet(count: Int) throws {
        let text = String(repeating: "a", count: count)
        let value = try parse("\"\(text)\"")
        #expect(value.isString(text))
        for position in 0..<count {
            var other = Array(text.utf8)
            other[position] = UInt8(ascii: "b")
            #expect(!value.isString(String(decoding: other, as: UTF8.self)))
        }
    }

    /// Followed by nothing that could be read with them, and by more.
    @Test(arguments: 0...40, ["", "                "]) func namesDifferInEveryOctet(count: Int, rest: String) throws {
        let name = String(repeating: "a", count: count)
        let object = try parse("{\"\(name)\":1}\(rest)").object()
        #expect(try object[MemberName(name)]?.int64() == 1)
        #expect(object[MemberName(name + "a")] == nil)
        #expect(object[MemberName(name + "\u{0}")] == nil)
        for position in 0..<count {
            var other = Array(name.utf8)
            other[position] = UInt8(ascii: "b")
            #expect(object[MemberName(String(decoding: other, as: UTF8.self))] == nil)
            other.remove(at: position)
            #expect(object[MemberName(String(decoding: other, as: UTF8.self))] == nil)
        }
    }

    /// As a name and as a string, followed by nothing that could be read with them, and by more.
    @Test(arguments: ["", "                "]) func everyOctetAtEveryPlace(rest: String) throws {
        for position in 0..<40 {
            for octet in UInt8.min...UInt8.max {
                var text = [UInt8](repeating: UInt8(ascii: "a"), count: 40)
                text[position] = octet
                let isName = refusal([0x7B, 0x22] + text + Array("\":1}\(rest)".utf8)) == nil
                let isString = refusal([0x22] + text + Array("\"\(rest)".utf8)) == nil
                // A quotation mark ends it there, and what follows belongs to nothing.
                let isSound = 0x20..<0x80 ~= octet && octet != 0x22 && octet != 0x5C
                if isName != isSound || isString != isSound {
                    Issue.record("octet \(octet) at \(position): name \(isName), string \(isString)")
                }
            }
        }
    }

    @Test func equalityIsOfOctets() throws {
        let composed = try parse("\"\u{E9}\"")
        #expect(composed.isString("\u{E9}"))
        #expect(!composed.isString("e\u{301}"))
        #expect(try composed.string() == "e\u{301}")
        #expect(try !parse("1").isString("1"))
    }

    @Test func namesAreFoundByOctetsAsWell() throws {
        let object = try parse("{\"\u{E9}\":1,\"bundle\\u0049d\":2,\"with\\\\solidus\":3,\"long enough name\":4}")
            .object()
        #expect(object["\u{E9}"] != nil)
        #expect(object["e\u{301}"] == nil)
        #expect(try object["bundleId"]?.int64() == 2)
        #expect(try object[#"with\solidus"#]?.int64() == 3)
        #expect(try object["long enough name"]?.int64() == 4)
        #expect(object["long enough namE"] == nil)
        #expect(object["Long enough name"] == nil)
        #expect(object["long enough"] == nil)
        #expect(object[""] == nil)
        #expect(object.members.map(\.name) == ["\u{E9}", "bundleId", #"with\solidus"#, "long enough name"])
    }

    @Test func stringsWithoutEscapesAreViewsOfTheDocument() throws {
        let bytes = Array(#"{"a":"plain","b":"esc\u0061ped","c":1}"#.utf8)
        let object = try parse(bytes).object()
        let range = try #require(object["a"]?.rawUTF8Range)
        #expect(Array(bytes[range]) == Array("plain".utf8))
        #expect(try object["a"]?.utf8Slice().startIndex == range.lowerBound)
        #expect(object["b"]?.rawUTF8Range == nil)
        #expect(object["c"]?.rawUTF8Range == nil)
    }

    @Test func sourceOfEveryKind() throws {
        let text = #"{"n" : null , "t":true,"f":false,"i":-1.5e3 ,"s" : "a\n" ,"a":[ 1 , 2 ] ,"o":{ "x" : [] } }"#
        let object = try parse(text).object()
        let sources = object.members.map { String(decoding: $0.value.rawBytes, as: UTF8.self) }
        #expect(sources == ["null", "true", "false", "-1.5e3", #""a\n""#, "[ 1 , 2 ]", #"{ "x" : [] }"#])
        #expect(object.members.map(\.value.kind) == [.null, .bool, .bool, .number, .string, .array, .object])
        #expect(object.count == 7)
    }

    @Test func nullIsNotAbsent() throws {
        let object = try parse(#"{"a":null}"#).object()
        #expect(object["a"]?.kind == .null)
        #expect(object["b"] == nil)
        #expect(try object.required("a").isNull)
        #expect(failure { () throws(JSONError) in try object.required("b") } == .missing)
    }

    @Test func arraysInOrder() throws {
        let array = try parse(#"[[1,[2]],{"a":[3]},"x",[]]"#).array()
        #expect(array.count == 4)
        #expect(array.map(\.kind) == [.array, .object, .string, .array])
        #expect(array.map(\.path) == ["[0]", "[1]", "[2]", "[3]"])
        #expect(try parse("[]").array().first == nil)
        #expect(try parse(#"["a","b"]"#).strings() == ["a", "b"])
        #expect(
            failure { () throws(JSONError) in try parse(#"["a",1]"#).strings() }
                == .unexpectedKind(expected: .string, found: .number)
        )
    }

    private static let kinds: [(String, JSONValue.Kind)] = [
        ("null", .null), ("true", .bool), ("1", .number), (#""1""#, .string), ("[1]", .array), (#"{"a":1}"#, .object),
    ]

    /// Nothing is converted: `"1"` is not a number, `1` is not true.
    @Test(arguments: kinds)
    func noKindStandsForAnother(text: String, found: JSONValue.Kind) throws {
        let value = try parse(text)
        #expect(value.kind == found)
        func expected(_ kind: JSONValue.Kind) -> JSONError.Reason? {
            kind == found ? nil : .unexpectedKind(expected: kind, found: found)
        }
        #expect(failure { () throws(JSONError) in try value.bool() } == expected(.bool))
        #expect(failure { () throws(JSONError) in try value.int64() } == expected(.number))
        #expect(failure { () throws(JSONError) in try value.decimal() } == expected(.number))
        #expect(failure { () throws(JSONError) in try value.string() } == expected(.string))
        #expect(failure { () throws(JSONError) in try value.utf8() } == expected(.string))
        #expect(failure { () throws(JSONError) in try value.array() } == expected(.array))
        #expect(failure { () throws(JSONError) in try value.object() } == expected(.object))
    }
}
