import FoundationEssentials
import Normalizer
import Testing

@Suite("Times")
struct EventTimeTests {
    @Test(
        "RFC 3339 reads to the millisecond",
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("1970-01-01T00:00:00.001Z", 1),
            ("2026-01-01T00:00:00.000Z", 1_767_225_600_000),
            ("2024-02-29T23:59:59.999Z", 1_709_251_199_999), ("2026-01-01T01:00:00+01:00", 1_767_225_600_000),
            ("2025-12-31T23:30:00.5-00:30", 1_767_225_600_500), ("2026-01-01t00:00:00.123456789z", 1_767_225_600_123),
            ("9999-12-31T23:59:59.999Z", 253_402_300_799_999), ("1969-12-31T23:59:00-00:01", 0),
        ] as [(String, Int64)]
    )
    func reads(text: String, milliseconds: Int64) {
        #expect(RFC3339.milliseconds(text) == milliseconds)
        #expect(RFC3339.milliseconds(RFC3339.string(milliseconds)) == milliseconds)
    }

    @Test(
        "Anything else is refused",
        arguments: [
            "", "2026-01-01", "2026-01-01T00:00:00", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z", "2026-12-31T23:59:60Z",
            "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00ZZ", " 2026-01-01T00:00:00Z", "2026-1-1T00:00:00Z",
            "0001-01-01T00:00:00Z", "1900-03-01T00:00:00Z", "1969-12-31T23:59:59.999Z",
            "1970-01-01T00:00:00+00:01", "9999-12-31T23:59:59.999-23:59",
            "0000-01-01T00:00:00Z", "2026-01-01 00:00:00Z", "2026-01-01T00:00:00+1:00", "２026-01-01T00:00:00Z",
            "2026.01-01T00:00:00Z", "2026-01.01T00:00:00Z", "2026-01-01T00.00:00Z", "2026-01-01T00:00.00Z",
            "2026-01-01T00:00:00+24:00", "2026-01-01T00:00:00+01:60", "2026-01-01T00:00:00+01.00",
        ]
    )
    func refuses(text: String) {
        #expect(RFC3339.milliseconds(text) == nil)
    }

    @Test("Every day of four centuries has one number")
    func calendar() {
        var expected = CivilDate(year: 1800, month: 1, day: 1)
        let first = expected.daysSince1970
        for day in first..<first + 146_097 {
            #expect(CivilDate(daysSince1970: day) == expected)
            #expect(expected.daysSince1970 == day)
            expected.day += 1
            if expected.day > CivilDate.days(inMonth: expected.month, ofYear: expected.year) {
                expected.day = 1
                expected.month += 1
            }
            if expected.month > 12 {
                expected.month = 1
                expected.year += 1
            }
        }
    }

    @Test(
        "A date beyond what can be written is held at the edge",
        arguments: [Double.infinity, -.infinity, .nan, 1e300, -1e300, .greatestFiniteMagnitude]
    )
    func bounds(seconds: Double) throws {
        let period = ServicePeriod(start: Date(timeIntervalSince1970: seconds), end: nil)
        let json = try CanonicalJSON.bytes(period)
        #expect(try CanonicalJSON.value(ServicePeriod.self, from: json) == period)
    }

    @Test("Times are equal when their milliseconds are, and absent ones are left out")
    func equality() throws {
        let start = Date(timeIntervalSince1970: 1_767_225_600.1234)
        let period = ServicePeriod(start: start, end: nil)
        #expect(period == ServicePeriod(start: Date(timeIntervalSince1970: 1_767_225_600.1226), end: nil))
        #expect(
            String(decoding: try CanonicalJSON.bytes(period), as: UTF8.self) == #"{"start":"2026-01-01T00:00:00.123Z"}"#
        )
    }
}
