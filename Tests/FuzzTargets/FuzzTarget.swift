import WireJSON

/// One place where bytes from outside enter, with everything that has to be so whatever they are.
///
/// The package in `Fuzz/` feeds these with inputs that libFuzzer makes; `FuzzReplayTests` with those that once failed.
public enum FuzzTarget: String, CaseIterable, Sendable {
    /// A JSON document.
    case json
    /// A compact JWS and its protected header.
    case jws
    /// The three certificates of an `x5c` header, each behind its length in two octets.
    case x5c
    /// The value of `Stripe-Signature`.
    case stripe
    /// The values of `Authorization` and of RevenueCat's signature header, one a line.
    case revenuecat
    /// The body of a push whose token holds.
    case pubsub
    /// The `Authorization` header of a push; or header and claims of a token, one a line, which are then signed.
    case oidc
    /// The Play Developer API's answers, behind an octet that names the question.
    case play
    /// Edits of a genuine delivery of any provider, which is then signed again.
    case deliveries
    /// Edits of stored events, or of stored states.
    case states

    /// The outcome of one input.
    public struct Run: Sendable {
        /// The broken promise; nil if every promise holds.
        public var violation: String?
        /// True if the input got past all refusals.
        public var isAccepted: Bool
        /// The processor time of the longest single call into the package, in nanoseconds; what judges it is not counted.
        public var slowestCall: Int64
    }

    /// Runs one input. It does not return where the package traps.
    public func run(_ input: [UInt8]) -> Run {
        var meter = Meter()
        let outcome: Outcome
        do throws(Violation) {
            switch self {
            case .json: outcome = try JSONFuzzing.run(input, &meter)
            case .jws: outcome = try JWSFuzzing.run(input, &meter)
            case .x5c: outcome = try CertificateFuzzing.run(input, &meter)
            case .stripe: outcome = try StripeHeaderFuzzing.run(input, &meter)
            case .revenuecat: outcome = try RevenueCatHeaderFuzzing.run(input, &meter)
            case .pubsub: outcome = try EnvelopeFuzzing.run(input, &meter)
            case .oidc: outcome = try TokenFuzzing.run(input, &meter)
            case .play: outcome = try PlayFuzzing.run(input, &meter)
            case .deliveries: outcome = try DeliveryFuzzing.run(input, &meter)
            case .states: outcome = try StateFuzzing.run(input, &meter)
            }
            return Run(violation: nil, isAccepted: outcome == .accepted, slowestCall: meter.slowest)
        } catch {
            return Run(violation: error.description, isAccepted: false, slowestCall: meter.slowest)
        }
    }

    /// Inputs to start from, taken from the test vectors.
    public func seeds() -> [[UInt8]] {
        let seeds: [[UInt8]] =
            switch self {
            case .json: JSONFuzzing.seeds()
            case .jws: JWSFuzzing.seeds()
            case .x5c: CertificateFuzzing.seeds()
            case .stripe: StripeHeaderFuzzing.seeds()
            case .revenuecat: RevenueCatHeaderFuzzing.seeds()
            case .pubsub: EnvelopeFuzzing.seeds()
            case .oidc: TokenFuzzing.seeds()
            case .play: PlayFuzzing.seeds()
            case .deliveries: DeliveryFuzzing.seeds()
            case .states: StateFuzzing.seeds()
            }
        var known: Set<[UInt8]> = []
        return seeds.filter { known.insert($0).inserted }
    }
}

/// The reader's verdict on an input.
enum Outcome {
    case accepted, refused
}

/// A promise that an input broke.
struct Violation: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// - Throws: ``Violation`` unless `condition` holds.
func promise(_ condition: Bool, _ description: @autoclosure () -> String) throws(Violation) {
    guard condition else { throw Violation(description()) }
}

/// Runs what cannot fail for a sound build.
func sound<Value>(_ what: String, _ body: () throws -> Value) throws(Violation) -> Value {
    do { return try body() } catch { throw Violation("\(what): \(error)") }
}
