import FoundationEssentials
import Normalizer
import Testing

@Suite("Exact decimals and money")
struct ExactDecimalTests {
    @Test(
        "Decimal notation reads and writes without loss",
        arguments: [
            ("9.99", "9.99"), ("9.990", "9.99"), ("10.00", "10"), ("0", "0"), ("-0.50", "-0.5"), ("0.05", "0.05"),
            ("-12", "-12"), ("0.1234567890123456789", "0.1234567890123456789"),
            ("99999999999999999999999999999999999999", "99999999999999999999999999999999999999"),
            ("0.00000000000000000000000000000000000001", "0.00000000000000000000000000000000000001"),
        ]
    )
    func notation(text: String, written: String) throws {
        let value = try #require(ExactDecimal(text))
        #expect(value.description == written)
        #expect(ExactDecimal(written) == value)
    }

    @Test(
        "Anything else is refused",
        arguments: [
            "", "-", ".", "1.", ".5", "+1", "1e3", "1,5", "NaN", "١", "1 ", "1.2.3", "--1",
            "100000000000000000000000000000000000000",
        ]
    )
    func refused(text: String) {
        #expect(ExactDecimal(text) == nil)
    }

    @Test(
        "Order is that of the numbers, whatever their scale",
        arguments: [("9.99", "10"), ("-1", "0.001"), ("-0.02", "-0.01"), ("1.5", "1.51")]
    )
    func order(smaller: String, larger: String) throws {
        let larger = try #require(ExactDecimal(larger))
        let smaller = try #require(ExactDecimal(smaller))
        #expect(smaller < larger)
        #expect(!(larger < smaller))
    }

    @Test("Numbers that no common scale can hold are still ordered")
    func orderAtTheLimits() throws {
        let large = try #require(ExactDecimal("99999999999999999999999999999999999998"))
        let small = try #require(ExactDecimal("0.00000000000000000000000000000000000001"))
        #expect(small < large)
        #expect(!(large < small))
    }

    @Test("Thousandths of a unit become whole units")
    func milliunits() throws {
        #expect(try #require(ExactDecimal(coefficient: 10990, scale: 3)).description == "10.99")
        #expect(try #require(ExactDecimal(coefficient: 1_200_000, scale: 3)).description == "1200")
        #expect(ExactDecimal(coefficient: 1, scale: 39) == nil)
        #expect(ExactDecimal(coefficient: 1, scale: -1) == nil)
    }

    @Test("Every number that can be made can be written and read again")
    func limits() throws {
        let digits: Int128 = 99_999_999_999_999_999_999_999_999_999_999_999_999
        for coefficient in [digits, -digits] {
            for scale in [0, 1, 38] {
                let value = try #require(ExactDecimal(coefficient: coefficient, scale: scale))
                #expect(try CanonicalJSON.value(ExactDecimal.self, from: CanonicalJSON.bytes(value)) == value)
            }
        }
        for coefficient in [digits + 1, -digits - 1, .max, .min] {
            #expect(ExactDecimal(coefficient: coefficient, scale: 0) == nil)
        }
        #expect(ExactDecimal(coefficient: digits + 1, scale: 1)?.description == "1" + String(repeating: "0", count: 37))
    }

    @Test("Foundation's decimal holds the same number")
    func foundation() throws {
        #expect(try #require(ExactDecimal("25.487")).decimal == Decimal(string: "25.487"))
    }

    @Test("A price is flat in JSON, with amounts as strings")
    func price() throws {
        let amount = try #require(ExactDecimal("9.99"))
        let tax = try #require(ExactDecimal("1.6"))
        let price = Price(Money(amount, "usd"), .charged, tax: Money(tax, "USD"))
        let json = try CanonicalJSON.bytes(price)
        #expect(
            String(decoding: json, as: UTF8.self)
                == #"{"amount":"9.99","currency":"USD","role":"charged","tax":{"amount":"1.6","currency":"USD"}}"#
        )
        #expect(try CanonicalJSON.value(Price.self, from: json) == price)
    }
}
