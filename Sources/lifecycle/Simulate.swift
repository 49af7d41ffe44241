#if CommandLineTool
import ArgumentParser
import CurlTransport
import Foundation
import HTTPTransport
import Normalizer
import NotificationSimulator
import StoryReceiving

/// `lifecycle simulate`
struct Simulate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Plays a story in genuinely signed notifications: to files, to a backend, with the provider's APIs.",
        discussion: """
            --out writes test vectors, which `lifecycle check` runs.

            --post delivers over HTTP as the provider does, with its method and headers. It repeats a delivery until the \
            backend's answer is one that the provider accepts, and prints one line for each attempt. Configure the backend \
            with the names and keys of this seed, which --serve prints. Apple's notifications are signed at the story's time, so let \
            the backend take notifications of any age.

            --serve plays the providers' APIs on the loopback interface: the App Store Server API, the Play Developer API with \
            its token endpoint and the issuer's keys, Stripe's and RevenueCat's. It prints their addresses, and for each provider \
            the file for --config of `lifecycle backfill`, `reconcile`, `refetch`, `import` and `preflight`. With --post it ends when \
            everything is delivered; without --post, interrupt it.

            --lose leaves deliveries out that a backend then has to find by itself. With --serve, Apple's history says of them that \
            every attempt failed.

            Exit status: 69 when a notification was given up, 64 for wrong usage, including a provider that does not have \
            this story.
            """
    )

    @Argument(help: ArgumentHelp("The story; --list shows all.", valueName: "story"))
    var story: String?

    @OptionGroup var options: StoryOptions

    @Flag(help: "List every story and the providers that have it.")
    var list = false

    @Option(help: ArgumentHelp("Write test vectors to this folder.", valueName: "folder"))
    var out: String?

    @Option(help: ArgumentHelp("Deliver to this URL: https, or http on the loopback interface.", valueName: "url"))
    var post: String?

    @Option(help: "The story's time passes so many times faster while it is delivered.")
    var compress: Int = 1_000_000

    @Option(help: "Attempts for each notification at most; the provider may give up earlier.")
    var attempts: Int = 20

    @Option(
        help: ArgumentHelp(
            "Notifications that are never delivered, by their numbers from 1 on: 2,4-6.",
            valueName: "numbers"
        ),
        transform: LostNotifications.init
    )
    var lose = LostNotifications()

    @Option(help: ArgumentHelp("Root certificates of the backend's chain, in PEM.", valueName: "file"))
    var ca: String?

    @Option(help: "The audience of Google's tokens; the URL of --post by default.")
    var audience: String?

    @Flag(help: "Serve the provider's APIs on the loopback interface.")
    var serve = false

    @Option(help: ArgumentHelp("The folder for the certificate and keys of --serve.", valueName: "folder"))
    var files: String?

    func validate() throws {
        if list { return }
        guard story != nil else { throw ValidationError("name a story; `lifecycle simulate --list` lists them") }
        guard out != nil || post != nil || serve else {
            throw ValidationError("give at least one of --out, --post and --serve")
        }
        guard post == nil || options.provider != nil else {
            throw ValidationError("--post needs --provider, since each provider has an endpoint of its own")
        }
        guard lose.places.isEmpty || post != nil || serve else {
            throw ValidationError("--lose needs --post or --serve")
        }
        guard compress >= 1, attempts >= 1 else {
            throw ValidationError("--compress and --attempts must be at least 1")
        }
    }

    func run() async throws {
        try await StoryOptions.telling { try await play() }
    }

    private func play() async throws {
        if list { return try StandardOutput.write(StoryTable(CustomerStory.all).text) }
        guard let story = try story.map(StoryOptions.story) else { return }
        let simulators = try options.simulators(audience: audience ?? post).filter { simulator in
            guard let message = simulator.refusal(of: story) else { return true }
            guard options.provider == nil else { throw ValidationError(message) }
            StandardError.write(message)
            return false
        }
        let start = options.start.date
        if let out {
            for simulator in simulators { try await write(story, simulator, from: start, to: out) }
        }
        let api =
            serve
            ? try SimulatedAPI(
                try simulators.map { ($0, try StoryAPI([story], by: $0, from: start, losing: lose.places)) },
                files: files
            ) : nil
        if let api { try StandardOutput.write(line: api.description) }
        if let post, let simulator = simulators.first {
            let (url, notifications) = (try WebhookURL(post).url, try simulator.notifications(story, from: start))
            let transport = try transport()
            let webhook = Webhook(
                url: url,
                transport: transport,
                simulator: simulator,
                compression: compress,
                maximumAttempts: attempts,
                lost: lose.places
            )
            let isComplete: Bool
            do {
                // The provider knows everything only once the story is over.
                isComplete = try await webhook.deliver(notifications) { made in
                    api?.advance(to: made, of: simulator.provider)
                }
            } catch {
                await transport.shutdown()
                throw error
            }
            // The process ends behind this, and libcrypto with it.
            await transport.shutdown()
            if !isComplete { throw ExitCode.unavailable }
        } else if api != nil {
            while true { try await Task.sleep(for: .seconds(3600)) }
        }
        withExtendedLifetime(api) {}
    }

    private func transport() throws -> CurlHTTPTransport {
        let certificates = try ca.map { try contents(of: $0) }
        do throws(HTTPTransportError) {
            return try CurlHTTPTransport(.init(trustRoots: certificates.map { .pem($0) } ?? .system))
        } catch {
            throw ValidationError("--ca: \(error.message)")
        }
    }

    private func write(_ story: CustomerStory, _ simulator: any StorySimulator, from start: Date, to folder: String)
        async throws
    {
        let lines = try await StoryVectors.lines(story, by: simulator, from: start)
        let file = URL(fileURLWithPath: folder).appendingPathComponent(
            "\(story.id).\(simulator.provider.rawValue).jsonl"
        )
        try writeFile((lines.joined(separator: "\n") + "\n").utf8, to: file)
        StandardError.write("\(file.path): \(lines.count) cases")
    }
}

/// The notifications of a story that never arrive.
struct LostNotifications {
    /// Their places, from 0 on.
    private(set) var places: Set<Int> = []

    init() {}

    /// Reads numbers from 1 on, and ranges of them.
    init(_ text: String) throws {
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let ends = part.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
            guard (1...2).contains(ends.count), let first = ends[0], let last = ends[ends.count - 1],
                1 <= first, first <= last, last <= 10_000
            else { throw ValidationError("--lose must be numbers from 1 on, such as 2,4-6") }
            places.formUnion(first - 1...last - 1)
        }
    }
}

/// The stories and the providers that have them, as a table.
struct StoryTable {
    let text: String

    init(_ stories: [CustomerStory]) {
        let width = (stories.map(\.id.count).max() ?? 0) + 2
        let columns = CustomerStory.providers.map(\.rawValue)
        let header = "story".padding(toLength: width, withPad: " ", startingAt: 0) + columns.joined(separator: "  ")
        var lines = [header]
        for story in stories {
            var line = story.id.padding(toLength: width, withPad: " ", startingAt: 0)
            for (provider, column) in zip(CustomerStory.providers, columns) {
                let mark = story.absence(at: provider) == nil ? "yes" : "-"
                line += mark.padding(toLength: column.count + 2, withPad: " ", startingAt: 0)
            }
            lines.append(line + story.title)
        }
        text = lines.joined(separator: "\n")
    }
}

/// A URL that may be without TLS where it does not leave this host.
private struct WebhookURL {
    let url: HTTPSURL

    init(_ text: String) throws {
        do throws(HTTPTransportError) {
            guard let components = URLComponents(string: text), components.scheme?.lowercased() == "http" else {
                url = try HTTPSURL(text)
                return
            }
            guard components.query == nil, components.user == nil, components.fragment == nil else {
                throw HTTPTransportError(.invalidRequest, "a URL without TLS may have a host, a port and a path only")
            }
            let path = components.path.split(separator: "/").map { HTTPSURL.PathSegment(String($0)) }
            let (host, port) = (components.host ?? "", components.port ?? 80)
            guard let url = try? HTTPSURL.emulator(host: host, port: port, path: path) else {
                throw HTTPTransportError(
                    .invalidRequest,
                    "without TLS only the loopback interface can be reached; use https"
                )
            }
            self.url = url
        } catch {
            throw ValidationError("--post: \(error.message)")
        }
    }
}
#endif
