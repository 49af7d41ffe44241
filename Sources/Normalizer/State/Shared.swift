/// A large value whose copies share their storage: a copy of a table of many counts references. A change copies the value, and only
/// while others hold it.
package struct Shared<Value: Hashable & Sendable>: Hashable, Sendable {
    // One element, always. An array is shared storage that copies itself before a change.
    private var storage: [Value]

    package var value: Value {
        // Yields it in place: a copy of all members for the sake of one costs the most where there are thousands of lineages.
        _read { yield storage[0] }
        _modify { yield &storage[0] }
    }

    package init(_ value: Value) { storage = [value] }
}
