package import FoundationEssentials

extension Date {
    /// When a provider was asked that we asked at this time, as far as its own clock bears ours out: what it answered with was
    /// read then, or later. A clock of ours that is ahead, or behind by more than an answer takes, is not believed.
    ///
    /// - Parameter answered: what the provider says of its answer's time; nil where it says nothing.
    package func asked(answeredAt answered: Date?) -> Date {
        guard let answered else { return self }
        return min(max(self, answered.addingTimeInterval(-60)), answered)
    }
}
