package import FoundationEssentials

extension Date {
    /// The time of a question to a provider, by our clock as far as the provider's own clock confirms it: the answer
    /// was read then, or later. If our clock is ahead, or behind by more than an answer takes, the provider's counts.
    ///
    /// - Parameter answered: the provider's time of its answer; nil if it states none.
    package func asked(answeredAt answered: Date?) -> Date {
        guard let answered else { return self }
        return min(max(self, answered.addingTimeInterval(-60)), answered)
    }
}
