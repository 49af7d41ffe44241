import ConformanceVectors
import FoundationEssentials
import Normalizer
import NotificationSimulator

/// Every type and subtype of Apple's page "notificationType", with its variants, and the event that each stands for.
enum AppleMappingCases {
    typealias World = AppleVectorWorld

    static func all(_ world: World) throws -> [AppleCase] {
        try subscribed(world) + renewed(world) + failed(world) + expired(world) + intents(world) + changes(world)
            + offers(world) + prices(world) + oneTime(world) + refunds(world) + sharing(world) + extensions(world)
            + others(world)
    }

    static func date(_ milliseconds: Int64) -> Date { Date(millisecondsSince1970: milliseconds) }

    static let period = ServicePeriod(start: date(World.start), end: date(World.end))
    static let end = date(World.end)
    static let retryEnd = date(World.end + 60 * World.day)

    static func money(_ amount: String) -> Money { Money(ExactDecimal(amount) ?? ExactDecimal(-1), "USD") }
    static func charged(_ amount: String) -> Price { Price(money(amount), .charged) }
    static func list(_ amount: String) -> Price { Price(money(amount), .list) }

    static func started(
        _ origin: LifecycleEvent.Started.Origin,
        _ phase: Phase = .regular,
        _ price: Price? = charged("9.99")
    ) -> LifecycleEvent {
        .started(.init(origin: origin, phase: phase, period: period, price: price))
    }

    static func renewed(
        _ cause: LifecycleEvent.Renewed.Cause,
        _ phase: Phase = .regular,
        _ price: Price? = charged("9.99")
    ) -> LifecycleEvent {
        .renewed(.init(cause: cause, phase: phase, period: period, price: price))
    }

    static func unmapped(_ type: String, _ subtype: String? = nil) -> LifecycleEvent {
        .unmapped(.init(type: type, subtype: subtype))
    }

    /// A subscription's facts where nothing is unusual.
    static let usual: [Fact.Kind] = [.period, .charge, .renewalIntent, .billing, .priceChange, .owner]

    static func one(
        _ world: World,
        _ id: String,
        _ type: String,
        subtype: String? = nil,
        transaction: JSONMembers? = nil,
        info renewalInfo: JSONMembers? = nil,
        status: Int64? = nil,
        at signed: Int64 = World.signed,
        data: (inout JSONMembers) -> Void = { _ in },
        facts: [Fact.Kind]? = nil,
        note: String? = nil,
        _ events: LifecycleEvent...
    ) throws -> AppleCase {
        try world.accepted(
            "mapping/\(id)",
            world.notification(
                type,
                subtype,
                try world.purchase(transaction, renewalInfo, status: status, data),
                at: signed
            ),
            events,
            facts: facts,
            config: world.config { $0["now"] = .integer(signed + 1000) },
            tags: ["mapping", type],
            note: note
        )
    }

    static func offer(
        _ type: Int64,
        _ discountType: String?,
        id: String? = nil,
        price: Int64
    ) -> (inout JSONMembers) -> Void {
        {
            $0["offerType"] = .integer(type)
            $0["offerDiscountType"] = discountType.map(JSONText.string)
            $0["offerIdentifier"] = id.map(JSONText.string)
            $0["offerPeriod"] = "P1M"
            $0["price"] = .integer(price)
        }
    }

    static let familyShared: @Sendable (inout JSONMembers) -> Void = {
        $0["inAppOwnershipType"] = "FAMILY_SHARED"
    }
}
