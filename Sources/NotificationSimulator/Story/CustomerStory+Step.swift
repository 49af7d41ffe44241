extension CustomerStory {
    /// Something that happens in a story, and when.
    public struct Step: Sendable, Hashable {
        /// When it happens.
        public var time: StoryTime
        /// The act.
        public var act: Act

        /// Something at a time.
        public init(_ time: StoryTime, _ act: Act) {
            self.time = time
            self.act = act
        }
    }
}

/// When something happens in a story. Times are virtual: they follow from where the story starts, and no clock is read.
@nonexhaustive
public enum StoryTime: Sendable, Hashable {
    /// So long after the step before.
    case after(Duration)
    /// So long before the current period ends.
    case beforePeriodEnd(Duration)
    /// When the current period ends.
    case atPeriodEnd
    /// When the current grace period ends.
    case atGraceEnd
}
