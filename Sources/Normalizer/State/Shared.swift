/// A large value behind a reference: copies share it, so that to walk through a table of many copies no more than
/// references. A change copies it only while it is shared.
@dynamicMemberLookup
package struct Shared<Value: Hashable & Sendable>: Hashable, Sendable {
    // Changed only while one copy alone refers to it.
    private final class Box: @unchecked Sendable {
        var value: Value

        init(_ value: Value) { self.value = value }
    }

    private var box: Box

    package var value: Value { box.value }

    package init(_ value: Value) { box = Box(value) }

    package mutating func change<Result>(_ body: (inout Value) -> Result) -> Result {
        if !isKnownUniquelyReferenced(&box) { box = Box(box.value) }
        return body(&box.value)
    }

    package subscript<Member>(dynamicMember path: KeyPath<Value, Member>) -> Member { box.value[keyPath: path] }

    package static func == (lhs: Self, rhs: Self) -> Bool { lhs.box === rhs.box || lhs.value == rhs.value }

    package func hash(into hasher: inout Hasher) { value.hash(into: &hasher) }
}
