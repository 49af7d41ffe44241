import FoundationEssentials
import NotificationSimulator
import Normalizer
import RevenueCatEvents
import Testing
import WireJSON

@Suite("RevenueCat adapter")
struct AdapterTests {
    static let now = Date(timeIntervalSince1970: 1_767_225_620)
    static let secret = SecretBytes("rc_whsec_marked_secret")
    static let authorization = SecretBytes("Bearer marked_authorization")

    static func adapter(_ change: (inout RevenueCatAdapter.Configuration) -> Void = { _ in }) throws
        -> RevenueCatAdapter
    {
        var configuration = RevenueCatAdapter.Configuration(authorizations: [authorization], signingSecrets: [secret])
        change(&configuration)
        return try RevenueCatAdapter(configuration)
    }

    static func delivery(_ body: [UInt8]) throws -> Delivery {
        try RevenueCatSimulator(authorization: authorization, signingSecret: secret).delivery(body, receivedAt: now)
    }

    static let renewal = RevenueCatSimulator.Event("RENEWAL", id: "E-1", at: 1_767_225_600_000).priced("9.99")

    @Test(
        "a policy names exactly what is configured",
        arguments: [
            ([], [], nil, false), (["a"], [], nil, true), ([], ["s"], nil, true), (["a"], ["s"], nil, true),
            (["a"], [], .authorization, true), (["a"], [], .signature, false), (["a"], [], .both, false),
            ([], ["s"], .signature, true), ([], ["s"], .authorization, false), ([], ["s"], .both, false),
            (["a"], ["s"], .both, true), (["a"], ["s"], .authorization, false), (["a"], ["s"], .signature, false),
            ([""], [], nil, false), (["a", " "], [], nil, false), ([], ["\n"], nil, false),
            ([], ["whsec_…"], nil, false), (["a\n"], [], nil, false), ([" a"], [], nil, false),
            ([], ["s "], nil, false),
            (["Bearer a"], [], nil, true),
        ] as [([String], [String], RevenueCatAdapter.Configuration.Policy?, Bool)]
    )
    func policies(
        authorizations: [String],
        secrets: [String],
        policy: RevenueCatAdapter.Configuration.Policy?,
        isValid: Bool
    ) {
        let configuration = RevenueCatAdapter.Configuration(
            authorizations: authorizations.map { SecretBytes($0) },
            signingSecrets: secrets.map { SecretBytes($0) },
            policy: policy
        )
        #expect(((try? RevenueCatAdapter(configuration)) != nil) == isValid)
    }

    @Test("a filter that lets nothing through is refused")
    func emptyFilters() throws {
        let configuration = RevenueCatAdapter.Configuration(authorizations: [SecretBytes("a")], signingSecrets: [])
        func isRefused(_ change: (inout RevenueCatAdapter.Configuration) -> Void) -> Bool {
            var changed = configuration
            change(&changed)
            return (try? RevenueCatAdapter(changed)) == nil
        }
        #expect(!isRefused { ($0.environments, $0.appIDs) = ([.production], ["app1"]) })
        #expect(isRefused { $0.environments = [] })
        #expect(isRefused { $0.appIDs = [] })
        #expect(isRefused { $0.appIDs = ["app1", ""] })
        #expect(isRefused { $0.maximumBodyBytes = 0 })
    }

    @Test("a body is read that is as long as configured, here and behind a queue")
    func longBodies() throws {
        let adapter = try Self.adapter { $0.maximumBodyBytes = 4 << 20 }
        var event = Self.renewal
        event.members["padding"] = .string(String(repeating: "x", count: 2 << 20))
        let proven = try adapter.authenticate(try Self.delivery(event.body))
        let queued = try CanonicalJSON.value(
            Authenticated<RevenueCatNotification>.self,
            from: CanonicalJSON.bytes(proven)
        )
        #expect(try adapter.normalize(queued) == adapter.normalize(proven))
        #expect(try adapter.normalize(queued).events.map(\.kind) == [.renewed])
        let error = #expect(throws: DeliveryError.self) { try Self.adapter().authenticate(Self.delivery(event.body)) }
        #expect(error?.code == .malformed)
        #expect(error?.isAuthentic == false)
    }

    @Test("every byte of body and header counts", .timeLimit(.minutes(5)))
    func mutations() throws {
        let adapter = try RevenueCatAdapter(.init(signingSecrets: [Self.secret]))
        let body = Self.renewal.body
        let header = try RevenueCatSimulator.signature(over: body, timestamp: "1767225620", secrets: [Self.secret])
        func outcome(_ body: [UInt8], _ header: [UInt8]) -> DeliveryError.Code? {
            let text = String(decoding: header, as: UTF8.self)
            do throws(DeliveryError) {
                _ = try adapter.authenticate(
                    Delivery(headers: ["X-RevenueCat-Webhook-Signature": text], body: body, receivedAt: Self.now)
                )
                return nil
            } catch { return error.code }
        }
        #expect(outcome(body, Array(header.utf8)) == nil)
        for index in body.indices {
            var changed = body
            changed[index] ^= 1
            #expect(outcome(changed, Array(header.utf8)) == .unauthenticated)
        }
        let refused: Set<DeliveryError.Code> = [.unauthenticated, .malformed, .stale]
        for index in header.utf8.indices {
            var changed = Array(header.utf8)
            changed[header.utf8.distance(from: header.startIndex, to: index)] ^= 1
            let code = try #require(outcome(body, changed))
            #expect(refused.contains(code))
        }
    }

    @Test("no error, description or mirror shows a secret or a customer")
    func quiet() throws {
        let adapter = try Self.adapter()
        var errors: [String] = []
        for delivery in [
            Delivery(headers: [:], body: Self.renewal.body, receivedAt: Self.now),
            Delivery(headers: ["Authorization": "Bearer wrong_value"], body: Self.renewal.body, receivedAt: Self.now),
            try Self.delivery(
                Array(#"{"event":{"id":"marked_id","type":"RENEWAL","aliases":"marked_customer"}}"#.utf8)
            ),
        ] {
            do {
                _ = try adapter.authenticate(delivery)
                Issue.record("accepted")
            } catch { errors.append("\(error) \(error.debugDescription)") }
        }
        let proven = try adapter.authenticate(try Self.delivery(Self.renewal.body))
        errors.append("\(proven.value) \(proven.value.event) \(String(reflecting: proven.value))")
        for text in errors {
            for marked in ["marked", "wrong_value", "u1\"", "O1"] { #expect(!text.contains(marked), "\(text)") }
        }
    }

    @Test("the body crosses a queue, and is read again")
    func coding() throws {
        let adapter = try Self.adapter()
        let proven = try adapter.authenticate(try Self.delivery(Self.renewal.body))
        let bytes = try CanonicalJSON.bytes(proven)
        let copy = try CanonicalJSON.value(Authenticated<RevenueCatNotification>.self, from: bytes)
        #expect(copy.value == proven.value)
        #expect(try adapter.normalize(copy) == adapter.normalize(proven))
        #expect(copy.value.payload == Self.renewal.body)
    }

    @Test("a redelivery gives the same event, under another signature")
    func redelivery() throws {
        let adapter = try Self.adapter()
        let simulator = RevenueCatSimulator(authorization: Self.authorization, signingSecret: Self.secret)
        let events = try [0, 300, 9300, 604_800].map { (delay: Double) in
            let later = try simulator.delivery(Self.renewal.body, receivedAt: Self.now.addingTimeInterval(delay))
            var event = try #require(try adapter.normalize(try adapter.authenticate(later)).events.first)
            event.receivedAt = Self.now
            return event
        }
        #expect(Set(events).count == 1)
    }

    @Test("only what was never proven to be RevenueCat's is refused")
    func answers() throws {
        let adapter = try Self.adapter { $0.environments = [.production] }
        func status(_ delivery: Delivery) -> Int {
            do throws(DeliveryError) {
                return adapter.acknowledgement(for: .success(try adapter.normalize(try adapter.authenticate(delivery))))
                    .status
            } catch {
                return adapter.acknowledgement(for: .failure(error)).status
            }
        }
        #expect(status(try Self.delivery(Self.renewal.body)) == 200)
        #expect(status(try Self.delivery(Array("{".utf8))) == 200)
        #expect(status(try Self.delivery(Self.renewal.with(["environment": "SANDBOX"]).body)) == 200)
        #expect(status(Delivery(headers: [:], body: Self.renewal.body, receivedAt: Self.now)) == 401)
    }

    @Test("an environment that is not configured is named, unless it is a text of the payload's own")
    func otherEnvironment() throws {
        let adapter = try Self.adapter { $0.environments = [.production] }
        for (stated, named) in [("SANDBOX", "sandbox"), ("42 Main Street", "of another name")] {
            let delivery = try Self.delivery(Self.renewal.with(["environment": .string(stated)]).body)
            let error = #expect(throws: DeliveryError.self) { try adapter.authenticate(delivery) }
            #expect(error?.message == "webhook is of an environment that is not configured: \(named)")
        }
    }

    @Test("each webhook says which lookup it needs")
    func hints() throws {
        let adapter = try Self.adapter()
        func hint(_ event: RevenueCatSimulator.Event) throws -> RevenueCatEvent.Hint? {
            try adapter.authenticate(try Self.delivery(event.body)).value.event.hint
        }
        let base = Self.renewal
        #expect(try hint(base) == nil)
        #expect(try hint(base.with(["store": "STRIPE"]).priced("0")) == .subscription(transaction: "O1"))
        #expect(
            try hint(base.with(["type": "CANCELLATION", "cancel_reason": "UNKNOWN"]))
                == .subscription(transaction: "O1")
        )
        #expect(try hint(base.with(["type": "CANCELLATION", "cancel_reason": "UNSUBSCRIBE"])) == nil)
        #expect(try hint(base.with(["type": "PURCHASE_REDEEMED", "redeemed_by": ["u5"]])) == .customers(["u5"]))
        #expect(try hint(base.with(["type": "GIFT"])) == .customers(["u1"]))
        #expect(try hint(base.with(["type": "GIFT", "product_id": nil])) == nil)
        #expect(try hint(base.with(["type": "GIFT", "paywall_id": "p"])) == nil)
        let customers = try hint(base.with(["type": "PURCHASE_REDEEMED", "redeemed_by": ["marked"]]))
        var dumped = ""
        dump(customers, to: &dumped)
        for text in ["\(customers as Any)", String(reflecting: customers), dumped] { #expect(!text.contains("marked")) }
    }

    @Test("every id of a customer, each once, however many there are", arguments: [0, 1, 5, 6, 7, 20])
    func customerIDs(others: Int) throws {
        // Equal to `==`, and of one length in octets.
        let equivalents = ["a\u{323}\u{307}", "a\u{307}\u{323}"]
        let distinct = equivalents + (0..<others).map { "other\($0)" }
        let aliases = (distinct + ["u1", "u0"] + distinct.reversed()).map { JSONText.string($0) }
        let event = Self.renewal.with([
            "app_user_id": "u1", "original_app_user_id": "u0", "aliases": .array(aliases),
        ])
        let read = try Self.adapter().authenticate(try Self.delivery(event.body)).value.event
        #expect(read.customerIDs.map { Array($0.utf8) } == (["u1", "u0"] + distinct).map { Array($0.utf8) })
    }

    @Test("a control character is refused wherever it stands in an identifier")
    func controls() throws {
        let adapter = try Self.adapter()
        for control in ["\u{0}", "\u{1F}", "\u{7F}"] {
            for place in 0..<70 {
                let id = String(repeating: "é", count: place / 2) + control + String(repeating: "x", count: 69 - place)
                let delivery = try Self.delivery(Self.renewal.with(["product_id": .string(id)]).body)
                let error = #expect(throws: DeliveryError.self) { try adapter.authenticate(delivery) }
                #expect(error?.code == .malformed)
            }
        }
        let plain = (0x20...0x7E).map { String(UnicodeScalar(UInt8($0))) }.joined() + "\u{80}é\u{FFFF}"
        let event = Self.renewal.with(["product_id": .string(plain)])
        #expect(try adapter.authenticate(try Self.delivery(event.body)).value.event.productID == plain)
    }

    @Test("an alias with a control character is left out and noted; it names no customer")
    func unusableAlias() throws {
        let adapter = try Self.adapter()
        func delivery(_ aliases: [JSONText]) throws -> Delivery {
            try Self.delivery(Self.renewal.with(["app_user_id": "u1", "aliases": .array(aliases)]).body)
        }
        let expected = try adapter.normalize(try adapter.authenticate(try delivery(["u1", "u2"])))
        let read = try adapter.authenticate(try delivery(["u1", "u1\t", "", "u\u{7F}", "u2"]))
        let normalized = try adapter.normalize(read)
        #expect(read.value.event.aliases == ["u1", "u2"])
        #expect(normalized.events.map(\.event) == expected.events.map(\.event))
        #expect(normalized.events.map(\.facts) == expected.events.map(\.facts))
        #expect((expected.anomalies, normalized.anomalies) == ([], ["event.aliases"]))
        let error = #expect(throws: DeliveryError.self) {
            try adapter.authenticate(try Self.delivery(Self.renewal.with(["app_user_id": "u1\t"]).body))
        }
        #expect(error?.code == .malformed)
    }

    @Test("members that only notices have are not read in a lifecycle event")
    func notes() throws {
        let adapter = try Self.adapter()
        func normalized(_ type: String) throws -> Normalization {
            let event = Self.renewal.with(["type": .string(type), "source": 5, "offering_id": "spring"])
            return try adapter.normalize(try adapter.authenticate(try Self.delivery(event.body)))
        }
        let plain = try adapter.normalize(try adapter.authenticate(try Self.delivery(Self.renewal.body)))
        let renewal = try normalized("RENEWAL")
        #expect(renewal.events.map(\.event) == plain.events.map(\.event))
        #expect(renewal.anomalies.isEmpty)
        let notice = try normalized("INVOICE_ISSUANCE")
        #expect(notice.events.map(\.event) == [.notice(.init(.invoiceIssued, facts: ["offering_id": "spring"]))])
        #expect(notice.anomalies == ["event.source"])
    }
}
