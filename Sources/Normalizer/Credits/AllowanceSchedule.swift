public import FoundationEssentials

/// When an allowance is due again within a longer period, such as each month of a year paid at once.
///
/// Each date is reckoned from the anchor, not from the date before, so that the day of the month comes back after a
/// shorter month: 31 January, 28 February, 31 March. Dates are those of the calendar in UTC.
public struct AllowanceSchedule: Hashable, Sendable, Codable {
    /// One stretch between two allowances.
    public struct Slot: Hashable, Sendable, Codable {
        /// Which one it is, from 0.
        public var index: Int
        /// When it begins and ends.
        public var period: ServicePeriod
    }

    /// The beginning of the first slot.
    @EventTime public private(set) var anchor: Date
    /// How far apart allowances are.
    public let step: CalendarDuration
    /// Where the schedule ends, if it does; the last slot may be shorter.
    @OptionalEventTime public private(set) var end: Date?

    /// Makes a schedule; nil unless `step` leads forward, that is neither part is negative and one is positive.
    public init?(from anchor: Date, every step: CalendarDuration, until end: Date? = nil) {
        guard step.leadsForward else { return nil }
        self.anchor = anchor
        self.step = step
        self.end = end
    }

    /// Makes the schedule of a period.
    public init?(over period: ServicePeriod, every step: CalendarDuration) {
        self.init(from: period.start, every: step, until: period.end)
    }

    /// Makes a schedule whose last step leads to `end`, and whose first slot holds `moment`; nil if no number of steps leads so.
    init?(endingWithStepAt end: Date, over moment: Date, every step: CalendarDuration) {
        guard step.leadsForward else { return nil }
        let (last, first) = (end.millisecondsSince1970, moment.millisecondsSince1970)
        // No period is longer than three years of days.
        let anchor = (1...1100).lazy.map { (count: $0, at: step.adding(times: -$0, to: last)) }
            .first { $0.at <= first && step.adding(times: $0.count, to: $0.at) == last }
        guard let anchor else { return nil }
        self.init(from: Date(millisecondsSince1970: anchor.at), every: step, until: end)
    }

    private enum CodingKeys: String, CodingKey { case anchor, step, end }

    /// Reads a schedule; throws `DecodingError.dataCorrupted` for a step that does not lead forward.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        step = try container.decode(CalendarDuration.self, forKey: .step)
        _anchor = try container.decode(EventTime.self, forKey: .anchor)
        _end = try container.decode(OptionalEventTime.self, forKey: .end)
        guard step.leadsForward else {
            throw container.refusal("leads nowhere", at: .step)
        }
    }

    /// The slot that `time` falls into; nil before the anchor and from the end on.
    public func slot(at time: Date) -> Slot? {
        let moment = time.millisecondsSince1970
        guard moment >= _anchor.milliseconds, end.map({ time < $0 }) ?? true else { return nil }
        // The start of a slot grows with its index, so the last that is not later is found by halving.
        var low = 0
        var high = 1
        while high < Self.mostSlots, start(of: high) <= moment { (low, high) = (high, high * 2) }
        while high - low > 1 {
            let middle = low + (high - low) / 2
            if start(of: middle) <= moment { low = middle } else { high = middle }
        }
        return slot(low)
    }

    /// The slot of an index; nil for a negative one, or one that begins at or after the end.
    public func slot(_ index: Int) -> Slot? {
        guard (0...Self.mostSlots).contains(index) else { return nil }
        let start = start(of: index)
        let limit = end?.millisecondsSince1970 ?? .max
        guard start < limit else { return nil }
        let next = min(self.start(of: index + 1), limit)
        return Slot(
            index: index,
            period: ServicePeriod(
                start: Date(millisecondsSince1970: start),
                end: next > start ? Date(millisecondsSince1970: next) : nil
            )
        )
    }

    /// The first allowance that is due after `time`; nil if none is.
    public func next(after time: Date) -> Date? {
        if time < anchor { return slot(0)?.period.start }
        return slot(at: time).flatMap { slot($0.index + 1)?.period.start }
    }

    // More steps than there are days in the years that a time can name.
    private static let mostSlots = 1 << 22

    private func start(of index: Int) -> Int64 {
        step.adding(times: Int64(index), to: _anchor.milliseconds)
    }
}

extension CalendarDuration {
    var leadsForward: Bool { months >= 0 && days >= 0 && (months > 0 || days > 0) }

    /// `milliseconds` and `times` × this duration later, by the calendar in UTC: the day of the month is that of
    /// `milliseconds`, or the last of a shorter month. Kept within the years that a time can name.
    package func adding(times: Int64, to milliseconds: Int64) -> Int64 {
        let dayLength: Int64 = 86_400_000
        let latest = Limits.milliseconds.upperBound
        let day = milliseconds.flooredQuotient(dividingBy: dayLength)
        let date = CivilDate(daysSince1970: day)
        let (months, monthsOverflow) = Int64(months).multipliedReportingOverflow(by: times)
        let (days, daysOverflow) = Int64(days).multipliedReportingOverflow(by: times)
        guard !monthsOverflow, !daysOverflow, months.magnitude < 120_000, days.magnitude < 4_000_000 else {
            return latest
        }
        let month = date.year * 12 + date.month - 1 + months
        let year = month.flooredQuotient(dividingBy: 12)
        let monthOfYear = month - year * 12 + 1
        let target = CivilDate(
            year: year,
            month: monthOfYear,
            day: min(date.day, CivilDate.days(inMonth: monthOfYear, ofYear: year))
        )
        let result = (target.daysSince1970 + days) * dayLength + (milliseconds - day * dayLength)
        return min(result, latest)
    }
}
