/// A value that shows its description alone, in debug output and in mirrors as well: the rest of it is secret or about a person.
package protocol Redacted: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Redacted {
    /// The same as the description.
    public var debugDescription: String { description }

    /// Shows nothing.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
