/// A large value behind a reference: copies share it, so that to walk through a table of many copies no more than
/// references.
@dynamicMemberLookup
package struct Shared<Value: Hashable & Sendable>: Hashable, Sendable {
    private final class Box: Sendable {
        let value: Value

        init(_ value: Value) { self.value = value }
    }

    private var box: Box

    package var value: Value {
        get { box.value }
        set { box = Box(newValue) }
    }

    package init(_ value: Value) { box = Box(value) }

    package subscript<Member>(dynamicMember path: KeyPath<Value, Member>) -> Member { box.value[keyPath: path] }

    package static func == (lhs: Self, rhs: Self) -> Bool { lhs.box === rhs.box || lhs.value == rhs.value }

    package func hash(into hasher: inout Hasher) { value.hash(into: &hasher) }
}
