public import LifecycleEvents
import SignatureCore

/// Why something could not be simulated.
public struct SimulatorError: Error, Sendable, CustomStringConvertible {
    /// The kinds of reason.
    @nonexhaustive
    public enum Reason: Sendable, Hashable {
        /// A key could not be made, or something not be signed.
        case failed
        /// A story that makes no sense, such as a renewal of nothing.
        case nonsense
        /// The provider has no such act, or does not report it.
        case notOffered(by: Provider)
    }

    /// The kind of reason.
    public var reason: Reason
    /// The details.
    public var message: String

    /// Makes an error.
    public init(_ message: String, _ reason: Reason = .failed) {
        self.message = message
        self.reason = reason
    }

    /// The message.
    public var description: String { message }
}

extension SimulatorError {
    static func wrapping<Value>(_ body: () throws(SignatureError) -> Value) throws(SimulatorError) -> Value {
        do throws(SignatureError) { return try body() } catch { throw SimulatorError(error.description) }
    }
}
