public import FoundationEssentials
public import Normalizer
import WireJSON

/// What Google Play publishes about a purchase (RTDN reference, `DeveloperNotification`).
public struct DeveloperNotification: Sendable, Hashable {
    /// The app that it is about.
    public let packageName: String
    /// When Google says that it happened.
    public let eventTime: Date

    /// What the store has to be asked about.
    package let subject: LookupSubject

    /// Reads the data of a Pub/Sub message.
    ///
    /// - Throws: ``DeliveryError`` with `malformed`, not yet marked authentic; the caller knows better.
    public init(payload: [UInt8]) throws(DeliveryError) {
        do throws(JSONError) {
            let reader = try ObjectReader(parsing: payload)
            packageName = try reader.string("packageName")
            let milliseconds = try Int64(reader.string("eventTimeMillis")) ?? 0
            eventTime = Date(millisecondsSince1970: milliseconds)
            if let body = try reader.optionalValue("subscriptionNotification")?.object() {
                subject = .subscription(
                    purchaseToken: try body.required("purchaseToken").string(),
                    notificationType: try body.required("notificationType").int64()
                )
            } else {
                subject = .nothing
            }
        } catch {
            throw DeliveryError(.malformed, "developer notification: \(error)", underlying: error)
        }
    }
}
