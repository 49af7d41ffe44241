import FoundationEssentials
import HTTPTransport
import NormalizerTesting
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

@Suite("Hostile Stripe deliveries")
struct HostileTests {
    static let body = simulator().event(
        "customer.created",
        id: "evt_1",
        created: created,
        object: ["id": "cus_1", "object": "customer"]
    ).bytes

    static func delivery(_ headers: Delivery.Headers, _ body: [UInt8] = body) -> Delivery {
        Delivery(headers: headers, body: body, receivedAt: date(created))
    }

    static func refusal(_ header: String, _ body: [UInt8] = body) throws -> DeliveryError? {
        let adapter = try adapter()
        return #expect(throws: DeliveryError.self) {
            try adapter.authenticate(delivery(["Stripe-Signature": header], body))
        }
    }

    static func code(_ timestamp: String, _ body: [UInt8] = body) throws -> String {
        try StripeSimulator.code(body, timestamp: timestamp, secret: secret)
    }

    @Test("any octets, unsigned, are refused", .timeLimit(.minutes(5)))
    func anyOctets() throws {
        var generator = SeededGenerator(seed: 7)
        let adapter = try adapter()
        for length in 0..<400 {
            let body = (0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) }
            let text = String(decoding: body.map { $0 & 0x7F }, as: UTF8.self)
            for header in [text, "t=\(created),v1=\(text)", "t=\(text),v1=\(String(repeating: "a", count: 64))"] {
                #expect(throws: DeliveryError.self) {
                    try adapter.authenticate(Self.delivery(["Stripe-Signature": header], body))
                }
            }
        }
    }

    @Test("any octets, signed, are refused or kept", .timeLimit(.minutes(5)))
    func signedOctets() throws {
        var generator = SeededGenerator(seed: 8)
        let simulator = simulator()
        let adapter = try adapter()
        for length in 0..<200 {
            let body = (0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) }
            let error = #expect(throws: DeliveryError.self) { try adapter.take(body, simulator) }
            #expect(error?.code == .malformed)
            #expect(error?.isAuthentic == true)
        }
        // Octets of sound events replaced: whatever is signed gives events or a typed error, and never a trap.
        for event in try CustomerStory.subscriptionLife(simulator) {
            for _ in 0..<150 {
                var body = event.content
                for _ in 0..<Int.random(in: 1...3, using: &generator) {
                    let index = Int.random(in: 0..<body.count, using: &generator)
                    body[index] = [UInt8]("0123456789-\"{}[],.:eEnt".utf8).randomElement(using: &generator) ?? 0
                }
                let delivery = try simulator.delivery(body, receivedAt: date(event.created))
                do throws(DeliveryError) {
                    _ = try adapter.normalize(try adapter.authenticate(delivery))
                } catch {
                    #expect(error.code == .malformed)
                    #expect(error.isAuthentic)
                }
            }
        }
    }

    @Test("each octet of body, header and secret counts")
    func everyOctetCounts() throws {
        let adapter = try adapter()
        let stamp = String(created)
        let header = "t=\(stamp),v1=\(try Self.code(stamp))"
        #expect(try adapter.authenticate(Self.delivery(["Stripe-Signature": header])).value.id == "evt_1")
        for index in Self.body.indices {
            var body = Self.body
            body[index] ^= 0x01
            let error = #expect(throws: DeliveryError.self) {
                try adapter.authenticate(Self.delivery(["Stripe-Signature": header], body))
            }
            #expect(error?.code == .unauthenticated)
        }
        for index in header.utf8.indices {
            var octets = Array(header.utf8)
            octets[header.utf8.distance(from: header.startIndex, to: index)] ^= 0x01
            #expect(throws: DeliveryError.self) {
                try adapter.authenticate(
                    Self.delivery(["Stripe-Signature": String(decoding: octets, as: UTF8.self)])
                )
            }
        }
    }

    @Test(
        "a timestamp at an end of its range does not trap",
        arguments: [
            "9223372036854775807", "9223372036854775808", "-9223372036854775808", "0", "9223372036854775",
            "9223372036854776", "99999999999999999999999999999999",
        ]
    )
    func extremeTimestamps(text: String) throws {
        let forged = try Self.refusal("t=\(text),v1=\(String(repeating: "a", count: 64))")
        #expect(forged?.code == .unauthenticated || forged?.code == .malformed)
        let signed = try Self.refusal("t=\(text),v1=\(try Self.code(text))")
        #expect(signed?.code == .stale || signed?.code == .malformed)
        for tolerance in [StripeAdapter.Tolerance.disabled, .within(.seconds(Int64.max)), .within(.zero)] {
            let adapter = try adapter { $0.tolerance = tolerance }
            _ = try? adapter.authenticate(Self.delivery(["Stripe-Signature": "t=\(text),v1=\(try Self.code(text))"]))
        }
    }

    @Test("a time of receipt at an end of its range does not trap", arguments: [-1e300, -62e9, 0, 1e12, 1e300])
    func extremeReceipts(seconds: Double) throws {
        let adapter = try adapter()
        let stamp = String(created)
        let delivery = Delivery(
            headers: ["Stripe-Signature": "t=\(stamp),v1=\(try Self.code(stamp))"],
            body: Self.body,
            receivedAt: Date(timeIntervalSince1970: seconds)
        )
        let error = #expect(throws: DeliveryError.self) { try adapter.authenticate(delivery) }
        #expect(error?.code == .stale)
    }

    @Test("ten thousand signatures are refused before any is looked at", .timeLimit(.minutes(5)))
    func manySignatures() throws {
        let entries = String(repeating: ",v1=\(String(repeating: "a", count: 64))", count: 10_000)
        let stamp = String(created)
        #expect(try Self.refusal("t=\(stamp)\(entries),v1=\(try Self.code(stamp))")?.code == .malformed)
        #expect(try Self.refusal("t=\(stamp)\(String(repeating: ",v1=", count: 2000))")?.code == .malformed)
    }

    @Test("a signed body nested 100 000 deep is refused", .timeLimit(.minutes(5)))
    func deep() throws {
        let adapter = try adapter()
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let closed = String(repeating: open, count: 100_000) + "1" + String(repeating: close, count: 100_000)
            let error = #expect(throws: DeliveryError.self) { try adapter.take(Array(closed.utf8)) }
            #expect(error?.code == .malformed)
            let unclosed = String(repeating: open, count: 100_000)
            #expect(throws: DeliveryError.self) { try adapter.take(Array(unclosed.utf8)) }
        }
    }

    @Test("a body beyond the limit is refused before it is hashed")
    func tooLong() throws {
        let adapter = try adapter { $0.maximumBodyBytes = Self.body.count - 1 }
        let stamp = String(created)
        let error = #expect(throws: DeliveryError.self) {
            try adapter.authenticate(Self.delivery(["Stripe-Signature": "t=\(stamp),v1=\(try Self.code(stamp))"]))
        }
        #expect(error?.code == .malformed)
        #expect(error?.isAuthentic == false)
    }

    @Test("secrets and keys show themselves nowhere")
    func redaction() throws {
        var configuration = StripeAdapter.Configuration(signingSecrets: [SecretBytes("whsec_marked")])
        configuration.lookup = StripeAdapter.Lookup(transport: StubTransport(), apiKey: SecretBytes("sk_test_marked"))
        for value in [configuration, try StripeAdapter(configuration)] as [Any] {
            var dumped = ""
            dump(value, to: &dumped)
            for text in ["\(value)", String(reflecting: value), dumped] { #expect(!text.contains("marked")) }
        }
    }

    @Test("both edges of the tolerance, to the millisecond")
    func tolerance() throws {
        let stamp = String(created)
        let header = "t=\(stamp),v1=\(try Self.code(stamp))"
        func isTaken(_ adapter: StripeAdapter, _ milliseconds: Int64) -> Bool {
            let delivery = Delivery(
                headers: ["Stripe-Signature": header],
                body: Self.body,
                receivedAt: Date(millisecondsSince1970: created * 1000 + milliseconds)
            )
            return (try? adapter.authenticate(delivery)) != nil
        }
        let usual = try adapter()
        #expect(isTaken(usual, 300_000) && !isTaken(usual, 300_001))
        #expect(isTaken(usual, -300_000) && !isTaken(usual, -300_001))
        let skewed = try adapter { $0.maximumFutureSkew = .seconds(5) }
        #expect(isTaken(skewed, 300_000) && isTaken(skewed, -5000) && !isTaken(skewed, -5001))
        let strict = try adapter { $0.tolerance = .within(.zero) }
        #expect(isTaken(strict, 0) && !isTaken(strict, 1) && !isTaken(strict, -1))
        let open = try adapter { $0.tolerance = .disabled }
        #expect(isTaken(open, 400_000_000_000) && isTaken(open, -400_000_000_000))
    }

    @Test("a set-up that would verify nothing is refused")
    func configuration() throws {
        for secrets in [[], [""], [" \t"], ["whsec_a", ""], ["whsec_a\n"], [" whsec_a"]] {
            #expect(throws: ConfigurationError.self) {
                try StripeAdapter(.init(signingSecrets: secrets.map { SecretBytes($0) }))
            }
        }
        #expect(throws: ConfigurationError.self) { try adapter { $0.tolerance = .within(.seconds(-1)) } }
        #expect(throws: ConfigurationError.self) { try adapter { $0.maximumFutureSkew = .seconds(-1) } }
        for (key, host, version) in [
            ("", "api.stripe.com", "v"), (" ", "api.stripe.com", "v"), ("sk\r\nx", "api.stripe.com", "v"),
            ("sk", "", "v"), ("sk", "api.stripe.com/x", "v"), ("sk", "user@evil.example", "v"),
            ("sk", "api.stripe.com", ""), ("sk", "api.stripe.com", "v\r\nX: y"),
        ] {
            #expect(throws: ConfigurationError.self, "\(host)") {
                try adapter {
                    var lookup = StripeAdapter.Lookup(transport: StubTransport(), apiKey: SecretBytes(key))
                    lookup.host = host
                    lookup.version = version
                    $0.lookup = lookup
                }
            }
        }
    }

    @Test("no message shows a secret, a code or content")
    func messages() throws {
        let marks = ["whsec_test_0123456789", "cus_1", "evt_1", "customer.created"]
        let stamp = String(created)
        let code = try Self.code(stamp)
        var errors: [DeliveryError] = []
        for header in [
            "", "t=\(stamp)", "t=x,v1=\(code)", "t=\(stamp),t=\(stamp),v1=\(code)", "t=1,v1=\(try Self.code("1"))",
        ] {
            if let error = try Self.refusal(header) { errors.append(error) }
        }
        let live = try adapter { $0.mode = .test }
        let error = #expect(throws: DeliveryError.self) {
            try live.authenticate(Self.delivery(["Stripe-Signature": "t=\(stamp),v1=\(code)"]))
        }
        if let error { errors.append(error) }
        #expect(error?.code == .misdirected)
        #expect(error?.isAuthentic == true)
        #expect(errors.count == 6)
        for error in errors {
            for text in ["\(error)", String(reflecting: error), error.message] {
                for mark in marks + [code] { #expect(!text.contains(mark), "\(error.code)") }
            }
        }
        let proven = try adapter().authenticate(Self.delivery(["Stripe-Signature": "t=\(stamp),v1=\(code)"]))
        #expect(!String(reflecting: proven.value).contains("cus_1"))
    }

    @Test("an event of another connected account is misdirected")
    func accounts() throws {
        let adapter = try adapter { $0.accounts = ["acct_1"] }
        func take(_ account: String?) throws -> Normalization {
            let simulator = simulator(account: account)
            let body = simulator.event("ping", id: "evt_1", created: created, object: [:]).bytes
            return try adapter.take(body, simulator)
        }
        #expect(try take("acct_1").kinds == ["notice"])
        #expect(try take(nil).kinds == ["notice"])
        let error = #expect(throws: DeliveryError.self) { try take("acct_2") }
        #expect(error?.code == .misdirected)
    }

    @Test(
        "a known type without its object is authentic, refused and kept, whichever type it is",
        arguments: [
            "customer.subscription.created", "invoice.paid", "invoice.payment_succeeded", "invoice.created",
            "charge.succeeded", "charge.refunded", "charge.refund.updated", "charge.dispute.closed",
            "charge.dispute.funds_withdrawn", "refund.created", "payment_intent.succeeded", "credit_note.created",
            "checkout.session.completed", "checkout.session.expired", "subscription_schedule.completed",
            "customer.created", "entitlements.active_entitlement_summary.updated", "invoice.upcoming",
        ]
    )
    func withoutObject(type: String) throws {
        func take(_ data: String?) throws -> Normalization {
            let data = data.map { "\"data\":\($0)," } ?? ""
            let body = """
                {"id":"evt_1","object":"event","type":"\(type)","created":\(created),\(data)"livemode":true}
                """
            return try adapter().take(Array(body.utf8))
        }
        let unnamed = ["entitlements.active_entitlement_summary.updated", "invoice.upcoming"].contains(type)
        let nameless = unnamed ? [] : ["{\"object\":{}}", "{\"object\":{\"id\":null}}"]
        let wrong = ["{\"object\":\"x\"}", "{\"object\":[]}", "[]", "7"]
        for data in [nil, "null", "{}", "{\"object\":null}"] + nameless + wrong {
            let error = #expect(throws: DeliveryError.self, "\(data ?? "none")") { try take(data) }
            #expect(error?.code == .malformed && error?.isAuthentic == true, "\(data ?? "none")")
            let answer = error.map { Acknowledgement(for: .failure($0), provider: .stripe).decision }
            #expect(answer == .acceptAndQuarantine)
            #expect(error?.message.contains("data") == true)
        }
    }

    @Test("a ping needs no object, and neither does a type of tomorrow", arguments: ["ping", "of.tomorrow"])
    func withoutNeedOfObject(type: String) throws {
        for data in ["", "\"data\":null,", "\"data\":{},", "\"data\":{\"object\":null},"] {
            let body = """
                {"id":"evt_1","object":"event","type":"\(type)","created":\(created),\(data)"livemode":true}
                """
            #expect(try adapter().take(Array(body.utf8)).kinds == [type == "ping" ? "notice" : "unmapped"])
        }
    }

    @Test("the same delivery gives the same events")
    func deterministic() throws {
        let simulator = simulator()
        let adapter = try adapter()
        for event in try CustomerStory.subscriptionLife(simulator) {
            #expect(
                try adapter.take(event.content, at: event.created, simulator)
                    == adapter.take(event.content, at: event.created, simulator)
            )
        }
    }
}

extension StripeAdapter {
    fileprivate func take(_ body: [UInt8], _ simulator: StripeSimulator) throws -> Normalization {
        try take(body, at: created, simulator)
    }
}
