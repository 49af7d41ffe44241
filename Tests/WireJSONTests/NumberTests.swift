import Testing
import WireJSON

@Suite struct NumberTests {
    @Test(
        arguments: [
            ("0", 0), ("-0", 0), ("1", 1), ("-1", -1), ("9007199254740993", 9_007_199_254_740_993),
            ("-9007199254740993", -9_007_199_254_740_993), ("9223372036854775807", .max),
            ("-9223372036854775808", .min), ("1757940000123", 1_757_940_000_123),
        ] as [(String, Int64)]
    )
    func integers(text: String, expected: Int64) throws {
        #expect(try parse(text).int64() == expected)
        #expect(try parse("[ \(text) ]").array().first?.int64() == expected)
        #expect(try parse(text).decimal().int64 == expected)
    }

    @Test(arguments: ["1.0", "1e3", "0.0", "-0.0", "0e0", "18.5", "1E0", "10e-1", "9223372036854775807.0", "1e400"])
    func notWrittenAsIntegers(text: String) throws {
        let value = try parse(text)
        #expect(failure { () throws(JSONError) in try value.int64() } == .notAnInteger)
    }

    @Test(arguments: [
        "9223372036854775808", "-9223372036854775809", "18446744073709551615", "18446744073709551616",
        "18446744073709551617", "92233720368547758070", "99999999999999999999999999999999999999999999",
        "-99999999999999999999999999999999999999999999", "340282366920938463463374607431768211456",
        "1" + String(repeating: "0", count: 100_000),
    ])
    func integersBeyondSixtyFourBits(text: String) throws {
        let value = try parse(text)
        #expect(failure { () throws(JSONError) in try value.int64() } == .integerOutOfRange)
    }

    @Test(
        arguments: [
            ("1.0", 1), ("1e3", 1_000), ("10e-1", 1), ("9.223372036854775807e18", .max),
            ("-922337203685477580.8e1", .min),
            ("0e999999999999999999999", 0), ("-0.000", 0),
        ] as [(String, Int64)]
    )
    func wholeDecimals(text: String, expected: Int64) throws {
        #expect(try parse(text).decimal().int64 == expected)
    }

    @Test(arguments: ["0.5", "1e-1", "9223372036854775808", "-9223372036854775809", "1e19"])
    func decimalsThatAreNoInteger(text: String) throws {
        #expect(try parse(text).decimal().int64 == nil)
    }

    @Test(
        arguments: [
            ("0", 0, 0, "0"), ("-0", 0, 0, "0"), ("0.00", 0, 0, "0"), ("-0.0e5", 0, 0, "0"), ("9.99", 999, 2, "9.99"),
            ("-9.99", -999, 2, "-9.99"), ("1.50", 15, 1, "1.5"), ("1.5", 15, 1, "1.5"), ("15e-1", 15, 1, "1.5"),
            ("0.15E+1", 15, 1, "1.5"), ("100", 100, 0, "100"), ("1e2", 100, 0, "100"), ("100.000", 100, 0, "100"),
            ("1000e-2", 10, 0, "10"), ("1050e-2", 105, 1, "10.5"), ("0.05", 5, 2, "0.05"), ("-0.05", -5, 2, "-0.05"),
            ("5e-3", 5, 3, "0.005"), ("0.1234567890123456789", 1_234_567_890_123_456_789, 19, "0.1234567890123456789"),
            ("9.990000000000000213", 9_990_000_000_000_000_213, 18, "9.990000000000000213"),
            ("9007199254740993", 9_007_199_254_740_993, 0, "9007199254740993"),
            ("1e37", 10_000_000_000_000_000_000_000_000_000_000_000_000, 0, "10000000000000000000000000000000000000"),
            ("1e-38", 1, 38, "0.00000000000000000000000000000000000001"),
            (
                "99999999999999999999999999999999999999", 99_999_999_999_999_999_999_999_999_999_999_999_999, 0,
                "99999999999999999999999999999999999999"
            ),
            (
                "-9999999999999999999.9999999999999999999", -99_999_999_999_999_999_999_999_999_999_999_999_999, 19,
                "-9999999999999999999.9999999999999999999"
            ),
            // Digits that say nothing do not count.
            ("0000.5".replacingPrefix("0000", "0"), 5, 1, "0.5"),
            ("1." + String(repeating: "0", count: 1_000), 1, 0, "1"),
            ("0." + String(repeating: "0", count: 1_000) + "1e1001", 1, 0, "1"),
            ("1" + String(repeating: "0", count: 1_000) + "e-1000", 1, 0, "1"),
        ] as [(String, Int128, Int, String)]
    )
    func decimals(text: String, coefficient: Int128, scale: Int, plain: String) throws {
        let decimal = try parse(text).decimal()
        #expect(decimal.coefficient == coefficient)
        #expect(decimal.scale == scale)
        #expect(decimal.description == plain)
    }

    @Test(arguments: [
        "1e38", "-1e38", "1e400", "1e-39", "1e-400", "123456789012345678901234567890123456789",
        "1234567890123456789012345678901234567.89", "0.000000000000000000000000000000000000001",
        "1e99999999999999999999999999", "1e-99999999999999999999999999", "1" + String(repeating: "0", count: 100_000),
        "1e18446744073709551616", "1e-18446744073709551616", "1e18446744073709551617", "1e9223372036854775808",
        "10000000000000000000000000000000000000e1", "99999999999999999999999999999999999999e1",
        "1" + String(repeating: "0", count: 40) + "1",
    ])
    func decimalsThatWouldNotBeExact(text: String) throws {
        let value = try parse(text)
        #expect(failure { () throws(JSONError) in try value.decimal() } == .decimalOutOfRange)
    }

    @Test func equalNumbersAreEqualValues() throws {
        #expect(try parse("1.50").decimal() == parse("15e-1").decimal())
        #expect(try Set(["1", "1.0", "10e-1", "0.1e1"].map { try parse($0).decimal() }).count == 1)
        #expect(try parse("1.5").decimal() != parse("1.05").decimal())
    }
}

extension String {
    fileprivate func replacingPrefix(_ prefix: String, _ other: String) -> String {
        hasPrefix(prefix) ? other + dropFirst(prefix.count) : self
    }
}
