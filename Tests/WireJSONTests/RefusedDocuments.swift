import WireJSON

/// Documents that are not JSON, or that we refuse although they are, each with the reason to be given.
let refusedDocuments: [Refusal] =
    refusedStructures + refusedLiterals + refusedNumbers + refusedControls + refusedEscapes + refusedSurrogates
    + refusedUTF8 + refusedEncodings + refusedWhitespace

private let refusedStructures: [Refusal] = [
    Refusal(.unexpectedEnd, "nothing", text: ""),
    Refusal(.unexpectedEnd, "only a space", text: " "),
    Refusal(.unexpectedEnd, "only white space", text: " \t\r\n"),
    Refusal(.unexpectedEnd, "array not closed", text: "["),
    Refusal(.unexpectedEnd, "array not closed after an element", text: "[1"),
    Refusal(.unexpectedEnd, "array not closed after a comma", text: "[1,"),
    Refusal(.unexpectedEnd, "array not closed after an empty array", text: "[[]"),
    Refusal(.unexpectedEnd, "object not closed", text: "{"),
    Refusal(.unexpectedEnd, "object not closed after a name", text: #"{"a""#),
    Refusal(.unexpectedEnd, "object not closed after a colon", text: #"{"a":"#),
    Refusal(.unexpectedEnd, "object not closed after a value", text: #"{"a":1"#),
    Refusal(.unexpectedEnd, "object not closed after a comma", text: #"{"a":1,"#),
    Refusal(.unexpectedEnd, "string not closed", text: #""a"#),
    Refusal(.unexpectedEnd, "lone quotation mark", text: #"""#),
    Refusal(.unexpectedEnd, "name not closed", text: #"{"a"#),
    Refusal(.unexpectedEnd, "string ended by an escaped mark", text: #"["\"]"#),
    Refusal(.unexpectedOctet, "closing bracket alone", text: "]"),
    Refusal(.unexpectedOctet, "closing brace alone", text: "}"),
    Refusal(.unexpectedOctet, "comma alone", text: ","),
    Refusal(.unexpectedOctet, "colon alone", text: ":"),
    Refusal(.unexpectedOctet, "array closed by a brace", text: "[}"),
    Refusal(.unexpectedOctet, "object closed by a bracket", text: "{]"),
    Refusal(.unexpectedOctet, "array with element closed by a brace", text: "[1}"),
    Refusal(.unexpectedOctet, "object with member closed by a bracket", text: #"{"a":1]"#),
    Refusal(.unexpectedOctet, "crossed", text: #"[{"a":[}]]"#),
    Refusal(.unexpectedOctet, "comma before the only element", text: "[,1]"),
    Refusal(.unexpectedOctet, "comma after the last element", text: "[1,]"),
    Refusal(.unexpectedOctet, "comma after the last element, spaced", text: "[1 , ]"),
    Refusal(.unexpectedOctet, "comma in an empty array", text: "[,]"),
    Refusal(.unexpectedOctet, "two commas", text: "[1,,2]"),
    Refusal(.unexpectedOctet, "no comma between elements", text: "[1 2]"),
    Refusal(.unexpectedOctet, "no comma between strings", text: #"["a" "b"]"#),
    Refusal(.unexpectedOctet, "no comma between arrays", text: "[[][]]"),
    Refusal(.unexpectedOctet, "semicolon between elements", text: "[1;2]"),
    Refusal(.unexpectedOctet, "semicolon long before the end", text: "[1;2\(String(repeating: " ", count: 20))]"),
    Refusal(.unexpectedOctet, "letter before an element", text: "[1,x2\(String(repeating: " ", count: 20))]"),
    Refusal(.unexpectedOctet, "null character for an element", text: "[1,\0]"),
    Refusal(.unexpectedOctet, "null character for a member", text: "{\"a\":1,\0"),
    Refusal(.unexpectedOctet, "null character for the line after a comma", text: "[\n  1,\n  \0"),
    Refusal(.unexpectedOctet, "colon in an array", text: #"["a":1]"#),
    Refusal(.unexpectedOctet, "comma after the last member", text: #"{"a":1,}"#),
    Refusal(.unexpectedOctet, "comma before the only member", text: #"{,"a":1}"#),
    Refusal(.unexpectedOctet, "comma in an empty object", text: "{,}"),
    Refusal(.unexpectedOctet, "two commas between members", text: #"{"a":1,,"b":2}"#),
    Refusal(.unexpectedOctet, "no comma between members", text: #"{"a":1 "b":2}"#),
    Refusal(.unexpectedOctet, "no colon", text: #"{"a" 1}"#),
    Refusal(.unexpectedOctet, "comma for a colon", text: #"{"a",1}"#),
    Refusal(.unexpectedOctet, "equals sign for a colon", text: #"{"a"=1}"#),
    Refusal(.unexpectedOctet, "two colons", text: #"{"a"::1}"#),
    Refusal(.unexpectedOctet, "name without value", text: #"{"a"}"#),
    Refusal(.unexpectedOctet, "name and colon without value", text: #"{"a":}"#),
    Refusal(.unexpectedOctet, "value without name", text: "{:1}"),
    Refusal(.unexpectedOctet, "name is a number", text: "{1:1}"),
    Refusal(.unexpectedOctet, "name is a literal", text: "{null:1}"),
    Refusal(.unexpectedOctet, "name is an array", text: "{[]:1}"),
    Refusal(.unexpectedOctet, "name without quotation marks", text: "{a:1}"),
    Refusal(.unexpectedOctet, "name in apostrophes", text: "{'a':1}"),
    Refusal(.unexpectedOctet, "string in apostrophes", text: "['a']"),
    Refusal(.unexpectedOctet, "string in backquotes", text: "[`a`]"),
    Refusal(.unexpectedOctet, "string in typographic quotation marks", text: "[“a”]"),
    Refusal(.unexpectedOctet, "ellipsis", text: "[1,...]"),
    Refusal(.unexpectedOctet, "parentheses", text: "(1)"),
    Refusal(.unexpectedOctet, "angle brackets", text: "<a/>"),
    Refusal(.unexpectedOctet, "escape outside a string", text: #"[\n]"#),
    Refusal(.unexpectedOctet, "escaped quotation mark opens a string", text: #"[\u0022a"]"#),
    Refusal(.unexpectedOctet, "line comment first", text: "// a\n1"),
    Refusal(.unexpectedOctet, "block comment first", text: "/* a */1"),
    Refusal(.unexpectedOctet, "comment within", text: "[1/* a */]"),
    Refusal(.unexpectedOctet, "hash comment", text: "# a\n1"),
    Refusal(.trailingOctets, "comment after", text: "1// a"),
    Refusal(.trailingOctets, "block comment after", text: "{}/**/"),
    Refusal(.trailingOctets, "two documents", text: "{}{}"),
    Refusal(.trailingOctets, "two documents on two lines", text: "{}\n{}"),
    Refusal(.trailingOctets, "two numbers", text: "1 2"),
    Refusal(.trailingOctets, "bracket too many", text: "[]]"),
    Refusal(.trailingOctets, "brace too many", text: "{}}"),
    Refusal(.trailingOctets, "comma after the document", text: "{},"),
    Refusal(.trailingOctets, "comma after a scalar", text: "1,"),
    Refusal(.trailingOctets, "comma and more after a scalar", text: "1,2" + String(repeating: " ", count: 20)),
    Refusal(.trailingOctets, "quotation mark after a string", text: #""a"""#),
    Refusal(.trailingOctets, "text after an array", text: "[]x"),
    Refusal(.trailingOctets, "NUL after the document", text: "{}\u{0}"),
    Refusal(.trailingOctets, "member without an object", text: #""a":1"#),
    Refusal(.trailingOctets, "byte order mark after the document", text: "1\u{FEFF}"),
    Refusal(.duplicateMember, "same name twice", text: #"{"a":1,"a":1}"#),
    Refusal(.duplicateMember, "same name twice, other value", text: #"{"a":1,"b":2,"a":null}"#),
    Refusal(.duplicateMember, "same name twice, far inside", text: #"[0,{"x":[{"y":{"a":1,"a":2}}]}]"#),
    Refusal(.duplicateMember, "same name on both sides of an object", text: #"{"a":{"b":1,"c":[{}]},"a":1}"#),
    Refusal(.duplicateMember, "empty name twice", text: #"{"":1,"":2}"#),
    Refusal(.duplicateMember, "one of them escaped", text: #"{"bundleId":1,"bundle\u0049d":2}"#),
    Refusal(.duplicateMember, "the first escaped", text: #"{"bundle\u0049d":1,"bundleId":2}"#),
    Refusal(.duplicateMember, "both escaped, differently", text: #"{"\u0061b":1,"a\u0062":2}"#),
    Refusal(.duplicateMember, "solidus with and without escape", text: #"{"a/b":1,"a\/b":2}"#),
    Refusal(.duplicateMember, "upper and lower case digits", text: #"{"\u00e9":1,"\u00E9":2}"#),
    Refusal(.duplicateMember, "raw and as a surrogate pair", text: #"{"😀":1,"\ud83d\ude00":2}"#),
    Refusal(.duplicateMember, "quotation mark in two spellings", text: #"{"\"":1,"\u0022":2}"#),
    Refusal(.duplicateMember, "NUL twice", text: #"{"\u0000":1,"\u0000":2}"#),
]

private let refusedLiterals: [Refusal] =
    [
        "True", "TRUE", "False", "NULL", "Null", "None", "nil", "undefined", "yes", "NaN", "Infinity", "inf", "nul1",
        "tRue", "fal5e", "truu", "trye", "falsy", "nuLl", "n\u{0}ll",
    ].map { Refusal(.unexpectedOctet, "literal \($0)", text: "[\($0)]") }
    + ["t", "tr", "tru", "f", "fals", "n", "nul"].map {
        Refusal(.unexpectedEnd, "literal \($0), then nothing", text: $0)
    }
    + ["truee", "nulll", "falsetrue", "true1", "null\"\""].map { Refusal(.trailingOctets, "literal \($0)", text: $0) }

private let refusedNumbers: [Refusal] =
    [
        "-", "--1", "-a", "-.5", "- 1", "-Infinity", "-NaN", "1.", "1.e1", "1.a", "1..2", "0.", "0.e1", "-0.", "1e",
        "1E",
        "1e+", "1E-", "1e+-1", "1ea", "1e.5", "0e", "1.5e", "-١", "1.٥",
    ].map { Refusal(.invalidNumber, "number \($0)", text: "[\($0)]") }
    + [
        "+1", ".5", "+.5", "01", "00", "-01", "-00", "007", "0x1F", "0b1", "0o7", "1_000", "1,000.5.5", "1.2.3",
        "1e5.5",
        "1e5e5", "1f", "1L", "1n", "1-1", "1+1", "0.1.2", "1 000", "$1", "1%", "١", "１", "½", "∞", "1\u{0}",
    ].map { Refusal(.unexpectedOctet, "number \($0)", text: "[\($0)]") }
    + ["-", "1.", "0.", "1e", "1e+", "1e-", "-0.", "2.5E"].map {
        Refusal(.unexpectedEnd, "number \($0), then nothing", text: $0)
    }
    + ["01", "1a", "0x0", "1.0.0", "-0-"].map { Refusal(.trailingOctets, "number \($0), alone", text: $0) }

private let refusedControls: [Refusal] = (UInt8(0)..<0x20).map {
    Refusal(.unescapedControl, .string("raw control \($0) in a string", [0x61, $0, 0x62]))
}

private let refusedEscapes: [Refusal] =
    (UInt8(0)...0x7F).filter { !Array(#""\/bfnrtu"#.utf8).contains($0) }.map {
        Refusal(.invalidEscape, .string("reverse solidus before octet \($0)", [0x5C, $0]))
    }
    + [
        #"\u123G"#, #"\uG123"#, #"\u 123"#, #"\u+123"#, #"\u-123"#, #"\u12 4"#, #"\u0x41"#, #"\u{41}"#, #"\U0041"#,
        #"\x41"#, #"\u００41"#,
    ]
    .map { Refusal(.invalidEscape, "escape \($0)", text: "[\"\($0)\"]") }
    + [
        Refusal(.invalidEscape, "four digits cut short by the mark", text: #"["\u004",1,2]"#),
        Refusal(.invalidEscape, .string("reverse solidus before a non-ASCII octet", [0x5C, 0xC3, 0xA9])),
        Refusal(.unexpectedEnd, "document ends after a reverse solidus", text: #"["\"#),
        Refusal(.unexpectedEnd, "document ends after u", text: #"["\u"#),
        Refusal(.unexpectedEnd, "document ends within four digits", text: #"["\u00"#),
        Refusal(.invalidEscape, "in a name", text: #"{"\q":1}"#),
    ]

private let refusedSurrogates: [Refusal] =
    [
        (#"\ud800"#, "first half alone"), (#"\udbff"#, "last first half alone"), (#"\udc00"#, "second half alone"),
        (#"\udfff"#, "last second half alone"), (#"\ude00\ud83d"#, "halves the wrong way round"),
        (#"\ud83d\ud83d"#, "first half twice"), (#"\ud83dx"#, "first half, then a letter"),
        (#"\ud83d\n"#, "first half, then another escape"), (#"\ud83d\u0041"#, "first half, then a character"),
        (#"\ud83d\\ude00"#, "first half, then a reverse solidus and text"),
        (#"\ud83d\ude0"#, "second half cut short"), (#"\ud83d\ue000"#, "first half, then a character above"),
        (#"\ud83d\ude00\ude00"#, "pair, then a second half"), (#"\ud83d \ude00"#, "halves apart"),
        (#"\ud83d\ud83d\ude00"#, "first half, then a pair"),
    ].flatMap { (content, name) in
        [
            Refusal(.loneSurrogate, "\(name), in a value", text: "[\"\(content)\",0,0]"),
            Refusal(.loneSurrogate, "\(name), in a name", text: "{\"\(content)\":0,\"a\":0}"),
        ]
    }

private let refusedUTF8: [Refusal] =
    [
        ("continuation alone", [0x80]), ("last continuation alone", [0xBF]), ("two continuations", [0x80, 0xBF]),
        ("overlong NUL", [0xC0, 0x80]), ("overlong solidus", [0xC0, 0xAF]), ("overlong, C1", [0xC1, 0xBF]),
        ("overlong in three", [0xE0, 0x80, 0xAF]), ("overlong in three, last", [0xE0, 0x9F, 0xBF]),
        ("overlong in four", [0xF0, 0x80, 0x80, 0xAF]), ("overlong in four, last", [0xF0, 0x8F, 0xBF, 0xBF]),
        ("surrogate, first", [0xED, 0xA0, 0x80]), ("surrogate, last", [0xED, 0xBF, 0xBF]),
        ("surrogate pair (CESU-8)", [0xED, 0xA0, 0xBD, 0xED, 0xB8, 0x80]),
        ("modified NUL, then text", [0xC0, 0x80, 0x61]),
        ("above U+10FFFF", [0xF4, 0x90, 0x80, 0x80]), ("lead F5", [0xF5, 0x80, 0x80, 0x80]),
        ("lead F8, five octets", [0xF8, 0x88, 0x80, 0x80, 0x80]),
        ("lead FC, six octets", [0xFC, 0x84, 0x80, 0x80, 0x80, 0x80]),
        ("FE", [0xFE]), ("FF", [0xFF]), ("two, cut short", [0xC3]), ("two, then ASCII", [0xC3, 0x41]),
        ("two, then another lead", [0xC3, 0xC3, 0xA9]), ("three, cut after one", [0xE2]),
        ("three, cut after two", [0xE2, 0x82]),
        ("three, second is ASCII", [0xE2, 0x41, 0xAC]), ("three, third is ASCII", [0xE2, 0x82, 0x41]),
        ("four, cut after one", [0xF0]), ("four, cut after two", [0xF0, 0x9F]),
        ("four, cut after three", [0xF0, 0x9F, 0x98]),
        ("four, second is ASCII", [0xF0, 0x41, 0x98, 0x80]), ("four, third is ASCII", [0xF0, 0x9F, 0x41, 0x80]),
        ("four, fourth is ASCII", [0xF0, 0x9F, 0x98, 0x41]), ("sound one, then continuation", [0xC3, 0xA9, 0x80]),
        ("Latin-1 text", [0x47, 0x72, 0xF6, 0xDF, 0x65]), ("Windows-1252 quotation marks", [0x93, 0x61, 0x94]),
        ("Shift JIS", [0x93, 0xFA, 0x96, 0x7B]),
        ("after seven ASCII", [0x61, 0x61, 0x61, 0x61, 0x61, 0x61, 0x61, 0xFF]),
    ].flatMap { (name: String, octets: [UInt8]) in
        [
            Refusal(.invalidUTF8, .string("UTF-8: \(name), in a value", octets)),
            Refusal(
                .invalidUTF8,
                Case("UTF-8: \(name), in a name", [0x7B, 0x22] + octets + [0x22, 0x3A, 0x30, 0x7D])
            ),
        ]
    }
    + [
        Refusal(.invalidUTF8, Case("UTF-8: document ends within a sequence", [0x22, 0xE2, 0x82])),
        Refusal(.unexpectedOctet, Case("UTF-8: malformed outside a string", [0x5B, 0xFF, 0x5D])),
        Refusal(.unexpectedOctet, Case("UTF-8: sound outside a string", "[é]")),
    ]

private let refusedEncodings: [Refusal] = [
    Refusal(.byteOrderMark, "byte order mark", text: "\u{FEFF}{}"),
    Refusal(.byteOrderMark, "byte order mark alone", text: "\u{FEFF}"),
    Refusal(.byteOrderMark, "two byte order marks", text: "\u{FEFF}\u{FEFF}1"),
    Refusal(.unexpectedOctet, "byte order mark after a space", text: " \u{FEFF}{}"),
    Refusal(.unexpectedOctet, Case("two thirds of a byte order mark", [0xEF, 0xBB, 0x7B, 0x7D])),
    Refusal(.unexpectedOctet, Case("UTF-16, little end first, marked", [0xFF, 0xFE, 0x7B, 0x00, 0x7D, 0x00])),
    Refusal(.unexpectedOctet, Case("UTF-16, big end first, marked", [0xFE, 0xFF, 0x00, 0x7B, 0x00, 0x7D])),
    Refusal(.unexpectedOctet, Case("UTF-16, little end first", [0x7B, 0x00, 0x7D, 0x00])),
    Refusal(.unexpectedOctet, Case("UTF-16, big end first", [0x00, 0x7B, 0x00, 0x7D])),
    Refusal(.trailingOctets, Case("UTF-16 number", [0x31, 0x00])),
    Refusal(.unescapedControl, Case("UTF-16 string", [0x22, 0x00, 0x61, 0x00, 0x22, 0x00])),
    Refusal(.unexpectedOctet, Case("UTF-32, little end first, marked", [0xFF, 0xFE, 0, 0, 0x31, 0, 0, 0])),
    Refusal(.unexpectedOctet, Case("UTF-32, big end first", [0, 0, 0, 0x31])),
    Refusal(.unexpectedOctet, "NUL first", text: "\u{0}{}"),
    Refusal(.unexpectedOctet, "NUL within", text: "[\u{0}]"),
    Refusal(.unexpectedOctet, "CBOR", text: "\u{1}"),
]

private let refusedWhitespace: [Refusal] =
    [
        ("vertical tab", "\u{B}"), ("form feed", "\u{C}"), ("backspace", "\u{8}"), ("unit separator", "\u{1F}"),
        ("DEL", "\u{7F}"),
        ("next line", "\u{85}"), ("no-break space", "\u{A0}"), ("en quad", "\u{2000}"), ("line separator", "\u{2028}"),
        ("word joiner", "\u{2060}"), ("ideographic space", "\u{3000}"),
    ].flatMap { (name, space) in
        [
            Refusal(.unexpectedOctet, "\(name) before", text: "\(space)1"),
            Refusal(.unexpectedOctet, "\(name) within", text: "[1,\(space)2]"),
            Refusal(.trailingOctets, "\(name) after", text: "1\(space)"),
        ]
    }
