public import FoundationEssentials
public import LifecycleEvents
import WireJSON

/// A notification of a provider, before it is signed and sent.
///
/// Its bytes and its identity are the same whenever and however often it is sent. The parts that depend on the moment
/// of sending (a signature over the time, a token's lifetime) are made by ``StorySimulator/delivery(of:sentAt:)``.
public struct SimulatedNotification: Sendable, Hashable {
    /// The provider that sends it.
    public var provider: Provider
    /// Which step of the story it belongs to, from 0 on.
    public var step: Int
    /// When the provider makes it, in the story's time.
    public var occurredAt: Date
    /// Its type in the provider's own words, such as `DID_RENEW/BILLING_RECOVERY` or `invoice.paid`.
    public var type: String
    /// The provider's own id of it, the same on every attempt.
    public var id: String
    /// Its bytes: the request's body, or for Google Play the data that Pub/Sub wraps.
    public var content: [UInt8]
    /// The answers of the provider's API from then on.
    public var resources: [SimulatedResource]
}

/// A resource of a provider's API, as of some moment of a story.
public struct SimulatedResource: Sendable, Hashable {
    /// The host that serves it.
    public var host: String
    /// Path and query, encoded.
    public var path: String
    /// The answer's HTTP status.
    public var status: Int
    /// The answer, in JSON.
    public var body: [UInt8]

    init(host: String, path: String, status: Int = 200, body: JSONText) {
        self.host = host
        self.path = path
        self.status = status
        self.body = body.bytes
    }
}

/// A simulator of one provider that plays stories.
public protocol StorySimulator: Sendable {
    /// The provider that it stands in for.
    var provider: Provider { get }

    /// The reason that it cannot play a story; nil if it can.
    func absence(of story: CustomerStory) -> String?

    /// The expected outcome of each step of a story.
    ///
    /// - Throws: ``SimulatorError`` as ``notifications(_:from:)`` does.
    func expectations(of story: CustomerStory) throws(SimulatorError) -> [CustomerStory.Expectation]

    /// The provider's notifications, in the order in which it makes them.
    ///
    /// - Throws: ``SimulatorError``, with ``SimulatorError/Reason/notOffered(by:)`` where the provider has no such thing as an
    ///   act of the story, and with ``SimulatorError/Reason/nonsense`` if an act makes no sense where it stands.
    func notifications(_ story: CustomerStory, from start: Date) throws(SimulatorError) -> [SimulatedNotification]

    /// One attempt to deliver it.
    ///
    /// - Parameters:
    ///   - notification: the notification to send.
    ///   - sentAt: the time that the provider's clock shows then. It is also the time of receipt.
    /// - Throws: ``SimulatorError`` if libcrypto cannot sign.
    func delivery(of notification: SimulatedNotification, sentAt: Date) throws(SimulatorError) -> Delivery

    /// The configuration of a receiver that accepts this simulator and no other sender: the `config` object of a test
    /// vector, in JSON, without `now`.
    var receiverConfiguration: [UInt8] { get }
}

extension StorySimulator {
    /// The reason that its provider cannot play the story; nil if it can.
    public func absence(of story: CustomerStory) -> String? { story.absence(at: provider) }

    /// The expected outcome of each step at its provider.
    public func expectations(of story: CustomerStory) throws(SimulatorError) -> [CustomerStory.Expectation] {
        try story.expectations(at: provider)
    }
}

extension [SimulatedNotification] {
    /// The answers of the provider's API when the notification at this place has just been made: the newest version of each
    /// resource.
    public func resources(upTo index: Int) -> [SimulatedResource] {
        var order: [String] = []
        var newest: [String: SimulatedResource] = [:]
        for notification in prefix(index + 1) {
            for resource in notification.resources {
                let key = resource.host + resource.path
                if newest.updateValue(resource, forKey: key) == nil { order.append(key) }
            }
        }
        return order.compactMap { newest[$0] }
    }
}
