/// The limits beyond which a document is refused.
///
/// Size is compared before anything is allocated; depth and node count while the document is indexed.
package struct JSONLimits: Sendable, Hashable {
    /// The longest document, in octets; never more than 2 GiB − 1, whatever is set here.
    package var maximumBytes: Int = 1 << 20
    /// How many arrays and objects may be open at once. A document that is a lone scalar has depth 0.
    package var maximumDepth: Int = 64
    /// How many values and member names a document may hold; each takes 16 octets of index.
    package var maximumNodes: Int = 1 << 17

    package init() {}

    /// Of a document whose length was held against a limit before.
    package static let ofAnyLength: JSONLimits = {
        var limits = JSONLimits()
        limits.maximumBytes = .max
        return limits
    }()
}
