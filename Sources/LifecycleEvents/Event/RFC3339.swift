/// RFC 3339 §5.6 `date-time`, to the millisecond, without a calendar object on the hot path.
package enum RFC3339 {
    /// `YYYY-MM-DDThh:mm:ss.mmmZ`. The caller keeps `milliseconds` within ``Limits/milliseconds``.
    package static func string(_ milliseconds: Int64) -> String {
        let days = milliseconds.flooredQuotient(dividingBy: 86_400_000)
        let inDay = milliseconds - days * 86_400_000
        let date = CivilDate(daysSince1970: days)
        var octets: [UInt8] = []
        octets.reserveCapacity(24)
        octets.append(decimal: date.year, digits: 4)
        octets.append(UInt8(ascii: "-"))
        octets.append(decimal: date.month, digits: 2)
        octets.append(UInt8(ascii: "-"))
        octets.append(decimal: date.day, digits: 2)
        octets.append(UInt8(ascii: "T"))
        octets.append(decimal: inDay / 3_600_000, digits: 2)
        octets.append(UInt8(ascii: ":"))
        octets.append(decimal: inDay / 60_000 % 60, digits: 2)
        octets.append(UInt8(ascii: ":"))
        octets.append(decimal: inDay / 1000 % 60, digits: 2)
        octets.append(UInt8(ascii: "."))
        octets.append(decimal: inDay % 1000, digits: 3)
        octets.append(UInt8(ascii: "Z"))
        return String(decoding: octets, as: UTF8.self)
    }

    /// Reads any RFC 3339 `date-time` within ``Limits/milliseconds``; digits beyond the millisecond are dropped. Nil for
    /// anything else, leap seconds included: no provider sends one.
    package static func milliseconds(_ text: String) -> Int64? {
        var scanner = Scanner(octets: Array(text.utf8))
        guard let year = scanner.digits(4), scanner.skip("-"),
            let month = scanner.digits(2), (1...12).contains(month), scanner.skip("-"),
            let day = scanner.digits(2), (1...CivilDate.days(inMonth: month, ofYear: year)).contains(day),
            scanner.skip("T") || scanner.skip("t"),
            let hour = scanner.digits(2), hour < 24, scanner.skip(":"),
            let minute = scanner.digits(2), minute < 60, scanner.skip(":"),
            let second = scanner.digits(2), second < 60,
            let fraction = scanner.fraction(),
            let offset = scanner.offset(), scanner.isAtEnd
        else { return nil }
        let days = CivilDate(year: year, month: month, day: day).daysSince1970
        let milliseconds =
            days * 86_400_000 + (hour * 3600 + minute * 60 + second) * 1000 + fraction - offset * 60_000
        return Limits.milliseconds.contains(milliseconds) ? milliseconds : nil
    }

    private struct Scanner {
        let octets: [UInt8]
        var position = 0

        var isAtEnd: Bool { position == octets.count }

        mutating func skip(_ character: Unicode.Scalar) -> Bool {
            guard position < octets.count, octets[position] == UInt8(ascii: character) else { return false }
            position += 1
            return true
        }

        mutating func digit() -> Int64? {
            guard position < octets.count, case 0x30...0x39 = octets[position] else { return nil }
            defer { position += 1 }
            return Int64(octets[position] - 0x30)
        }

        mutating func digits(_ count: Int) -> Int64? {
            var value: Int64 = 0
            for _ in 0..<count {
                guard let digit = digit() else { return nil }
                value = value * 10 + digit
            }
            return value
        }

        mutating func fraction() -> Int64? {
            guard skip(".") else { return 0 }
            guard let first = digit() else { return nil }
            var value = first * 100
            var weight: Int64 = 10
            while let next = digit() {
                value += next * weight
                weight /= 10
            }
            return value
        }

        /// Minutes east of UTC.
        mutating func offset() -> Int64? {
            if skip("Z") || skip("z") { return 0 }
            let sign: Int64
            if skip("+") { sign = 1 } else if skip("-") { sign = -1 } else { return nil }
            guard let hours = digits(2), hours < 24, skip(":"), let minutes = digits(2), minutes < 60 else {
                return nil
            }
            return sign * (hours * 60 + minutes)
        }
    }
}

/// A day of the proleptic Gregorian calendar.
package struct CivilDate: Hashable, Sendable {
    package var year: Int64
    package var month: Int64
    package var day: Int64

    package init(year: Int64, month: Int64, day: Int64) {
        self.year = year
        self.month = month
        self.day = day
    }

    // Years are counted from 1 March so that the leap day is the last of its year; 400 years are 146 097 days.
    package init(daysSince1970 days: Int64) {
        let shifted = days + 719_468
        let era = shifted.flooredQuotient(dividingBy: 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    package var daysSince1970: Int64 {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = shiftedYear.flooredQuotient(dividingBy: 400)
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    package static func days(inMonth month: Int64, ofYear year: Int64) -> Int64 {
        switch month {
        case 2: (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

extension Int64 {
    package func flooredQuotient(dividingBy divisor: Int64) -> Int64 {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}

extension [UInt8] {
    fileprivate mutating func append(decimal value: Int64, digits: Int) {
        var divisor: Int64 = 1
        for _ in 1..<digits { divisor *= 10 }
        for _ in 0..<digits {
            append(0x30 + UInt8(truncatingIfNeeded: value / divisor % 10))
            divisor /= 10
        }
    }
}
