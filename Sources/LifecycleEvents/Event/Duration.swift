extension Duration {
    /// Whole milliseconds, within a range that can be added to any date without overflow.
    package var wholeMilliseconds: Int64 {
        let bound: Int64 = 1 << 52
        guard components.seconds < bound / 1000 else { return bound }
        guard components.seconds > -bound / 1000 else { return -bound }
        return components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}
