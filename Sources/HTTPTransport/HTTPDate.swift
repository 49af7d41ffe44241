/// A date in a header field, in seconds since 1970 (RFC 9110, section 5.6.7, all three formats).
package struct HTTPDate: Hashable {
    package let seconds: Int64

    package init?(_ text: String) {
        guard text.utf8.count <= 40 else { return nil }
        let words = text.split(separator: " ").map(String.init)
        let fields: (day: String, month: String, year: String, time: String)
        switch words.count {
        case 6 where words[0].hasSuffix(",") && words[5] == "GMT":
            fields = (words[1], words[2], words[3], words[4])
        case 4 where words[0].hasSuffix(",") && words[3] == "GMT":
            let date = words[1].split(separator: "-", omittingEmptySubsequences: false).map(String.init)
            guard date.count == 3, date[2].utf8.count == 2, let year = Self.number(date[2]) else { return nil }
            // RFC 850 wrote two digits; no server sends a date before 1970.
            fields = (date[0], date[1], String(year < 70 ? 2000 + year : 1900 + year), words[2])
        case 5:
            fields = (words[2], words[1], words[4], words[3])
        default:
            return nil
        }
        let clock = fields.time.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard clock.count == 3, clock.allSatisfy({ $0.utf8.count == 2 }),
            let month = Self.months.firstIndex(of: fields.month),
            fields.year.utf8.count == 4, let year = Self.number(fields.year), year >= 1970,
            (1...2).contains(fields.day.utf8.count), let day = Self.number(fields.day), (1...31).contains(day),
            let hour = Self.number(clock[0]), hour < 24, let minute = Self.number(clock[1]), minute < 60,
            let second = Self.number(clock[2]), second <= 60
        else { return nil }
        let days = Self.daysSince1970(year: year, month: Int64(month) + 1, day: day)
        seconds = ((days * 24 + hour) * 60 + minute) * 60 + second
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func number(_ digits: String) -> Int64? {
        digits.utf8.allSatisfy(ASCII.isDigit) ? Int64(digits) : nil
    }

    // Counts in years that start in March, so that the leap day comes last.
    private static func daysSince1970(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
    }
}

extension HTTPTransportHeaders {
    /// When the other side made the message, by its own clock; RFC 9110 §6.6.1.
    package var date: HTTPDate? { self["Date"].flatMap(HTTPDate.init) }
}
