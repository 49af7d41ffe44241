/// The name of a member that the caller knows and asks for, written as a literal.
///
/// It is a type of its own because error paths are made of these: a name that came out of a document does not become
/// one by accident.
@usableFromInline
package struct MemberName: ExpressibleByStringLiteral, Hashable, Sendable {
    @usableFromInline package let text: String

    @inlinable
    package init(stringLiteral text: String) {
        self.text = text
    }

    /// - Parameter text: A name from the program or its configuration, never from a document.
    package init(_ text: String) {
        self.text = text
    }

    func path(in parent: String) -> String {
        parent.isEmpty ? text : parent + "." + text
    }
}
