extension Int64 {
    /// True if a moment lies before an end, and is not that end as another channel states it.
    func isClearly(before end: Int64) -> Bool { addingClamped(ServicePeriod.startTolerance) < end }
}
