/// Documents RFC 8259 allows and we read; from its grammar, section by section.
let acceptedDocuments: [Case] =
    acceptedStructures + acceptedWhitespace + acceptedNumbers + acceptedStrings + acceptedEncodings

private let acceptedStructures: [Case] = [
    Case("null", "null"),
    Case("true", "true"),
    Case("false", "false"),
    Case("lone number", "17"),
    Case("lone string", #""alone""#),
    Case("lone empty string", #""""#),
    Case("empty array", "[]"),
    Case("empty object", "{}"),
    Case("array in array", "[[]]"),
    Case("object in array", "[{}]"),
    Case("array of every kind", #"[null,true,false,1,"s",[],{}]"#),
    Case("object of every kind", #"{"n":null,"t":true,"f":false,"i":1,"s":"s","a":[],"o":{}}"#),
    Case("siblings after containers", "[[],[[]],{},[{}],[]]"),
    Case("objects side by side with the same names", #"[{"a":1},{"a":2}]"#),
    Case("object within with the same name", #"{"a":{"a":{"a":1}}}"#),
    Case("name is also a value", #"{"a":"a","b":"a"}"#),
    Case("empty name", #"{"":0}"#),
    Case("empty name among others", #"{"":0,"a":1," ":2}"#),
    Case("names that differ in case", #"{"id":1,"ID":2,"Id":3}"#),
    Case("names that differ by a NUL", #"{"id":1,"id\u0000":2}"#),
    Case("names canonically equivalent, octets differ", #"{"\u00e9":1,"e\u0301":2}"#),
    Case("names that differ in the middle alone", #"{"aaaaaaaa1bbbbbbbb":1,"aaaaaaaa2bbbbbbbb":2}"#),
    Case("names of one fingerprint, one starts the other", #"{"xxxxxxxxbaaaaaaa":1,"xxxxxxxxbaaaaaaaa":2}"#),
    Case("names of which one starts the other", #"{"a":1,"aa":2,"aaa":3,"aaaaaaaa":4,"aaaaaaaaa":5}"#),
    Case("names written with escapes", #"{"\u0061":1,"\/":2,"\"":3,"\\":4,"\n":5}"#),
    Case("name beyond the basic plane", #"{"\ud83d\ude00":1,"😁":2}"#),
    Case("64 arrays deep", String(repeating: "[", count: 64) + String(repeating: "]", count: 64)),
    Case("64 objects deep", String(repeating: #"{"a":"#, count: 63) + "{}" + String(repeating: "}", count: 63)),
    Case("a thousand elements", "[" + Array(repeating: "0", count: 1_000).joined(separator: ",") + "]"),
    Case("a thousand members", "{" + (0..<1_000).map { #""m\#($0)":\#($0)"# }.joined(separator: ",") + "}"),
    Case("words that look like literals inside a string", #"["true","null","NaN","[]","{}",":",","]"#),
]

private let acceptedWhitespace: [Case] = [
    Case("space before", " 1"),
    Case("space after", "1 "),
    Case("tab around", "\t[]\t"),
    Case("line feed around", "\n{}\n"),
    Case("carriage return around", "\r\"\"\r"),
    Case("CRLF around", "\r\n0\r\n"),
    Case(
        "all four, many times",
        String(repeating: " \t\r\n", count: 50) + "[]" + String(repeating: "\n\r\t ", count: 50)
    ),
    Case("within empty array", "[ \n\t\r ]"),
    Case("within empty object", "{ \n\t\r }"),
    Case("around every token of an array", " [ 1 , 2 , [ ] , \"a\" ] "),
    Case("around every token of an object", " { \"a\" : 1 , \"b\" : { } } "),
    Case("indented", "{\n        \"a\": [\n                1,\n                2\n        ]\n}\n"),
    Case(
        "indented by one to sixteen spaces",
        "[" + (1...16).map { "\n" + String(repeating: " ", count: $0) + "\($0)" }.joined(separator: ",") + "]"
    ),
    Case("line feed then long indentation at the end", "[]\n" + String(repeating: " ", count: 37)),
]

private let acceptedNumbers: [Case] = [
    "0", "-0", "1", "-1", "9", "10", "-10", "1234567890", "9223372036854775807", "-9223372036854775808",
    "9223372036854775808", "18446744073709551616", "123456789012345678901234567890", "9007199254740993",
    "0.0", "-0.0", "0.1", "1.0", "-1.5", "0.1234567890123456789", "10.010", "0e0", "0E0", "0e+0", "0e-0", "1e3",
    "1E3", "1e+3", "1e-3", "1.5e10", "-1.5E-10", "0e1", "1e0001", "1e400", "-1e400", "1e-400", "1e99999999999999999999",
    "0.00000000000000000000000000000000000000000000001", "1" + String(repeating: "0", count: 400),
].map { Case("number \($0.prefix(24))", "[\($0)]") }

private let acceptedStrings: [Case] =
    [
        Case("every short escape", #"["\"\\\/\b\f\n\r\t"]"#),
        Case("escaped solidus", #"["\/"]"#),
        Case("escaped NUL", #"["\u0000"]"#),
        Case("escaped control", #"["\u001F\u001f"]"#),
        Case("upper and lower case digits", #"["\u00aB\u00Ab\uABCD\uabcd"]"#),
        Case("escaped quotation mark by number", #"["\u0022"]"#),
        Case("escaped reverse solidus by number, then n", #"["\u005cn"]"#),
        Case("two reverse solidi, then u", #"["\\u0000"]"#),
        Case("surrogate pair", #"["\ud834\udd1e"]"#),
        Case("surrogate pair, mixed case", #"["\uD834\uDd1E"]"#),
        Case("first pair", #"["\ud800\udc00"]"#),
        Case("last pair", #"["\udbff\udfff"]"#),
        Case("two pairs in a row", #"["\ud83d\ude00\ud83d\ude01"]"#),
        Case("escapes beside the surrogates", #"["\ud7ff\ue000"]"#),
        Case("escaped noncharacters", #"["\ufffe\uffff\ufdd0\ud83f\udfff"]"#),
        Case("escaped byte order mark inside", #"["\ufeff"]"#),
        Case("escape as last of eight octets", #"["1234567\n"]"#),
        Case("long string without escape", "\"" + String(repeating: "abcdefghij", count: 1_000) + "\""),
        Case("long string of escapes", "\"" + String(repeating: #"\u00e9"#, count: 1_000) + "\""),
        Case("DEL is not a control here", "[\"\u{7F}\"]"),
        Case("C1 controls, raw", "[\"\u{80}\u{9F}\"]"),
        Case("U+2028 and U+2029, raw", "[\"\u{2028}\u{2029}\"]"),
        Case("apostrophe", "[\"'\"]"),
        Case(
            "lines that begin further left",
            "[\n        1,\n  2,\n \"a\",\n3,\n    4\(String(repeating: " ", count: 20))]"
        ),
        Case("comment inside a string", #"["/* no */ // no"]"#),
    ]
    // The eight-octet steps have to stop at the same place wherever it falls.
    + (0...17).map { Case("quotation mark after \($0) octets", "[\"" + String(repeating: "x", count: $0) + "\"]") }

private let acceptedEncodings: [Case] = [
    Case("two octets, first and last", "[\"\u{80}\u{7FF}\"]"),
    Case("three octets, first and last", "[\"\u{800}\u{FFFF}\"]"),
    Case("three octets beside the surrogates", "[\"\u{D7FF}\u{E000}\"]"),
    Case("four octets, first and last", "[\"\u{10000}\u{10FFFF}\"]"),
    // U+FDD0, U+FFFE, U+FFFF, U+1FFFF.
    .string("noncharacters, raw", [0xEF, 0xB7, 0x90, 0xEF, 0xBF, 0xBE, 0xEF, 0xBF, 0xBF, 0xF0, 0x9F, 0xBF, 0xBF]),
    Case("byte order mark inside a string, raw", "[\"\u{FEFF}\"]"),
    Case("replacement character, raw", "[\"\u{FFFD}\"]"),
    Case("private use", "[\"\u{E000}\u{F8FF}\u{F0000}\"]"),
    Case("combining and joining", "[\"e\u{301} 👩‍👩‍👧‍👦 🇩🇪\"]"),
    Case("name in Japanese", #"{"名前":"値"}"#),
    Case("many scripts", #"["Größe 大きさ размер الحجم גודל 크기 ขนาด"]"#),
    Case("non-ASCII then ASCII then quotation mark", #"["ééé12345678é"]"#),
]
