public import Normalizer

/// Checks the promises of a `ProviderAdapter`, with deliveries that you give it.
///
/// It depends on no test framework: it returns findings, and an adapter that keeps its promises has none. It cannot
/// report a trap, since that ends its process.
///
/// Give it every kind of notification that the adapter maps, at least one forgery for each way of proving, and a
/// notification of an invented type.
public struct AdapterConformance<Adapter: ProviderAdapter>: Sendable {
    /// The promise that was checked.
    @nonexhaustive
    public enum Check: String, Hashable, Sendable, CaseIterable {
        /// There is something to check: genuine deliveries, forgeries, and one of an unknown type; and in those that are
        /// genuine there is something that the proof covers.
        case samples
        /// A genuine delivery is accepted, gives events or says why not, and is answered with 2xx.
        case genuine
        /// The same delivery gives the same result each time; repeated later, the same events under the same ids.
        /// Without a look-up, the same bytes have the same dates later: by the provider, not by the receipt.
        case deterministic
        /// Events have the adapter's provider, evidence of how they were proven, and ids that differ.
        case identity
        /// Results, and values between the steps, are the same after a trip through JSON.
        case coding
        /// A forgery is refused, is not called authentic, and is not answered with 2xx.
        case forged
        /// A delivery with an octet changed, dropped or added is refused like a forgery, or gives the same events.
        case tampered
        /// Bytes that are no notification are refused with an error.
        case garbage
        /// No error shows received content.
        case silent
        /// A type that the adapter does not know is kept as `unmapped` under the provider's own name.
        case unknown
        /// Facts give the same state in any order, and however often each arrives.
        case convergent
        /// Where the provider cannot be asked, the same comes out, or an error that has the delivery repeated: never
        /// other events, and never an answer of 2xx that would lose them.
        case unreachable
    }

    /// A promise that was not kept.
    public struct Finding: Hashable, Sendable, CustomStringConvertible {
        /// Which.
        public var check: Check
        /// The name of the delivery.
        public var sample: String
        /// The result instead. It may show an adapter's leak, so that it can be found.
        public var message: String

        /// `check: sample: message`
        public var description: String { "\(check): \(sample): \(message)" }
    }

    /// A delivery with a name.
    public struct Sample: Sendable {
        /// Its name in findings.
        public var name: String
        /// The delivery.
        public var delivery: Delivery
        /// The same notification as the provider repeats it, freshly signed perhaps; nil for the same delivery a
        /// millisecond later.
        public var repetition: Delivery?

        /// Names a delivery.
        public init(_ name: String, _ delivery: Delivery, repetition: Delivery? = nil) {
            self.name = name
            self.delivery = delivery
            self.repetition = repetition
        }
    }

    /// The part of a delivery that the proof covers, whose octets are therefore changed.
    @nonexhaustive
    public enum Proof: Hashable, Sendable {
        /// The whole body.
        case body
        /// The value of a header alone, such as a bearer token. Altered deliveries carry no other header.
        case header(String)
    }

    /// The adapter.
    public var adapter: Adapter
    /// The same adapter where the provider cannot be reached; nil if nothing is asked.
    public var unreachable: Adapter?
    /// The part that the proof covers.
    public var proof: Proof
    /// Deliveries that have to be accepted.
    public var genuine: [Sample]
    /// Deliveries that another sender made.
    public var forged: [Sample]
    /// Genuine deliveries of a type that the provider has not invented yet.
    public var unknown: [Sample]
    /// Further texts that no error may show, in addition to those in the deliveries: secrets, for example.
    public var confidential: [String] = []

    /// Describes the checks.
    public init(
        _ adapter: Adapter,
        unreachable: Adapter? = nil,
        proof: Proof,
        genuine: [Sample],
        forged: [Sample],
        unknown: [Sample]
    ) {
        self.adapter = adapter
        self.unreachable = unreachable
        self.proof = proof
        self.genuine = genuine
        self.forged = forged
        self.unknown = unknown
    }

    /// Checks everything.
    public func findings() async -> [Finding] {
        var run = ConformanceRun(self)
        await run.perform()
        return run.findings
    }
}
