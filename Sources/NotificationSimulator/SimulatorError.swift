import SignatureCore

/// Why something could not be simulated: a story that makes no sense, or a key that could not be made.
public struct SimulatorError: Error, Sendable, CustomStringConvertible {
    /// What is wrong.
    public var message: String

    /// Makes an error.
    public init(_ message: String) { self.message = message }

    /// The message.
    public var description: String { message }
}

extension SimulatorError {
    static func wrapping<Value>(_ body: () throws(SignatureError) -> Value) throws(SimulatorError) -> Value {
        do throws(SignatureError) { return try body() } catch { throw SimulatorError(error.description) }
    }
}
