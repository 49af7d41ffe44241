public import LifecycleEvents

/// The reason that a journal could not do something. Nothing was stored then, unless the code is ``Code/unavailable``,
/// whose outcome may be unknown. You may repeat every call.
public struct JournalError: Error, Sendable, CustomStringConvertible {
    /// The cause.
    public struct Code: OpenValue {
        /// The name used in JSON and metrics.
        public let rawValue: String
        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Another transaction was faster. The journal repeats by itself, and says so after many times.
        public static let conflict: Code = "conflict"
        /// The database cannot be reached, is busy, or was lost in the middle.
        public static let unavailable: Code = "unavailable"
        /// There is no room, or the place may not be written.
        public static let notWritable: Code = "not_writable"
        /// The quarantine of a source is full, see ``Journal/Options/quarantineLimit``.
        public static let quarantineFull: Code = "quarantine_full"
        /// A stored row cannot be read: a damaged file, or a row that was edited by hand.
        public static let corrupt: Code = "corrupt"
        /// The tables were made by a later version of this package.
        public static let newerSchema: Code = "newer_schema"
        /// The database refuses the user, its certificate is not trusted, or a setting does not fit.
        public static let configuration: Code = "configuration"
        /// The call itself makes no sense, such as a use of fewer than no credits.
        public static let invalidArgument: Code = "invalid_argument"
        /// The id names another use or gift of credits. Nothing was used or given.
        public static let idTaken: Code = "id_taken"
        /// A reader's position in the log is beyond its end, so it is another log's: the database was replaced.
        public static let aheadOfLog: Code = "ahead_of_log"
    }

    /// The cause.
    public var code: Code
    /// The details, without stored content.
    public var message: String
    /// The error behind this one.
    public var underlying: (any Error)?

    /// Makes an error.
    public init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.underlying = underlying
    }

    /// `code: message`
    public var description: String { "\(code): \(message)" }

    /// The error of a storage, as an error of the journal.
    init(wrapping error: any Error) {
        switch error {
        case let error as JournalError: self = error
        case is CancellationError: self.init(.unavailable, "the task was cancelled", underlying: error)
        case is Conflict: self.init(.conflict, "other transactions were faster every time", underlying: error)
        case let error as InvalidValue: self.init(.corrupt, "a stored row cannot be read: \(error)", underlying: error)
        default: self.init(.unavailable, "the storage failed", underlying: error)
        }
    }
}

/// A row was changed by another transaction since it was read.
struct Conflict: Error {}
