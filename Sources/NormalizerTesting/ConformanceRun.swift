import FoundationEssentials
import Normalizer

/// One run of all checks.
struct ConformanceRun<Adapter: ProviderAdapter> {
    typealias Conformance = AdapterConformance<Adapter>
    typealias Outcome = Result<Normalization, DeliveryError>

    private let conformance: Conformance
    private(set) var findings: [Conformance.Finding] = []

    init(_ conformance: Conformance) { self.conformance = conformance }

    mutating func perform() async {
        require(.samples, of: "genuine", that: !conformance.genuine.isEmpty, "no delivery is given")
        require(.samples, of: "forged", that: !conformance.forged.isEmpty, "no delivery is given")
        require(.samples, of: "unknown", that: !conformance.unknown.isEmpty, "no delivery is given")
        var events: [NormalizedEvent] = []
        for sample in conformance.genuine + conformance.unknown {
            guard let normalization = await checkGenuine(sample) else { continue }
            events += normalization.events
            await checkRepetition(sample, normalization)
            await checkSteps(sample, normalization)
            await checkUnreachable(sample, normalization)
            await checkTampering(sample, normalization)
        }
        for sample in conformance.forged { await checkForgery(.forged, sample) }
        for sample in conformance.unknown { await checkUnknown(sample) }
        if let sample = conformance.genuine.first { await checkGarbage(sample) }
        checkConvergence(events)
    }

    private mutating func require(
        _ check: Conformance.Check,
        of sample: String,
        that condition: Bool,
        _ message: @autoclosure () -> String
    ) {
        // One finding a check and delivery: thousands of changes may show the same mistake.
        guard !condition, !findings.contains(where: { $0.check == check && $0.sample == sample }) else { return }
        findings.append(.init(check: check, sample: sample, message: message()))
    }

    private func receive(_ delivery: Delivery, _ adapter: Adapter? = nil) async -> Outcome {
        do throws(DeliveryError) {
            return .success(try await (adapter ?? conformance.adapter).receive(delivery))
        } catch {
            return .failure(error)
        }
    }

    // MARK: Genuine deliveries

    private mutating func checkGenuine(_ sample: Conformance.Sample) async -> Normalization? {
        let outcome = await receive(sample.delivery)
        switch outcome {
        case .failure(let error):
            require(.genuine, of: sample.name, that: false, "refused: \(error)")
            return nil
        case .success(let normalization):
            let status = self.status(outcome)
            require(.genuine, of: sample.name, that: status / 100 == 2, "answered with \(status)")
            require(
                .genuine,
                of: sample.name,
                that: normalization.events.isEmpty != (normalization.noChange == nil),
                "no event and no reason for it, or both"
            )
            let ids = normalization.events.map(\.id)
            require(.identity, of: sample.name, that: Set(ids).count == ids.count, "two events have the same id")
            for event in normalization.events {
                let provider = conformance.adapter.provider
                require(
                    .identity,
                    of: sample.name,
                    that: event.provider == provider,
                    "the provider is \(event.provider)"
                )
                require(
                    .identity,
                    of: sample.name,
                    that: event.origin.evidence.method != .unchecked && !event.origin.type.isEmpty,
                    "the origin does not say what was proven, and how"
                )
            }
            let copy: Normalization? = Self.copy(normalization)
            require(
                .coding,
                of: sample.name,
                that: copy == normalization,
                "the result is another one after a trip through JSON"
            )
            return normalization
        }
    }

    private mutating func checkRepetition(_ sample: Conformance.Sample, _ first: Normalization) async {
        let again = await receive(sample.delivery)
        require(
            .deterministic,
            of: sample.name,
            that: (try? again.get()) == first,
            "the second time, the result is another one"
        )
        var later = sample.delivery
        later.receivedAt = later.receivedAt.addingTimeInterval(0.001)
        let repetition = await receive(sample.repetition ?? later)
        guard case .success(let repeated) = repetition else {
            require(.deterministic, of: sample.name, that: false, "refused when it was repeated")
            return
        }
        require(
            .deterministic,
            of: sample.name,
            that: Self.says(repeated, first),
            "repeated, it gives other events or ids"
        )
        // A provider may word the answer to a look-up differently each time.
        guard sample.repetition == nil, conformance.unreachable == nil else { return }
        require(
            .deterministic,
            of: sample.name,
            that: Self.isSame(repeated, first),
            "later, the same bytes say something else"
        )
    }

    private mutating func checkSteps(_ sample: Conformance.Sample, _ result: Normalization) async {
        let adapter = conformance.adapter
        do throws(DeliveryError) {
            let proven = try await adapter.authenticate(sample.delivery)
            guard let queued: Authenticated<Adapter.Notification> = Self.copy(proven) else {
                return require(.coding, of: sample.name, that: false, "a notification cannot be written and read")
            }
            let resolved = try await adapter.resolve(queued)
            guard let stored: Authenticated<Adapter.Resolved> = Self.copy(resolved) else {
                return require(
                    .coding,
                    of: sample.name,
                    that: false,
                    "a resolved notification cannot be written and read"
                )
            }
            let late = try adapter.normalize(stored)
            require(
                .coding,
                of: sample.name,
                that: Self.isSame(late, result),
                "after two queues, it gives other events or ids"
            )
        } catch {
            require(.coding, of: sample.name, that: false, "after a queue, it fails: \(error)")
        }
    }

    private mutating func checkUnreachable(_ sample: Conformance.Sample, _ result: Normalization) async {
        guard let unreachable = conformance.unreachable else { return }
        let outcome = await receive(sample.delivery, unreachable)
        switch outcome {
        case .success(let normalization):
            require(
                .unreachable,
                of: sample.name,
                that: Self.says(normalization, result),
                "a look-up that fails changes events"
            )
        case .failure(let error):
            let isRepeated = status(outcome) / 100 != 2 && error.code.isRetryable
            require(.unreachable, of: sample.name, that: isRepeated, "a look-up that fails is final: \(error)")
        }
    }

    private mutating func checkUnknown(_ sample: Conformance.Sample) async {
        guard case .success(let normalization) = await receive(sample.delivery) else { return }
        let types = normalization.events.compactMap { event -> String? in
            if case .unmapped(let unmapped) = event.event { return unmapped.type }
            return nil
        }
        require(.unknown, of: sample.name, that: !types.isEmpty, "no event is unmapped")
        for type in types {
            let isVerbatim = normalization.events.contains { $0.origin.type == type }
            require(.unknown, of: sample.name, that: !type.isEmpty && isVerbatim, "the type is not kept as it was")
        }
    }

    private mutating func checkConvergence(_ events: [NormalizedEvent]) {
        let inOrder = Self.ledger(events)
        var orders: [[NormalizedEvent]] = [events.reversed(), events + events.reversed()]
        // Every event first once; and every second one before the others.
        for index in events.indices { orders.append(Array(events[index...]) + events[..<index]) }
        orders.append(
            events.indices.filter { $0 % 2 == 1 }.map { events[$0] }
                + events.indices.filter { $0 % 2 == 0 }.map { events[$0] }
        )
        for order in orders {
            require(
                .convergent,
                of: "all",
                that: Self.ledger(order) == inOrder,
                "the order of events decides the state"
            )
        }
    }

    // MARK: Forged deliveries

    private mutating func checkForgery(_ check: Conformance.Check, _ sample: Conformance.Sample) async {
        let outcome = await receive(sample.delivery)
        guard case .failure(let error) = outcome else {
            return require(check, of: sample.name, that: false, "accepted")
        }
        require(check, of: sample.name, that: !error.isAuthentic, "called authentic: \(error)")
        let status = self.status(outcome)
        require(check, of: sample.name, that: status / 100 != 2, "answered with \(status)")
        checkSilence(error, sample.delivery, of: sample.name)
    }

    private mutating func checkTampering(_ sample: Conformance.Sample, _ genuine: Normalization) async {
        let deliveries = Tampering.deliveries(sample.delivery, conformance.proof)
        require(.samples, of: sample.name, that: !deliveries.isEmpty, "it has nothing that the proof covers")
        for altered in deliveries {
            let outcome = await receive(altered)
            switch outcome {
            case .success(let normalization):
                require(
                    .tampered,
                    of: sample.name,
                    that: Self.says(normalization, genuine),
                    "accepted with other events"
                )
            case .failure(let error):
                require(.tampered, of: sample.name, that: !error.isAuthentic, "called authentic: \(error)")
                let status = self.status(outcome)
                require(.tampered, of: sample.name, that: status / 100 != 2, "answered with \(status)")
                checkSilence(error, altered, of: sample.name)
            }
        }
    }

    private mutating func checkGarbage(_ sample: Conformance.Sample) async {
        for (name, body) in Tampering.garbage {
            for headers in [[:], sample.delivery.headers] as [Delivery.Headers] {
                let delivery = Delivery(headers: headers, body: body, receivedAt: sample.delivery.receivedAt)
                let outcome = await receive(delivery)
                guard case .failure(let error) = outcome else {
                    require(.garbage, of: name, that: false, "accepted")
                    continue
                }
                if case .body = conformance.proof {
                    require(.garbage, of: name, that: !error.isAuthentic, "called authentic: \(error)")
                }
                checkSilence(error, delivery, of: name)
            }
        }
    }

    // MARK: All deliveries

    private func status(_ outcome: Outcome) -> Int { conformance.adapter.acknowledgement(for: outcome).status }

    /// A text that is too long to be a word of the language must not stand in an error.
    private mutating func checkSilence(_ error: DeliveryError, _ delivery: Delivery, of sample: String) {
        var dumped = ""
        dump(error, to: &dumped)
        let shown = [error.description, error.debugDescription, dumped].joined(separator: "\n")
        for text in conformance.confidential where !text.isEmpty {
            require(.silent, of: sample, that: !shown.contains(text), "an error shows a confidential text: \(shown)")
        }
        for text in Tampering.telling(delivery, conformance.proof) {
            require(.silent, of: sample, that: !shown.contains(text), "an error shows what was received: \(shown)")
        }
    }

    /// True if two results say the same, at any time and from any bytes.
    private static func says(_ lhs: Normalization, _ rhs: Normalization) -> Bool {
        lhs.noChange?.reason == rhs.noChange?.reason && lhs.events.count == rhs.events.count
            && zip(lhs.events, rhs.events).allSatisfy { lhs, rhs in
                lhs.id == rhs.id && lhs.event == rhs.event && lhs.facts == rhs.facts
                    && lhs.subscription == rhs.subscription && lhs.account == rhs.account
                    && lhs.environment == rhs.environment
            }
    }

    /// True if two results of the same bytes differ in nothing but the time of receipt. Above all they were asserted at one
    /// time: taken from the receipt, it would make the state depend on the order of arrival.
    private static func isSame(_ lhs: Normalization, _ rhs: Normalization) -> Bool {
        var lhs = lhs
        guard lhs.events.count == rhs.events.count else { return false }
        for index in lhs.events.indices { lhs.events[index].receivedAt = rhs.events[index].receivedAt }
        return lhs == rhs
    }

    private static func ledger(_ events: some Sequence<NormalizedEvent>) -> AccountLedger {
        var ledger = AccountLedger()
        for event in events { _ = ledger.apply(event) }
        return ledger
    }

    private static func copy<Value: Codable>(_ value: some Encodable) -> Value? {
        guard let bytes = try? CanonicalJSON.bytes(value) else { return nil }
        return try? CanonicalJSON.value(Value.self, from: bytes)
    }
}
