#if CommandLineTool
import ArgumentParser
import Foundation
import Normalizer
import ReceiverConfiguration
import WireJSON

/// `lifecycle normalize`
struct Normalize: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Verifies raw webhook bodies and prints one event or statement a line.",
        discussion: """
            A statement of the store without an event is a line with "kind":"statement". A state needs it, so keep it in \
            the log.

            The configuration file is the `config` object of a test vector. TestVectors/README.md lists its members; others \
            are refused. Its member `now`, in milliseconds since 1970, is the time of receipt; the present by default.

            This command asks no provider. A notification that is only a hint, such as every one of Google Play about a \
            purchase, gives no event and needs_lookup; `lifecycle pull` looks it up.

            Exit status: 0 when all bodies were accepted, 65 when one was rejected (one line each on standard error, \
            "file: code: message"), 69 when a provider could not be reached, 64 for wrong usage.
            """
    )

    @Option(help: "The sender of the bodies: \(Provider.choice).")
    var provider: String

    @Option(help: ArgumentHelp("The receiver's configuration, a JSON file.", valueName: "file"))
    var config: String

    @Option(help: ArgumentHelp("The request's header fields, as a JSON object.", valueName: "file"))
    var headers: String?

    @Argument(help: ArgumentHelp("Raw bodies; - reads standard input.", valueName: "file"))
    var bodies: [String]

    func validate() throws {
        guard Receivers.kind(for: Provider(rawValue: provider)) != nil else {
            throw ValidationError("--provider must be \(Provider.choice)")
        }
    }

    private static func json(at path: String) throws -> JSONValue {
        let bytes = try contents(of: path)
        do {
            return try JSONDocument(parsing: bytes, limits: Receivers.limits).root
        } catch {
            throw ValidationError("\(path): \(error)")
        }
    }

    func run() async throws {
        let receiver: any ConfiguredReceiver
        let headers: Delivery.Headers
        let now: Date?
        do {
            let configured = try Self.json(at: config)
            headers = try Delivery.Headers(json: try self.headers.map(Self.json))
            receiver = try Receivers.receiver(for: Provider(rawValue: provider), config: configured)
            let reader = try ObjectReader(configured)
            try reader.refuseMembers(otherThan: Receivers.memberNames(for: Provider(rawValue: provider)))
            now = try reader.optionalInt64("now").map(Date.init(millisecondsSince1970:))
        } catch let error as ValidationError {
            throw error
        } catch {
            throw ValidationError("\(error)")
        }
        var worst = ExitCode.success
        for path in bodies {
            let delivery = Delivery(headers: headers, body: try contents(of: path), receivedAt: now ?? Date())
            do {
                let normalization = try await receiver.receive(delivery)
                for line in normalization.logLines {
                    try StandardOutput.write(line: CanonicalJSON.bytes(line))
                }
                if let noChange = normalization.noChange {
                    StandardError.write("\(path): no event: \(noChange.reason)")
                }
            } catch let error as DeliveryError {
                StandardError.write("\(path): \(error)")
                if error.code.isRetryable {
                    worst = .unavailable
                } else if worst == .success {
                    worst = .rejected
                }
            }
        }
        if worst != .success { throw worst }
    }
}
#endif
