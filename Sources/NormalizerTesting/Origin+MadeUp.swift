package import LifecycleEvents

extension Origin {
    /// The origin of a statement that a test makes up, and that nothing proves.
    ///
    /// - Parameter digest: differs between statements that must not be taken for one another.
    package static func madeUp(
        _ type: String = "made up",
        notification: String? = nil,
        channel: Channel = .webhook,
        digest: String = ""
    ) -> Origin {
        Origin(
            type: type,
            notificationID: notification,
            channel: channel,
            evidence: .init(.unchecked),
            digest: digest,
            mapper: "test/1"
        )
    }
}
