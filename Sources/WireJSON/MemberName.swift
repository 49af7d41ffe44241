/// The name of a member that the caller knows and asks for, written as a literal.
///
/// It is a type of its own because error paths are made of these: a name that came out of a document does not become
/// one by accident. Keep a name that you read often in a static property, so that its fingerprint is computed once.
package struct MemberName: ExpressibleByStringLiteral, Hashable, Sendable {
    package let text: String
    let ends: NameEnds
    let fingerprint: Fingerprint
    let count: Int

    package init(stringLiteral text: String) {
        self.init(text)
    }

    /// - Parameter text: A name from the program or its configuration, never from a document.
    package init(_ text: String) {
        self.text = text
        let octets = text.utf8.span
        ends = NameEnds(of: octets)
        fingerprint = Fingerprint(ends)
        count = octets.count
    }

    package static func == (left: MemberName, right: MemberName) -> Bool {
        left.text.utf8.elementsEqual(right.text.utf8)
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(fingerprint.bits) }

    func path(in parent: String) -> String {
        parent.isEmpty ? text : parent + "." + text
    }
}
