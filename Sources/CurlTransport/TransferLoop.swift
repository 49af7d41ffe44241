import CLifecycleCurl
import HTTPTransport
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Which connections a new request may use.
///
/// If the network has lost a connection, neither end learns of it, and HTTP/2 would put every further request on it for a quarter of an
/// hour. Where a request has waited in vain on a connection that others are waiting on still, those keep it, and all that are
/// begun from then on share others.
private struct ConnectionPools {
    /// More origins than have trouble at once.
    private static let capacity = 64

    private var pools: [String: ConnectionPool] = [:]

    /// Nil for those that the transport keeps otherwise.
    subscript(origin: String) -> ConnectionPool? { pools[origin] }

    /// Keeps new requests off the transfer's connection. Call it before the transfer leaves the multi handle.
    mutating func giveUp(the transfer: Transfer, others: some Sequence<Transfer>) {
        transfer.giveConnectionUp()
        let origin = transfer.origin
        // It may have been given up before, for another.
        guard transfer.pool === pools[origin] else { return }
        let companions = others.filter { $0.origin == origin && $0.pool === transfer.pool }
        // Without them it is closed now.
        guard !companions.isEmpty else { return }
        for companion in companions { companion.giveConnectionUp() }
        // Without memory for it, requests continue as before.
        guard let pool = try? ConnectionPool() else { return }
        pools[origin] = pool
        guard pools.count > Self.capacity else { return }
        let origins = Set(others.map(\.origin))
        pools = pools.filter { origins.contains($0.key) }
    }
}

/// The thread that all transfers of one transport run on, and the mailbox that leads to it.
final class TransferLoop: Sendable {
    private struct Start {
        var request: HTTPTransportRequest
        var ticket: Ticket
        var deadline: ContinuousClock.Instant
        var continuation: Transfer.Continuation
    }

    private struct Mailbox {
        var starts: [Start] = []
        var cancellations: [Ticket] = []
        var isStopping = false
        var waiters: [CheckedContinuation<Void, Never>] = []
        /// There until the thread destroys it; see ``MultiHandle``.
        var multi: MultiHandle?

        /// If there is mail already, its sender has woken the thread.
        func wakeUpIfEmpty() {
            if starts.isEmpty, cancellations.isEmpty { multi?.wakeUp() }
        }
    }

    private let mailbox: Mutex<Mailbox>
    private let configuration: CurlHTTPTransport.Configuration
    private let wait: Wait

    /// How the thread waits; see ``MultiHandle/wait(until:)``.
    typealias Wait = @Sendable (MultiHandle, _ deadline: ContinuousClock.Instant?) -> CURLMcode

    /// In microseconds.
    private static let pauseWithoutWaiting: UInt32 = 100_000

    // libcurl wants this once in a process, before anything else.
    private static let globalCode = curl_global_init(Int(CURL_GLOBAL_DEFAULT))

    init(_ configuration: CurlHTTPTransport.Configuration, wait: @escaping Wait) throws(HTTPTransportError) {
        guard Self.globalCode == CURLE_OK else {
            throw HTTPTransportError(
                .transportFailure,
                "libcurl could not be initialized",
                libraryCode: Int(Self.globalCode.rawValue)
            )
        }
        self.configuration = configuration
        self.wait = wait
        mailbox = Mutex(Mailbox(multi: try MultiHandle(configuration)))
    }

    /// Starts the thread, which keeps this object alive until ``stop(then:)``.
    func start() throws(HTTPTransportError) {
        let context = unsafe Unmanaged.passRetained(self)
        let code = unsafe startDetachedThread(context.toOpaque()) { context in
            // The thread takes over the reference made above.
            guard let context = unsafe context else { return nil }
            unsafe Unmanaged<TransferLoop>.fromOpaque(context).takeRetainedValue().run()
            return nil
        }
        guard code == 0 else {
            unsafe context.release()
            close()
            throw HTTPTransportError(.transportFailure, "no thread to be had", libraryCode: Int(code))
        }
    }

    func start(_ request: HTTPTransportRequest, for ticket: Ticket, _ continuation: Transfer.Continuation) {
        let start = Start(
            request: request,
            ticket: ticket,
            deadline: .now + min(request.timeout, .seconds(1_000_000)),
            continuation: continuation
        )
        let isOpen = mailbox.withLock { mailbox in
            guard !mailbox.isStopping else { return false }
            mailbox.wakeUpIfEmpty()
            mailbox.starts.append(start)
            return true
        }
        if !isOpen { continuation.resume(returning: .failure(Self.shutDown)) }
    }

    func cancel(_ ticket: Ticket) {
        ticket.cancel()
        mailbox.withLock { mailbox in
            guard !mailbox.isStopping else { return }
            mailbox.wakeUpIfEmpty()
            mailbox.cancellations.append(ticket)
        }
    }

    /// Has the thread end, and resumes `waiter` when it has closed everything.
    func stop(then waiter: CheckedContinuation<Void, Never>?) {
        let isOver = mailbox.withLock { mailbox in
            mailbox.isStopping = true
            guard let multi = mailbox.multi else { return true }
            if let waiter { mailbox.waiters.append(waiter) }
            multi.wakeUp()
            return false
        }
        if isOver { waiter?.resume() }
    }

    private static let shutDown = HTTPTransportError(.shutDown, "the transport was shut down")

    // MARK: - On the thread

    private func run() {
        guard let multi = mailbox.withLock({ $0.multi }) else { return }
        var transfers: [ObjectIdentifier: Transfer] = [:]
        var failure: HTTPTransportError?
        /// No transfer's deadline is before this. Time-outs of libcurl would not do: it forgets them as long as a
        /// request waits for a connection.
        var nextDeadline: ContinuousClock.Instant?
        var pools = ConnectionPools()
        let silence = ConnectionSilence()

        while failure == nil {
            let (starts, cancellations, isStopping) = takeMail()
            for start in starts {
                if isStopping {
                    start.continuation.resume(returning: .failure(Self.shutDown))
                } else if let transfer = begin(start, on: multi, from: pools, endingA: silence) {
                    transfers[ObjectIdentifier(transfer.ticket)] = transfer
                    nextDeadline = min(nextDeadline ?? start.deadline, start.deadline)
                }
            }
            for ticket in cancellations {
                // It may have been answered meanwhile.
                guard let transfer = transfers.removeValue(forKey: ObjectIdentifier(ticket)) else { continue }
                if transfer.findsConnectionSilent() { pools.giveUp(the: transfer, others: transfers.values) }
                multi.remove(transfer)
                transfer.finish(failing: HTTPTransportError(.canceled, "canceled under way"))
            }
            if isStopping { break }

            failure = Self.failure(multi.perform())
            while let (transfer, code) = multi.nextCompletion() {
                multi.remove(transfer)
                transfers.removeValue(forKey: ObjectIdentifier(transfer.ticket))
                transfer.finish(code)
            }
            if let deadline = nextDeadline, deadline <= .now {
                let now = ContinuousClock.now
                for (key, transfer) in transfers where transfer.deadline <= now {
                    transfers.removeValue(forKey: key)
                    pools.giveUp(the: transfer, others: transfers.values)
                    multi.remove(transfer)
                    transfer.finishLate()
                }
                nextDeadline = transfers.values.lazy.map(\.deadline).min()
            }
            // Waiting needs a little memory, and fails in a process that has lowered its limit of descriptors. Both pass, and meanwhile
            // each request has its deadline.
            if failure == nil, wait(multi, nextDeadline) != CURLM_OK { usleep(Self.pauseWithoutWaiting) }
        }

        for transfer in transfers.values {
            multi.remove(transfer)
            transfer.finish(failing: failure ?? Self.shutDown)
        }
        transfers.removeAll()
        close()
    }

    private func takeMail() -> (starts: [Start], cancellations: [Ticket], isStopping: Bool) {
        mailbox.withLock { mailbox in
            defer {
                mailbox.starts.removeAll(keepingCapacity: true)
                mailbox.cancellations.removeAll(keepingCapacity: true)
            }
            return (mailbox.starts, mailbox.cancellations, mailbox.isStopping)
        }
    }

    private func begin(
        _ start: Start,
        on multi: MultiHandle,
        from pools: ConnectionPools,
        endingA silence: ConnectionSilence
    ) -> Transfer? {
        guard !start.ticket.isCanceled else {
            start.continuation.resume(returning: .failure(HTTPTransportError(.canceled, "canceled before it was sent")))
            return nil
        }
        let transfer: Transfer
        do {
            transfer = try Transfer(
                start.request,
                for: start.ticket,
                until: start.deadline,
                from: pools[start.request.url.description],
                with: configuration,
                endingA: silence,
                resuming: start.continuation
            )
        } catch {
            start.continuation.resume(returning: .failure(error))
            return nil
        }
        let code = multi.add(transfer)
        guard code == CURLM_OK else {
            transfer.finish(
                failing: HTTPTransportError(
                    .transportFailure,
                    "libcurl refused a request",
                    libraryCode: Int(code.rawValue)
                )
            )
            return nil
        }
        return transfer
    }

    /// Destroys the handle, answers whatever came too late, and wakes those who wait for the end.
    private func close() {
        let (multi, starts, waiters) = mailbox.withLock { mailbox in
            defer {
                mailbox.isStopping = true
                mailbox.multi = nil
                mailbox.starts = []
                mailbox.cancellations = []
                mailbox.waiters = []
            }
            return (mailbox.multi, mailbox.starts, mailbox.waiters)
        }
        multi?.destroy()
        for start in starts { start.continuation.resume(returning: .failure(Self.shutDown)) }
        for waiter in waiters { waiter.resume() }
    }

    private static func failure(_ code: CURLMcode) -> HTTPTransportError? {
        guard code != CURLM_OK else { return nil }
        return HTTPTransportError(
            .transportFailure,
            "libcurl cannot go on",
            libraryCode: Int(code.rawValue)
        )
    }
}
