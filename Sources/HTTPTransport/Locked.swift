import Synchronization

/// A `Mutex` whose order the thread sanitizer sees too.
///
/// A contended `Mutex` is taken inside a library that the sanitizer does not see, so it reports a race on the protected
/// value. The store and load of the same atomic show the sanitizer the order, and serve no other purpose.
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
