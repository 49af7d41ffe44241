import Synchronization

/// Identifies a request to the waiting task and to the loop.
///
/// The mark is set before the loop is notified. So a request that the loop takes up after that is seen to be canceled, and
/// for one that it has taken up before, the message finds the transfer.
final class Ticket: Sendable {
    private let mark = Atomic(false)

    var isCanceled: Bool { mark.load(ordering: .acquiring) }

    func cancel() { mark.store(true, ordering: .releasing) }
}
