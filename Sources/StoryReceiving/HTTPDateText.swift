package import FoundationEssentials
import Normalizer

/// A time as HTTP's header fields write it (RFC 9110, section 5.6.7).
package enum HTTPDateText {
    package static func text(_ date: Date) -> String {
        let seconds = date.millisecondsSince1970.flooredQuotient(dividingBy: 1000)
        let days = seconds.flooredQuotient(dividingBy: 86_400)
        let day = CivilDate(daysSince1970: days)
        // The first day of 1970 was a Thursday.
        let weekday = weekdays[Int(((days + 4) % 7 + 7) % 7)]
        let month = months[Int(min(max(day.month, 1), 12)) - 1]
        let time = RFC3339.string(seconds * 1000).dropFirst(11).prefix(8)
        return "\(weekday), \(padded(day.day, 2)) \(month) \(padded(day.year, 4)) \(time) GMT"
    }

    private static func padded(_ number: Int64, _ count: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, count - digits.count)) + digits
    }

    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
}
