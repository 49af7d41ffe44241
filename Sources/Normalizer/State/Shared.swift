/// A large value in storage of its own: copies share it, so that to walk through a table of many copies no more than
/// references. A change copies it only while it is shared.
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
