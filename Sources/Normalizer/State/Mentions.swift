extension SubscriptionState {
    /// The statements about something else that name a period while it runs: the last that has its start, and the last that has its end
    /// alone. They say two things, so neither takes the other's place.
    struct Mentions: Equatable, Sendable {
        /// The one with the start first.
        private(set) var inOrder: [Assertion<Fact.Period>] = []

        var withStart: Assertion<Fact.Period>? { inOrder.first { !$0.value.isStartInferred } }
        var withEndAlone: Assertion<Fact.Period>? { inOrder.first { $0.value.isStartInferred } }

        mutating func insert(_ assertion: Assertion<Fact.Period>) {
            let isLast = assertion.value.isStartInferred
            guard let place = inOrder.firstIndex(where: { $0.value.isStartInferred == isLast }) else {
                return inOrder.insert(assertion, at: isLast ? inOrder.endIndex : 0)
            }
            if inOrder[place].precedes(assertion) { inOrder[place] = assertion }
        }

        mutating func merge(_ other: Mentions) {
            for assertion in other.inOrder { insert(assertion) }
        }

        func without(_ assertion: Assertion<Fact.Period>) -> Mentions {
            var rest = self
            rest.inOrder.removeAll { $0 == assertion }
            return rest
        }
    }
}
