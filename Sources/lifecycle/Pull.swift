#if CommandLineTool
import ArgumentParser
import CurlTransport
import Dispatch
import Foundation
import GooglePubSub
import Normalizer
import Synchronization

/// `lifecycle pull`
struct Pull: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Pulls Google Play's notifications from Pub/Sub and prints one event a line.",
        discussion: """
            Each message is looked up in the Play Developer API and mapped; its events go to standard output, one JSON \
            object a line. A message is acknowledged after its lines are written. After a crash, or with two processes \
            that pull, a line may come twice: act once on each `id`. If Google cannot answer now, the message comes \
            again later.

            A message without an event that must not be lost is appended to the quarantine file. The file has purchase \
            tokens in it, so only its owner can read it. If the output or the quarantine file ends within a line, as \
            after a crash, that line is ended first; its message was not acknowledged and comes again.

            The configuration is a JSON object:

              subscription          projects/P/subscriptions/S
              packageName           the app; or packageNames, a list
              serviceAccountFile    the JSON key file of a service account that may subscribe, and view the app's
                                    financial data in the Play Console
              orderLookup           voided (the default), never or charged
              voidedPurchaseLookup  true to look up who took a voided purchase back, and why
              acknowledgementDeadlineSeconds   the subscription's own; 10 by default
              maximumOutstandingMessages       messages in work at the same time; 200 by default
              trustRootsFile        PEM certificates to trust instead of the system's
              emulator              {"pubsub","play","token"}: "host:port" of emulators on this host;
                                    Pub/Sub's emulator without TLS, the others with

            SIGINT and SIGTERM finish the messages in hand; a second one stops at once.

            Exit status: 0 when stopped, 64 for wrong usage or configuration, 69 when Pub/Sub cannot be pulled from (with \
            --once, for 15 seconds), 74 when output could not be written.
            """
    )

    @Option(help: ArgumentHelp("The configuration, a JSON file.", valueName: "file"))
    var config: String

    @Option(
        help: ArgumentHelp("Keep messages without an event in this file, one JSON object a line.", valueName: "file")
    )
    var quarantine: String

    @Option(help: "Stop after so many messages, and finish those in hand.")
    var maxMessages: Int?

    @Flag(help: "Stop as soon as there are no more messages.")
    var once = false

    func validate() throws {
        if let maxMessages, maxMessages < 1 { throw ValidationError("--max-messages must be at least 1") }
    }

    func run() async throws {
        var settings = try PullSettings(path: config)
        if let maxMessages {
            settings.worker.maximumOutstandingMessages = min(settings.worker.maximumOutstandingMessages, maxMessages)
        }
        if once { settings.worker.pullTimeout = .seconds(5) }
        let kept = try QuarantineFile(path: quarantine)
        try StandardOutput.endTornLine()
        let stopping = StopSwitch()
        let patience = once ? Patience(stopping) : nil
        settings.worker.report = { report in
            switch report {
            case .trouble(let request, let reason):
                StandardError.write("\(request.rawValue): \(reason)")
                if request == .pull { patience?.trouble(reason) }
            case .acknowledgementsLost(let count): StandardError.write("\(count) acknowledgements lost")
            case .pulled: patience?.answer()
            case .idle:
                patience?.answer()
                if patience != nil { stopping.stop() }
            default: break
            }
        }

        let (adapter, worker, transport): (GooglePlayAdapter, PullWorker, CurlHTTPTransport)
        do {
            transport = try CurlHTTPTransport(.init(trustRoots: settings.trustRoots))
            adapter = try settings.adapter(transport)
            worker = try settings.pullWorker(transport)
        } catch {
            throw ValidationError("\(error)")
        }
        let sink = EventSink(adapter: adapter, quarantine: kept, limit: maxMessages, stopping: stopping)
        // Before there is any work: a signal that comes earlier ends the process, as without us.
        let signals = [
            await SignalSource(SIGINT, stopping.signaled), await SignalSource(SIGTERM, stopping.signaled),
        ]
        let work = Task { () -> PullError? in
            do throws(PullError) {
                try await worker.run(adapter) { message, outcome in try sink.store(message, outcome) }
                return nil
            } catch {
                return error
            }
        }
        stopping.connect(worker, work)
        let failure = await work.value
        withExtendedLifetime(signals) {}
        await transport.shutdown()

        if sink.hasFailed { throw ExitCode.cannotWrite }
        if let failure = failure?.description ?? patience?.exhaustion {
            StandardError.write(failure)
            throw ExitCode.unavailable
        }
    }
}

/// Ends a run that has an end of its own once trouble has lasted too long; one that has none waits it out.
private final class Patience: Sendable {
    private struct State {
        var firstTrouble: ContinuousClock.Instant?
        var exhaustion: String?
    }

    private static let longest: Duration = .seconds(15)

    private let stopping: StopSwitch
    private let state = Mutex(State())

    init(_ stopping: StopSwitch) { self.stopping = stopping }

    /// Why the run was ended.
    var exhaustion: String? { state.withLock { $0.exhaustion } }

    func answer() {
        state.withLock { $0.firstTrouble = nil }
    }

    func trouble(_ reason: String) {
        let isOver = state.withLock { state in
            let first = state.firstTrouble ?? .now
            state.firstTrouble = first
            guard first.duration(to: .now) >= Self.longest else { return false }
            state.exhaustion = "Pub/Sub cannot be pulled from: \(reason)"
            return true
        }
        if isOver { stopping.stop() }
    }
}

/// Writes the outcome of messages, whole messages at a time.
private final class EventSink: Sendable {
    private struct State {
        var count = 0
        var hasFailed = false
    }

    private let adapter: GooglePlayAdapter
    private let quarantine: QuarantineFile
    private let limit: Int?
    private let stopping: StopSwitch
    private let state = Mutex(State())

    init(adapter: GooglePlayAdapter, quarantine: QuarantineFile, limit: Int?, stopping: StopSwitch) {
        self.adapter = adapter
        self.quarantine = quarantine
        self.limit = limit
        self.stopping = stopping
    }

    var hasFailed: Bool { state.withLock { $0.hasFailed } }

    /// Returns when everything about the message is written, and is called before it is acknowledged.
    func store(_ message: PullWorker.Message, _ outcome: Result<Normalization, DeliveryError>) throws {
        let name = message.content.messageID ?? "message"
        let acknowledgement = adapter.acknowledgement(for: outcome)
        do {
            try state.withLock { state in
                // A failed write may have left a part of a line, and the next line would be appended to it.
                guard !state.hasFailed else { throw ExitCode.cannotWrite }
                do {
                    var lines: [UInt8] = []
                    if case .success(let normalization) = outcome {
                        lines = try EventLog.bytes(lines: normalization.logLines)
                    }
                    try FileHandle.standardOutput.writeThrough(lines)
                    if acknowledgement.decision == .acceptAndQuarantine { try quarantine.keep(message, outcome) }
                } catch {
                    state.hasFailed = true
                    throw error
                }
            }
        } catch {
            StandardError.write("\(name): its lines could not be written")
            stopping.stop()
            throw error
        }
        switch outcome {
        case .success(let normalization):
            if let reason = normalization.noChange?.reason { StandardError.write("\(name): no event: \(reason)") }
        case .failure(let error):
            StandardError.write("\(name): \(error)")
        }
        guard acknowledgement.decision != .retryLater, let limit else { return }
        let count = state.withLock { state in
            state.count += 1
            return state.count
        }
        if count >= limit { stopping.stop() }
    }
}

/// Messages that gave no event, with why.
private final class QuarantineFile: Sendable {
    private struct Line: Encodable {
        var message: PubSubMessage
        var receivedAt: String
        var code: String
        var reason: String

        enum CodingKeys: String, CodingKey {
            case message, code, reason
            case receivedAt = "received_at"
        }
    }

    private let file: Mutex<FileHandle>

    init(path: String) throws(ValidationError) {
        let manager = FileManager.default
        if !manager.fileExists(atPath: path) {
            guard manager.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600]) else {
                throw ValidationError("\(path) cannot be created")
            }
        }
        guard let handle = FileHandle(forUpdatingAtPath: path) else {
            throw ValidationError("\(path) cannot be written")
        }
        do {
            // Another process may append to it as well.
            guard fcntl(handle.fileDescriptor, F_SETFL, O_APPEND) == 0 else { throw ExitCode.cannotWrite }
            if try handle.isWithinLine(at: handle.seekToEnd()) {
                StandardError.write("\(path) ends within a line, which is ended first")
                try handle.writeThrough([0x0A])
            }
        } catch {
            throw ValidationError("\(path) cannot be written")
        }
        file = Mutex(handle)
    }

    func keep(_ message: PullWorker.Message, _ outcome: Result<Normalization, DeliveryError>) throws {
        let (code, reason) =
            switch outcome {
            case .success(let normalization): ("no_event", normalization.noChange?.reason.rawValue ?? "")
            case .failure(let error): (error.code.rawValue, error.message)
            }
        let line = Line(
            message: message.content,
            receivedAt: RFC3339.string(message.receivedAt.millisecondsSince1970),
            code: code,
            reason: reason
        )
        let bytes = try CanonicalJSON.bytes(line) + [0x0A]
        try file.withLock { file in try file.writeThrough(bytes) }
    }
}

extension StandardOutput {
    /// Lets the output begin a line of its own, if it is appended to a file that ends within one.
    fileprivate static func endTornLine() throws(ExitCode) {
        let output = FileHandle.standardOutput
        // A pipe or a terminal has no offset, and nothing that was there before.
        guard let offset = try? output.offset(), isWithinLine(offset) else { return }
        StandardError.write("standard output ends within a line, which is ended first")
        do {
            try output.writeThrough([0x0A])
        } catch {
            StandardError.write("standard output cannot be written")
            throw .cannotWrite
        }
    }

    private static func isWithinLine(_ offset: UInt64) -> Bool {
        // A shell opens it for writing only. An unreadable end may be torn, and an empty line does no harm.
        guard let file = FileHandle(forReadingAtPath: "/proc/self/fd/1"), let end = try? file.seekToEnd() else {
            return true
        }
        let isAppending = fcntl(FileHandle.standardOutput.fileDescriptor, F_GETFL) & O_APPEND != 0
        return (try? file.isWithinLine(at: isAppending ? end : offset)) ?? true
    }
}

extension FileHandle {
    fileprivate func isWithinLine(at offset: UInt64) throws -> Bool {
        guard offset > 0 else { return false }
        try seek(toOffset: offset - 1)
        return try read(upToCount: 1) != Data([0x0A])
    }

    /// Writes, and for a file waits until it is on the disk: an acknowledged message is not delivered again.
    fileprivate func writeThrough(_ bytes: [UInt8]) throws {
        guard !bytes.isEmpty else { return }
        try write(contentsOf: Data(bytes))
        // Nothing to wait for, as with a pipe, is no error here. A full disk can be one only now.
        try synchronize()
    }
}

/// Ends the work: in an orderly way first, at once when asked again.
private final class StopSwitch: Sendable {
    private struct State {
        var worker: PullWorker?
        var work: Task<PullError?, Never>?
        var isStopping = false
    }

    private let state = Mutex(State())

    func connect(_ worker: PullWorker, _ work: Task<PullError?, Never>) {
        let isStopping = state.withLock { state in
            state.worker = worker
            state.work = work
            return state.isStopping
        }
        if isStopping { worker.stop() }
    }

    func stop() {
        let worker = state.withLock { state in
            state.isStopping = true
            return state.worker
        }
        worker?.stop()
    }

    func signaled() {
        let (isSecond, work) = state.withLock { ($0.isStopping, $0.work) }
        StandardError.write(isSecond ? "stopping at once" : "stopping")
        if isSecond { work?.cancel() } else { stop() }
    }
}

/// Calls a closure for each signal of a kind, instead of the system's action.
private final class SignalSource {
    private let source: any DispatchSourceSignal

    /// Returns when no signal of the kind can be missed any more.
    init(_ number: Int32, _ body: @escaping @Sendable () -> Void) async {
        let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
        source.setEventHandler(handler: DispatchWorkItem(block: body))
        await withCheckedContinuation { continuation in
            source.setRegistrationHandler(handler: DispatchWorkItem { continuation.resume() })
            source.resume()
        }
        self.source = source
    }

    deinit { source.cancel() }
}
#endif
