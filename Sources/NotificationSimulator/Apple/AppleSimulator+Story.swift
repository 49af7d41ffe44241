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
        for (scene, notification) in zip(
            scenes,
            try AppleStory.notifications(of: scenes, named: "\(seed)/\(story.id)", from: start)
        ) {
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

extension AppleStory {
    /// Scenes in the App Store's words, one notification each.
    static func notifications(
        of scenes: [Plot.Scene],
        named name: String,
        from start: Date
    ) throws(SimulatorError) -> [AppleSimulator.Notification] {
        var steps: [Step] = []
        var now = start.millisecondsSince1970
        for scene in scenes {
            guard let act = Act(scene.act) else {
                throw SimulatorError("the App Store has no \(scene.act.name)", .notOffered(by: .apple))
            }
            steps.append(Step(.after(.milliseconds(scene.time - now)), act))
            now = scene.time
        }
        return try AppleStory(name, "", steps: steps).notifications(from: start)
    }
}

extension AppleStory.Act {
    init?(_ act: CustomerStory.Act) {
        switch act {
        case .subscribe(let plan, let offer): self = .subscribe(.init(plan), offer: offer.map(AppleStory.Offer.init))
        case .renew, .renewEarly, .renewAfterCancel: self = .renew
        case .failCharge(let grace): self = .failToRenew(grace: grace)
        case .endGrace: self = .endGrace
        case .recover: self = .recover
        case .cancel: self = .turnRenewalOff
        case .uncancel: self = .turnRenewalOn
        case .expire(.customer): self = .expire(.voluntary)
        case .expire(.billing): self = .expire(.billingRetry)
        case .expire(.priceDeclined): self = .expire(.priceIncrease)
        case .upgrade(let plan): self = .upgrade(.init(plan))
        case .downgrade(let plan), .crossgrade(let plan): self = .downgrade(.init(plan))
        case .withdrawDowngrade: self = .withdrawDowngrade
        case .extend(let days): self = .extend(days: days)
        case .raisePrice(let price, let needsConsent): self = .raisePrice(to: price, needsConsent: needsConsent)
        case .acceptPrice: self = .acceptPrice
        case .buy(let item, let quantity): self = .buy(.init(item), quantity: quantity)
        case .requestRefund: self = .requestRefund(reason: "UNINTENDED_PURCHASE")
        case .refund(let purchase, let share):
            self = .refund(purchase == .latest ? .latest : .previous, percentage: share == .half ? 50_000 : nil)
        case .declineRefund: self = .declineRefund
        case .reverseRefund: self = .reverseRefund
        case .shareWithFamily: self = .shareWithFamily
        case .stopSharing: self = .stopSharing
        case .test: self = .test
        case .subscribePending, .completePayment, .abandonPayment, .cancelCommitment, .schedulePause, .pause, .resume,
            .topUp, .disputeCharge, .winDispute, .loseDispute, .transfer, .expire(.ranOut):
            return nil
        }
    }
}

extension AppleStory.Product {
    init(_ plan: CustomerStory.Plan) {
        self.init(
            id: "com.example.app.\(plan.product).\(plan.rhythm)",
            type: "Auto-Renewable Subscription",
            price: plan.price,
            period: plan.period
        )
    }

    init(_ item: CustomerStory.Item) {
        switch item {
        case .coins: self = .coins
        case .lifetime: self = .lifetime
        }
    }
}

extension AppleStory.Offer {
    init(_ offer: CustomerStory.Offer) {
        switch offer {
        case .freeWeek: self = .freeWeek
        case .cheapMonth: self = .cheapMonth
        }
    }
}
