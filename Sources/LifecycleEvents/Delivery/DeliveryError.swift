/// Why a delivery was not turned into events.
///
/// One type for the whole path, because an endpoint makes one decision: ``Acknowledgement/init(for:provider:)`` makes
/// it. Messages name lengths, counts, key ids and header names; never payload, token, secret or personal data.
public struct DeliveryError: Error, Sendable {
    /// The cause, coarse enough to decide by.
    public struct Code: OpenValue {
        /// The name used in JSON and metrics.
        public let rawValue: String
        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The bytes do not have the form that the provider documents.
        public static let malformed: Code = "malformed"
        /// The credential is missing or wrong.
        public static let unauthenticated: Code = "unauthenticated"
        /// The key or the certificate chain is not one that we trust.
        public static let untrusted: Code = "untrusted"
        /// It lies outside the time window, or has expired.
        public static let stale: Code = "stale"
        /// It is for another app, audience, environment or account, or of another kind than the endpoint takes.
        public static let misdirected: Code = "misdirected"
        /// It could not be decided now: keys, network or quota were not to be had.
        public static let unavailable: Code = "unavailable"
        /// The provider refuses a look-up until a person changes the set-up.
        public static let denied: Code = "denied"

        /// True if the same delivery can succeed later without a change on your side.
        public var isRetryable: Bool { self == .unavailable }
    }

    /// A place in the sources.
    public struct Location: Hashable, Sendable, CustomStringConvertible {
        /// The file, as `Module/File.swift`.
        public var file: String
        /// The line in it.
        public var line: Int

        /// `Module/File.swift:line`
        public var description: String { "\(file):\(line)" }
    }

    /// The cause.
    public var code: Code
    /// The details: the expected and the received value, as far as they may be shown.
    public var message: String
    /// True if the delivery was proven to be the provider's before it failed. Such a delivery is worth keeping.
    public var isAuthentic: Bool
    /// The error behind this one.
    public var underlying: (any Error)?
    /// Where it was thrown.
    public var location: Location

    /// Makes an error.
    public init(
        _ code: Code,
        _ message: String,
        isAuthentic: Bool = false,
        underlying: (any Error)? = nil,
        file: String = #fileID,
        line: Int = #line
    ) {
        self.code = code
        self.message = message
        self.isAuthentic = isAuthentic
        self.underlying = underlying
        self.location = Location(file: file, line: line)
    }
}

extension DeliveryError: CustomStringConvertible, CustomDebugStringConvertible {
    /// `code: message`
    public var description: String { "\(code): \(message)" }

    /// The description with the place in the sources.
    public var debugDescription: String { "\(description) (\(location))" }
}

/// A mistake in the set-up, found when an adapter is made rather than when the first delivery arrives.
public struct ConfigurationError: Error, Sendable, CustomStringConvertible {
    /// The details: the change that is needed.
    public var message: String

    /// Makes an error.
    public init(_ message: String) { self.message = message }

    /// The message.
    public var description: String { message }
}
