import FoundationEssentials
import Normalizer
import VectorGenerator

@testable import GooglePubSub

/// Numbers, states and answers for tests of the mapping.
enum Play {
    typealias Vectors = GoogleVectors

    static let states = [
        "ACTIVE", "CANCELED", "IN_GRACE_PERIOD", "ON_HOLD", "PAUSED", "EXPIRED", "PENDING", "PENDING_PURCHASE_CANCELED",
        "UNSPECIFIED",
    ]

    static var item: Vectors.Item { Vectors.purchase("ACTIVE").items[0] }

    static func date(_ milliseconds: Int64) -> Date { Date(millisecondsSince1970: milliseconds) }

    /// A notification with what Google Play answered, taken at the time of the answer.
    static func resolved(
        _ notification: String,
        _ lookups: [GoogleResolution.Lookup],
        askedAt: Int64 = Vectors.noon
    ) throws -> Authenticated<GoogleResolution> {
        let data = Array(notification.utf8)
        let message = PubSubMessage(messageID: "1", data: data)
        return Authenticated(
            unchecked: GoogleResolution(
                notification: GoogleNotification(message: message, content: try DeveloperNotification(payload: data)),
                lookups: lookups
            ),
            receivedAt: date(askedAt),
            channel: .webhook,
            evidence: Origin.Evidence(.oidc, key: "k"),
            digest: Delivery(body: data, receivedAt: date(askedAt)).digest
        )
    }

    static func found(
        _ resource: GoogleResolution.Lookup.Resource,
        for key: String,
        _ json: String
    ) -> GoogleResolution.Lookup {
        .init(resource, about: key, PlayAnswer(.found, status: 200, body: Array(json.utf8)))
    }

    /// The result of a subscription's notification.
    static func map(
        _ number: Int,
        _ purchase: Vectors.Purchase,
        token: String = Vectors.token,
        at time: Int64 = Vectors.event,
        askedAt: Int64? = nil,
        others: [GoogleResolution.Lookup] = []
    ) throws -> Normalization {
        try ResolutionMapping(
            resolved: resolved(
                Vectors.hint(number, token: token, at: time),
                [found(.subscription, for: token, purchase.json)] + others,
                askedAt: askedAt ?? time + 1500
            )
        ).normalization
    }

    static func mapProduct(
        _ notification: String,
        _ product: Vectors.Product,
        others: [GoogleResolution.Lookup] = []
    ) throws -> Normalization {
        try ResolutionMapping(
            resolved: resolved(notification, [found(.product, for: Vectors.token, product.json)] + others)
        ).normalization
    }
}

extension Normalization {
    var kinds: [String] { events.map(\.kind.rawValue) }
}
