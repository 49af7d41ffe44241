import Synchronization

/// The memory for bodies of callers who have proven nothing yet. An octet counts when it has come: no one takes more than they send.
final class BodyMemory: Sendable {
    /// A body up to this length is always taken, as nearly all deliveries are: no stranger's body keeps them out. Only the limit of
    /// connections limits how many there are.
    static let smallBody = 1 << 16

    private let free: Mutex<Int>

    /// - Parameter octets: how many the larger bodies have together, each beyond those of a small one.
    init(octets: Int = 128 << 20) { free = Mutex(octets) }

    /// Takes what a body needs that grows.
    ///
    /// - Returns: false if there is not as much.
    func take(from length: Int, to newLength: Int) -> Bool {
        let amount = Self.counted(newLength) - Self.counted(length)
        return free.withLock { free in
            guard amount <= free else { return false }
            free -= amount
            return true
        }
    }

    /// Gives back what a body of this length has taken.
    func giveBack(_ length: Int) { free.withLock { $0 += Self.counted(length) } }

    private static func counted(_ length: Int) -> Int { max(0, length - smallBody) }
}
