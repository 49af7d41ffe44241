public import Normalizer

extension GooglePlayAdapter {
    /// Maps a notification, and what Google Play answered about it, to canonical events.
    public func normalize(_ resolved: Authenticated<GoogleResolution>) throws(DeliveryError) -> Normalization {
        Normalization(noChange: .init(.needsLookup))
    }
}
