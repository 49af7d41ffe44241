import AppleJWS
import Foundation
import NotificationSimulator
import Normalizer

/// Each provider against the floor of its cryptography and against others that do the same.
struct Providers {
    let subjects: Subjects

    /// A row for proving and decoding, and one for all of it.
    private func rows(
        _ works: SubjectWorks,
        floor: (name: String, work: Work),
        peer: (name: String, peer: Peer?),
        iterations: Int,
        target: (_ measured: Measurement) -> String
    ) async throws {
        let measured = try await Measurement(
            iterations: iterations,
            [works.normalize, works.authenticate, works.normalizeAndDigest, floor.work],
            peer: peer.peer
        )
        let absent = peer.name == "none" ? "" : "not there"
        let peerTime = peer.peer == nil ? absent : microseconds(measured.median(4))
        func timesPeer(_ index: Int) -> Double? { peer.peer == nil ? nil : measured.ratio(4, to: index) }
        Table.row(
            "verified, decoded",
            ours: microseconds(measured.median(1)),
            floor: microseconds(measured.median(3)),
            timesFloor: measured.ratio(1, to: 3),
            allocations: try await Measurement.allocations(works.authenticate)
        )
        Table.row(
            "verified, decoded, normalised",
            ours: microseconds(measured.median(0)),
            floor: microseconds(measured.median(3)),
            timesFloor: measured.ratio(0, to: 3),
            peer: peerTime,
            timesPeer: timesPeer(0),
            allocations: try await Measurement.allocations(works.normalize),
            target: target(measured)
        )
        Table.row(
            "the same, and the body's digest is read",
            ours: microseconds(measured.median(2)),
            floor: microseconds(measured.median(3)),
            timesFloor: measured.ratio(2, to: 3),
            peer: peerTime,
            timesPeer: timesPeer(2)
        )
        print("  floor: \(floor.name); peer: \(peer.name)")
    }

    func stripe() async throws {
        let body = subjects.stripe.delivery.body
        Table.title("Stripe, customer.subscription.updated, \(body.count) bytes")
        let file = try Scratch.file("stripe.json", body)
        try await rows(
            subjects.stripe.works,
            floor: (
                "one raw HMAC-SHA-256 of the body and one pass over it, whether it is UTF-8",
                Work {
                    try RawFloor.hmac(body)
                    guard try UTF8Span(validating: body.span).count == body.count else {
                        throw BenchmarkError("the body is cut off")
                    }
                }
            ),
            peer: (
                "Node's createHmac, timingSafeEqual, JSON.parse",
                Peer.node("peer.js", ["stripe", file, Subjects.stripeSecret])
            ),
            iterations: 200,
            target: { _ in "÷ peer ≥ 2, × floor ≤ 3" }
        )
        try await python("stripe", [file, Subjects.stripeSecret], ours: subjects.stripe.works.normalize)
        let raw = try await Measurement(
            iterations: 200,
            [Work { try RawFloor.hmac(body) }, Work { try RawFloor.sha256(body) }]
        )
        Table.row("one raw HMAC-SHA-256 of the body", floor: microseconds(raw.median(0)))
        Table.row("one raw SHA-256 of the body", floor: microseconds(raw.median(1)))
    }

    func revenueCat() async throws {
        let body = subjects.revenueCat.delivery.body
        Table.title("RevenueCat, RENEWAL, \(body.count) bytes, authorization")
        let file = try Scratch.file("revenuecat.json", body)
        try await rows(
            subjects.revenueCat.works,
            floor: ("one raw SHA-256 of the body", Work { try RawFloor.sha256(body) }),
            peer: ("Node's JSON.parse of the body alone", Peer.node("peer.js", ["json", file])),
            iterations: 500,
            target: { _ in "÷ peer ≥ 1" }
        )
    }

    func google() async throws {
        let body = subjects.google.delivery.body
        Table.title("Google Play, push with a known key, \(body.count) bytes, nothing asked")
        let file = try Scratch.file("google.json", body)
        let floor = try RawFloor(rsaLength: subjects.googleSignedLength)
        let peer = Peer.node("peer.js", ["json", file])
        try await rows(
            subjects.google.waitingWorks,
            floor: ("one raw RSA-2048 verification", Work { try floor.verify() }),
            peer: ("Node's JSON.parse of the envelope alone", peer),
            iterations: 100,
            target: { measured in
                guard peer != nil else { return "≤ 2 × floor + peer" }
                return "≤ \(microseconds(2 * measured.median(3) + measured.median(4))): 2 × floor + peer"
            }
        )
    }

    func apple() async throws {
        let (apple, simulator) = (subjects.apple, subjects.appleSimulator)
        Table.title("Apple, notification with transaction and renewal info, \(apple.delivery.body.count) bytes")
        let floor = try RawFloor(lengths: try signedLengths())
        try await rows(
            apple.works,
            floor: ("three raw P-256 verifications over the same lengths", Work { try floor.verify() }),
            peer: ("none", nil),
            iterations: 30,
            target: { _ in "× floor ≤ 1.35" }
        )
        let deliveries = try (0..<8).map { try AppleSimulator(seed: "cold \($0)") }
        let adapter = try Subjects.appleAdapter(simulator, roots: deliveries.map(\.rootCertificate), cacheCapacity: 1)
        let cold = try deliveries.map { Subject(adapter: adapter, delivery: try Subjects.appleDelivery($0)) }
        var next = 0
        let measured = try await Measurement(
            rounds: 15,
            iterations: 8,
            [
                Work {
                    try cold[next % cold.count].normalized()
                    next += 1
                }, Work { try floor.verify() },
            ]
        )
        Table.row(
            "the same, another chain each time",
            ours: microseconds(measured.median(0)),
            floor: microseconds(measured.median(1)),
            timesFloor: measured.ratio(0, to: 1),
            target: "× floor ≤ 11.5"
        )
        let root = try Scratch.file("apple.der", simulator.rootCertificate)
        let file = try Scratch.file("apple.json", apple.delivery.body)
        try await python(
            "apple",
            [file, root, simulator.bundleId, "\(simulator.appAppleId)"],
            ours: apple.works.normalize
        )
    }

    /// The provider's own library for Python.
    private func python(_ name: String, _ arguments: [String], ours: Work) async throws {
        let title = "the provider's own library for Python"
        guard let peer = Peer.python("peer.py", [name] + arguments) else {
            Table.row(title, peer: "not there")
            return
        }
        let measured = try await Measurement(rounds: 9, iterations: 20, [ours], peer: peer)
        Table.row(
            title,
            ours: microseconds(measured.median(0)),
            peer: microseconds(measured.median(1)),
            timesPeer: measured.ratio(1, to: 0)
        )
    }

    /// The lengths of what the three signatures are over.
    /// The lengths of the three texts that an App Store notification has signed.
    func signedLengths() throws -> [Int] {
        let delivery = subjects.apple.delivery
        let notification = try subjects.apple.adapter.authenticate(delivery).value
        guard case .data(let data) = notification.content, let transaction = data.transaction,
            let renewalInfo = data.renewalInfo
        else { throw BenchmarkError("the notification carries too little") }
        let outer = delivery.body.dropFirst(#"{"signedPayload":""#.utf8.count).dropLast(2)
        // All three have one header; a payload of n bytes takes ⌈4n/3⌉ characters, a signature 86.
        let header = outer.prefix { $0 != UInt8(ascii: ".") }.count
        return [
            outer.count - 87, header + 1 + (transaction.payload.count * 4 + 2) / 3,
            header + 1 + (renewalInfo.payload.count * 4 + 2) / 3,
        ]
    }

    /// Several threads do as many times the work of one in the same time, up to the number of processors. What the
    /// machine itself gives, raw verification shows in the same rounds.
    func threads() async throws {
        print("\nThreads: work per second against one thread's; raw P-256 verification in the same rounds")
        let floor = try RawFloor(lengths: [4_000])
        let subjects = subjects
        // One adapter for all threads; a delivery of its own for each, as a server has.
        let own = try (0..<8).map { _ in try Subjects() }
        let works: [(String, Int, @Sendable (Int) throws -> Void)] = [
            ("raw P-256 verification", 400, { _ in try floor.verify() }),
            (
                "Apple", 150,
                { thread in
                    let adapter = subjects.apple.adapter
                    _ = try adapter.normalize(adapter.authenticate(own[thread].apple.delivery))
                }
            ),
            (
                "Stripe", 2_000,
                { thread in
                    let adapter = subjects.stripe.adapter
                    _ = try adapter.normalize(adapter.authenticate(own[thread].stripe.delivery))
                }
            ),
            (
                "RevenueCat", 4_000,
                { thread in
                    let adapter = subjects.revenueCat.adapter
                    _ = try adapter.normalize(adapter.authenticate(own[thread].revenueCat.delivery))
                }
            ),
        ]
        func seconds(threads: Int, iterations: Int, _ work: @Sendable (Int) throws -> Void) -> Double {
            ContinuousClock().measure {
                DispatchQueue.concurrentPerform(iterations: threads) { thread in
                    for _ in 0..<iterations { try? work(thread) }
                }
            }.seconds
        }
        var gains: [[[Double]]] = works.map { _ in [[], [], []] }
        for _ in 0..<11 {
            for (index, (_, iterations, work)) in works.enumerated() {
                let alone = seconds(threads: 1, iterations: iterations, work)
                for (column, threads) in [2, 4, 8].enumerated() {
                    gains[index][column].append(
                        Double(threads) * alone / seconds(threads: threads, iterations: iterations, work)
                    )
                }
            }
        }
        for (index, (name, _, _)) in works.enumerated() {
            let figures = zip([2, 4, 8], gains[index]).map { "\($0) threads \(ratio($1.median))" }
            print("  \(name.padding(toLength: 26, withPad: " ", startingAt: 0))\(figures.joined(separator: "   "))")
        }
        print("  target: two threads ≥ 1.9 where the machine has two processors to itself")
    }
}
