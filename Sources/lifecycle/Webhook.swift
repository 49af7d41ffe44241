#if CommandLineTool
import CurlTransport
import Foundation
import HTTPTransport
import NotificationSimulator
import Normalizer

/// Delivers notifications to a backend as their provider would, in virtual time.
struct Webhook {
    private struct Attempt {
        var index: Int
        var number: Int
        var time: Date
    }

    /// The outcome of one attempt, on one line.
    private struct Report: Encodable {
        var provider: String
        var type: String
        var id: String
        var attempt: Int
        @EventTime var at: Date
        var status: Int?
        var error: String?
        var outcome: String
        var next: Int64?

        enum CodingKeys: String, CodingKey {
            case provider, type, id, attempt, at, status, error, outcome
            case next = "next_attempt_after_seconds"
        }
    }

    private let url: HTTPSURL
    private let simulator: any StorySimulator
    private let schedule: RedeliverySchedule
    private let compression: Int
    private let maximumAttempts: Int
    private let lost: Set<Int>
    private let transport: CurlHTTPTransport

    init(
        url: HTTPSURL,
        transport: CurlHTTPTransport,
        simulator: any StorySimulator,
        compression: Int,
        maximumAttempts: Int,
        lost: Set<Int>
    ) {
        self.url = url
        self.simulator = simulator
        self.compression = compression
        self.maximumAttempts = maximumAttempts
        self.lost = lost
        schedule = RedeliverySchedule(simulator.provider)
        self.transport = transport
    }

    /// Delivers everything, whatever comes first in the story's time: a notification, or another attempt for one before.
    ///
    /// - Parameter made: is called with the number of notifications that the provider has made by then.
    /// - Returns: true if none was given up. A lost one was not given up by the provider.
    func deliver(_ notifications: [SimulatedNotification], made: (Int) -> Void) async throws -> Bool {
        var attempts = notifications.indices.map { Attempt(index: $0, number: 1, time: notifications[$0].occurredAt) }
        var now = attempts.first?.time ?? Date(timeIntervalSince1970: 0)
        var isComplete = true
        while let next = attempts.indices.min(by: { attempts[$0].time < attempts[$1].time }) {
            let attempt = attempts.remove(at: next)
            let wait = max(0, attempt.time.timeIntervalSince(now))
            try await Task.sleep(for: .milliseconds(Int64(wait * 1000) / Int64(compression)))
            now = max(now, attempt.time)
            made(notifications.lastIndex { $0.occurredAt <= now }.map { $0 + 1 } ?? 0)
            let again = try await send(attempt, notifications[attempt.index])
            switch again {
            case .accepted, .lost: break
            case .after(let pause):
                attempts.append(Attempt(index: attempt.index, number: attempt.number + 1, time: now + pause))
            case .givenUp: isComplete = false
            }
        }
        return isComplete
    }

    private enum Continuation {
        case accepted, givenUp, lost
        case after(TimeInterval)
    }

    private func send(_ attempt: Attempt, _ notification: SimulatedNotification) async throws -> Continuation {
        var report = Report(
            provider: simulator.provider.rawValue,
            type: notification.type,
            id: notification.id,
            attempt: attempt.number,
            at: attempt.time,
            outcome: "accepted"
        )
        guard !lost.contains(attempt.index) else {
            report.outcome = "lost"
            try StandardOutput.write(line: CanonicalJSON.bytes(report))
            return .lost
        }
        // Signatures and tokens have to hold at the backend's clock, which shows the present.
        let delivery = try simulator.delivery(of: notification, sentAt: Date())
        var headers = HTTPTransportHeaders()
        for header in delivery.headers.all { headers.add(header.name, header.value) }
        let request = try HTTPTransportRequest(
            .post,
            url,
            headers: headers,
            body: delivery.body,
            timeout: schedule.timeout
        )
        do throws(HTTPTransportError) {
            report.status = try await transport.send(request).status
        } catch {
            report.error = error.code.rawValue
        }
        if let status = report.status, schedule.accepts(status: status) {
            try StandardOutput.write(line: CanonicalJSON.bytes(report))
            return .accepted
        }
        let waits = schedule.waits
        guard attempt.number <= waits.count, attempt.number < maximumAttempts else {
            report.outcome = "given_up"
            try StandardOutput.write(line: CanonicalJSON.bytes(report))
            return .givenUp
        }
        let pause = waits[attempt.number - 1].components.seconds
        report.outcome = "retry"
        report.next = pause
        try StandardOutput.write(line: CanonicalJSON.bytes(report))
        return .after(TimeInterval(pause))
    }
}
#endif
