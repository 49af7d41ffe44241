public import HTTPTransport
import LifecycleEvents

extension PullWorker {
    /// From where, how much at a time, and how long messages are pulled.
    public struct Configuration: Sendable {
        /// The subscription's full name, `projects/P/subscriptions/S`.
        public var subscription: String
        /// Where Pub/Sub is: Google unless set, for example to `HTTPSURL.emulator(host:port:)`.
        public var endpoint: HTTPSURL?
        /// How many messages are worked on at once at most.
        public var maximumOutstandingMessages: Int = 200
        /// How many bytes of data are worked on at once. No more is pulled from there on, so one pull can exceed it.
        public var maximumOutstandingBytes: Int = 16 << 20
        /// How many messages one pull asks for at most.
        public var maximumMessagesPerPull: Int = 100
        /// The largest answer to one pull. One that is larger makes the next ask for fewer messages.
        public var maximumResponseBytes: Int = 16 << 20
        /// The subscription's own acknowledgement deadline. Too long a value here has messages delivered twice.
        public var acknowledgementDeadline: Duration = .seconds(10)
        /// How far the deadline is moved each time while a message is worked on, 10 to 600 seconds.
        public var leaseExtension: Duration = .seconds(60)
        /// For how long a message's deadline is extended; behind that Pub/Sub delivers it again.
        public var maximumExtension: Duration = .seconds(3600)
        /// For how long a message is left alone that could not be dealt with. Each further time it is twice as long.
        public var redeliveryDelay: Duration = .seconds(10)
        /// For how long at most, up to Pub/Sub's own bound of 600 seconds.
        public var maximumRedeliveryDelay: Duration = .seconds(600)
        /// How long Pub/Sub may keep a pull waiting for messages.
        public var pullTimeout: Duration = .seconds(90)
        /// How long acknowledgements are still sent to Pub/Sub, once the last message in work is done. A message whose
        /// acknowledgement was not sent by then comes again.
        public var stopTimeout: Duration = .seconds(5)
        /// How many messages that were worked on are remembered, so that none is handed over again when its
        /// acknowledgement was lost, and how many that failed, so that their delays grow.
        public var rememberedMessages: Int = 10_000
        /// Is called with each report, for metrics and logs. Nothing in it is secret.
        public var report: (@Sendable (PullReport) -> Void)?

        /// Names the subscription.
        public init(subscription: String, endpoint: HTTPSURL? = nil) {
            self.subscription = subscription
            self.endpoint = endpoint
        }

        func validate() throws(ConfigurationError) {
            guard SubscriptionName(subscription) != nil else {
                throw ConfigurationError("subscription must be projects/P/subscriptions/S")
            }
            guard 1...10_000 ~= maximumOutstandingMessages, 1...1000 ~= maximumMessagesPerPull,
                maximumOutstandingBytes > 0, maximumResponseBytes > 0, rememberedMessages >= 0
            else {
                throw ConfigurationError(
                    "maximumOutstandingMessages must be 1 to 10000, maximumMessagesPerPull 1 to 1000, byte limits positive, rememberedMessages 0 or more"
                )
            }
            guard .seconds(10) ... .seconds(600) ~= leaseExtension,
                .seconds(1) ... .seconds(600) ~= acknowledgementDeadline,
                .seconds(1) ... .seconds(600) ~= redeliveryDelay,
                redeliveryDelay ... .seconds(600) ~= maximumRedeliveryDelay,
                maximumExtension >= .zero, pullTimeout > .zero, stopTimeout > .zero
            else {
                throw ConfigurationError(
                    "leaseExtension must be 10 to 600 seconds; acknowledgementDeadline, redeliveryDelay and maximumRedeliveryDelay 1 to 600, the last no shorter than the one before; time-outs positive"
                )
            }
        }
    }
}

/// The parts of a subscription's full name.
struct SubscriptionName {
    let project: String
    let name: String

    init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 4, parts[0] == "projects", parts[2] == "subscriptions",
            Self.isName(parts[1]), Self.isName(parts[3])
        else { return nil }
        (project, name) = (parts[1], parts[3])
    }

    /// Letters, digits and `-._~+%`, and old project ids have a colon; a letter comes first.
    private static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, 3...255 ~= text.utf8.count else { return false }
        let isLetter = (0x41...0x5A).contains(first) || (0x61...0x7A).contains(first)
        return isLetter
            && text.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
                    || "-._~+%:".utf8.contains($0)
            }
    }
}
