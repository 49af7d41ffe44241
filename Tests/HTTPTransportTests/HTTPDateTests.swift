import HTTPTransport
import Testing

@Suite struct HTTPDateTests {
    @Test(
        arguments: [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Thu, 28 May 2026 20:26:40 GMT", 1_780_000_000),
            ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777), ("Sun Nov  6 08:49:37 1994", 784_111_777),
            // RFC 850's years of two digits lie in the years from 1970 on.
            ("Thursday, 01-Jan-70 00:00:00 GMT", 0), ("Tuesday, 01-Jan-69 00:00:00 GMT", 3_124_224_000),
            ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
            // A leap year every four years, but not every hundred, but every four hundred.
            ("Tue, 29 Feb 2000 00:00:00 GMT", 951_782_400), ("Wed, 01 Mar 2000 00:00:00 GMT", 951_868_800),
            ("Sun, 28 Feb 2100 23:59:59 GMT", 4_107_542_399), ("Mon, 01 Mar 2100 00:00:00 GMT", 4_107_542_400),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
        ] as [(String, Int64)]
    )
    func dates(text: String, seconds: Int64) {
        #expect(HTTPDate(text)?.seconds == seconds)
    }

    @Test(arguments: [
        "", "now", "Wed, 31 Dec 1969 23:59:59 GMT", "Thu, 28 May 2026 20:26:61 GMT", "Thu, 28 May 2026 20:60:00 GMT",
        "Thu, 28 May 2026 24:00:00 GMT", "Thu, 00 May 2026 20:26:40 GMT", "Thu, 28 May 26 20:26:40 GMT",
        "Thu, 28 May 2026 20:26 GMT", "Thu, 28 May 2026 20:26:4 GMT", "Thu, 28 May -026 20:26:40 GMT",
        "Thu, 28 May 2026 20:26:40 UTC", "Thursday, 28-May-2026 20:26:40 GMT",
        "Thu, 28 May 2026 " + String(repeating: " ", count: 20) + "20:26:40 GMT",
    ])
    func otherTextsAreNone(text: String) {
        #expect(HTTPDate(text) == nil)
    }
}
