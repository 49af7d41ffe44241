/// A report of a pull worker about its work.
@nonexhaustive
public enum PullReport: Sendable, Hashable {
    /// So many messages came.
    case pulled(Int)
    /// A pull came back without a message.
    case idle
    /// So many acknowledgements were taken.
    case acknowledged(Int)
    /// So many messages were given back, to be delivered again after a while.
    case returned(Int)
    /// The deadline of so many messages was moved.
    case extended(Int)
    /// A message came again and was not handed over: it is being worked on, or was.
    case repeated
    /// A message could not be read, and is handed over to be kept.
    case unreadable
    /// A request failed, for the reason given; it is repeated where that makes sense.
    case trouble(PullRequest, String)
    /// So many acknowledgements were given up, also those that could not be sent in the end. The messages will come again.
    case acknowledgementsLost(Int)
}

/// The requests that a pull worker makes.
@nonexhaustive
public enum PullRequest: String, Sendable, Hashable {
    case pull, acknowledge, modifyAckDeadline
}

/// Why pulling has ended before it was stopped.
public struct PullError: Error, Sendable, CustomStringConvertible {
    /// The causes.
    @nonexhaustive
    public enum Cause: String, Sendable, Hashable {
        /// Rights are missing (401, 403).
        case denied
        /// There is no such subscription (404).
        case notFound = "not_found"
        /// Pub/Sub does not take the request.
        case invalid
        /// The worker runs already, or has run.
        case alreadyRun = "already_run"
        /// The transport was shut down, or that of the access tokens.
        case shutDown = "shut_down"
    }

    /// The cause.
    public var cause: Cause
    /// The details.
    public var message: String

    /// `cause: message`
    public var description: String { "\(cause.rawValue): \(message)" }
}
