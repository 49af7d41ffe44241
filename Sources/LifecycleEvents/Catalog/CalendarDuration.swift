/// A length of time as calendars count it.
public struct CalendarDuration: Hashable, Sendable, Codable {
    /// Whole months.
    public var months: Int
    /// Whole days, in addition to the months.
    public var days: Int

    /// Makes a duration.
    public init(months: Int = 0, days: Int = 0) {
        self.months = months
        self.days = days
    }

    private enum CodingKeys: String, CodingKey, CaseIterable { case months, days }

    /// Reads `{"months":1,"days":0}`.
    ///
    /// - Throws: `DecodingError.dataCorrupted` for an unknown member, such as `weeks`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.closedContainer(keyedBy: CodingKeys.self)
        months = try container.decode(Int.self, forKey: .months)
        days = try container.decode(Int.self, forKey: .days)
    }

    /// Seven days.
    public static let week = CalendarDuration(days: 7)
    /// One month.
    public static let month = CalendarDuration(months: 1)
    /// Three months.
    public static let quarter = CalendarDuration(months: 3)
    /// Twelve months.
    public static let year = CalendarDuration(months: 12)
}
