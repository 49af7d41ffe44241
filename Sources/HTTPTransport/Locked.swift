import Synchronization

/// A `Mutex` whose order the thread sanitizer sees too.
///
/// A contended `Mutex` is taken inside a library that the sanitizer does not look into, so that it reports a race on
/// whatever the lock protects. The store and load of the same atomic show the sanitizer who came first, and serve nothing else.
package struct Locked<Value: Sendable>: ~Copyable, Sendable {
    private let mutex: Mutex<Value>
    private let order = Atomic(false)

    package init(_ value: Value) {
        mutex = Mutex(value)
    }

    /// Lets `body` read or change the value, alone.
    package borrowing func withLock<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
        mutex.withLock { value in
            _ = order.load(ordering: .acquiring)
            defer { order.store(true, ordering: .releasing) }
            return body(&value)
        }
    }
}
