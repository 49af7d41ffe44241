#if CommandLineTool
import ArgumentParser
import Foundation
import Normalizer
import NotificationSimulator
import StoryReceiving

/// `lifecycle demo`
struct Demo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract:
            "Plays one customer's life on every provider, verifies and maps each notification, and prints a timeline."
    )

    @Option(help: ArgumentHelp("Write the events to this file, one a line.", valueName: "file"))
    var out: String

    func run() async throws {
        // 2026-01-05T10:00:00Z
        let start = Date(timeIntervalSince1970: 1_767_607_200)
        var channels: [Channel] = []
        for provider in CustomerStory.providers {
            channels.append(
                try await Channel(.life, by: try StoryOptions.simulator(provider, seed: "demo"), from: start)
            )
        }
        let columns = Columns([36] + channels.map { _ in 28 })
        try StandardOutput.write(columns.line(["\(CustomerStory.life.id), reported by"] + channels.map(\.title)))
        for (index, step) in CustomerStory.life.steps.enumerated() {
            let times = channels.compactMap { $0.times[index] }
            let date = times.min().map { RFC3339.string($0.millisecondsSince1970).prefix(10) } ?? ""
            try StandardOutput.write(
                columns.line(["\(date)  \(step.act.name)"] + channels.map { $0.words[index] ?? "" })
            )
            try StandardOutput.write(columns.line(["    access"] + channels.map { $0.access[index] ?? "" }))
        }
        try StandardOutput.write("\nA forged first notification, the same but for its key")
        for channel in channels {
            try StandardOutput.write("  \(channel.title): HTTP \(channel.refusal.answer), \(channel.refusal.error)")
        }
        var lines: [UInt8] = []
        for event in channels.flatMap(\.events) { lines += try CanonicalJSON.bytes(event) + [0x0A] }
        try writeFile(lines, to: URL(fileURLWithPath: out))
        let deliveries = channels.reduce(0) { $0 + $1.deliveries }
        try StandardOutput.write(
            "\n\(deliveries) deliveries verified; their \(channels.flatMap(\.events).count) events are in \(out)"
        )
    }
}

/// A story as one provider reports it.
private struct Channel {
    let title: String
    let deliveries: Int
    private(set) var events: [NormalizedEvent] = []
    /// The time of each step's first notification.
    private(set) var times: [Int: Date] = [:]
    /// The event of each step, in words.
    private(set) var words: [Int: String] = [:]
    /// The access after each step.
    private(set) var access: [Int: String] = [:]
    /// The answer to a forger.
    let refusal: (answer: Int, error: DeliveryError)

    init(_ story: CustomerStory, by simulator: any StorySimulator, from start: Date) async throws {
        title = simulator.provider.storyTitle
        let playback = try await StoryPlayback(story, by: simulator, from: start)
        deliveries = playback.taken.count
        var ledger = AccountLedger()
        var news: [Int: [String]] = [:]
        for taken in playback.taken {
            let step = taken.notification.step
            if times[step] == nil { times[step] = taken.notification.occurredAt }
            for event in taken.result.events {
                let applied = ledger.apply(event)
                events.append(event)
                guard applied.disposition == .applied, event.kind != .acknowledgementRequired else { continue }
                news[step, default: []].append(Self.words(applied.event.event))
            }
            for statement in taken.result.statements { ledger.apply(statement) }
            access[step] = Self.access(ledger, at: taken.notification.receivedAt)
        }
        words = news.mapValues { $0[0] + ($0.count > 1 ? " +\($0.count - 1)" : "") }
        refusal = try await Self.refusal(story, simulator, from: start)
    }

    /// The first notification of a simulator with the same names and other keys.
    private static func refusal(
        _ story: CustomerStory,
        _ simulator: any StorySimulator,
        from start: Date
    ) async throws -> (Int, DeliveryError) {
        let receiver = try StoryReceiver(try simulator.notifications(story, from: start), by: simulator)
        let forger = try StoryOptions.simulator(simulator.provider, seed: "forger")
        guard let notification = try forger.notifications(story, from: start).first else {
            throw ValidationError("the story has no notification to forge")
        }
        let forged = try forger.delivery(of: notification, sentAt: notification.receivedAt)
        do {
            _ = try await receiver.take(forged)
        } catch let error as DeliveryError {
            let outcome = Result<Normalization, DeliveryError>.failure(error)
            return (Acknowledgement(for: outcome, provider: simulator.provider).status, error)
        }
        throw ValidationError("a forged notification was accepted")
    }

    private static func access(_ ledger: AccountLedger, at time: Date) -> String {
        let decisions = ledger.states.map { $0.access(at: time) }
        let granted = decisions.compactMap { decision -> String? in
            guard case .granted(let until, _) = decision else { return nil }
            return until.map { "until \(RFC3339.string($0.millisecondsSince1970).prefix(10))" } ?? "for good"
        }
        return granted.first.map { "yes, \($0)" } ?? "no"
    }

    private static func words(_ event: LifecycleEvent) -> String {
        let kind = event.kind.rawValue
        let detail: String? =
            switch event {
            case .started(let detail): "\(detail.phase)"
            case .renewed(let detail): detail.cause == .scheduled ? nil : detail.cause.name
            case .expired(let detail): "\(detail.reason)"
            default: nil
            }
        return (detail.map { "\(kind): \($0)" } ?? kind).replacingOccurrences(of: "_", with: " ")
    }
}
#endif
