public import FoundationEssentials
public import LifecycleEvents
import SignatureCore
import WireJSON

extension AppleSimulator: StorySimulator {
    /// Apple.
    public var provider: Provider { .apple }

    /// The App Store's notifications.
    ///
    /// - Throws: ``SimulatorError``, also for a story that leads out of the time in which the certificates are valid: no receiver
    ///   would accept that.
    public func notifications(
        _ story: CustomerStory,
        from start: Date
    ) throws(SimulatorError) -> [SimulatedNotification] {
        let scenes = try Plot.scenes(story, from: start, at: .apple)
        var notifications: [SimulatedNotification] = []
        for (scene, notification) in zip(scenes, try unsigned(scenes, of: story)) {
            guard AppleCertificates.leafValidity.contains(notification.signedDate.millisecondsSince1970) else {
                throw SimulatorError(
                    "story \(story.id): the App Store's certificates are valid from 2024 through 2033",
                    .nonsense
                )
            }
            notifications.append(
                SimulatedNotification(
                    provider: .apple,
                    step: scene.step,
                    occurredAt: notification.signedDate,
                    type: [notification.notificationType, notification.subtype].compactMap(\.self)
                        .joined(separator: "/"),
                    id: notification.notificationUUID,
                    content: Self.body(of: try signed(notification)),
                    resources: []
                )
            )
        }
        return notifications
    }

    /// The App Store's notifications of a story before they are signed, each with the time of its signing.
    ///
    /// - Throws: ``SimulatorError`` as ``notifications(_:from:)`` does.
    public func unsignedNotifications(
        _ story: CustomerStory,
        from start: Date
    ) throws(SimulatorError) -> [Notification] {
        try unsigned(try Plot.scenes(story, from: start, at: .apple), of: story)
    }

    private func unsigned(
        _ scenes: [Plot.Scene],
        of story: CustomerStory
    ) throws(SimulatorError) -> [Notification] {
        try AppleStoryteller.notifications(of: scenes, named: "\(seed)/\(story.id)")
    }

    /// One attempt to deliver it: the App Store signs once, and repeats the same bytes.
    public func delivery(
        of notification: SimulatedNotification,
        sentAt: Date
    ) throws(SimulatorError) -> Delivery {
        Delivery(
            headers: ["Content-Type": "application/json"],
            body: notification.content,
            receivedAt: sentAt
        )
    }

    /// The root certificate, the app and the environment.
    public var receiverConfiguration: [UInt8] {
        var members: JSONMembers = JSONMembers([
            ("roots", [.string(String(decoding: Base64.encode(rootCertificate.span), as: UTF8.self))]),
            ("bundleId", .string(bundleId)), ("environment", .string(environment.rawValue)),
        ])
        if environment == .production { members.append("appAppleId", .integer(appAppleId)) }
        return members.bytes
    }
}
