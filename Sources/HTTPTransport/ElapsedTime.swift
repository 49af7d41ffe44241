/// Time on a clock of any kind, counted from when this was made.
package struct ElapsedTime: Sendable {
    private let read: @Sendable () -> Duration

    package init(_ clock: any Clock<Duration>) {
        read = Self.reading(clock)
    }

    /// The time since this was made.
    package var now: Duration { read() }

    // Opens the existential: only a concrete clock's instants can be compared.
    private static func reading<C: Clock<Duration>>(_ clock: C) -> @Sendable () -> Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }
}
