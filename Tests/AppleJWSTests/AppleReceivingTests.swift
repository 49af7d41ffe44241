import Foundation
import NotificationSimulator
import Normalizer
import SignatureCore
import SignatureIssuing
import Testing

@testable import AppleJWS
import WireJSON

@Suite("Receiving from Apple", .timeLimit(.minutes(5)))
struct AppleReceivingTests {
    private func purchaseData(_ notification: AppleSimulator.Notification) -> AppleSimulator.PurchaseData? {
        guard case .data(let data) = notification.content else { return nil }
        return data
    }

    // MARK: Answers

    @Test("a failure inside a genuine notification is kept, and one outside is refused")
    func nestedFailure() throws {
        let fixture = try AppleFixture()
        let notification = try #require(try AppleFixture.life.first)
        let payload = String(decoding: try fixture.simulator.payload(notification).bytes, as: UTF8.self)
        // The nested signature is the last segment before the closing quotation mark.
        let member = try #require(payload.range(of: #""signedTransactionInfo":""#))
        let end = try #require(payload[member.upperBound...].firstIndex(of: "\""))
        let signature = try #require(payload[..<end].lastIndex(of: "."))
        let broken = payload[...signature] + String(repeating: "A", count: 86) + payload[end...]
        let inside = AppleSimulator.delivery(
            of: try fixture.simulator.jws(Array(broken.utf8)),
            receivedAt: notification.signedDate
        )
        let kept = #expect(throws: DeliveryError.self) { try fixture.adapter.authenticate(inside) }
        #expect(kept?.code == .unauthenticated)
        #expect(kept?.isAuthentic == true)
        #expect(fixture.adapter.acknowledgement(for: .failure(try #require(kept))).decision == .acceptAndQuarantine)

        let forged = try AppleSimulator(seed: "forger").delivery(notification)
        let refused = #expect(throws: DeliveryError.self) { try fixture.adapter.authenticate(forged) }
        #expect(refused?.isAuthentic == false)
        #expect(fixture.adapter.acknowledgement(for: .failure(try #require(refused))).status == 401)
    }

    @Test("a genuine chain in a header that its key did not sign is not remembered")
    func unsignedHeader() throws {
        let fixture = try AppleFixture()
        let notification = try #require(try AppleFixture.life.first)
        let genuine = try fixture.simulator.signed(notification)
        let segments = genuine.split(separator: UInt8(ascii: "."))
        let header = try Base64URL.decode(Array(segments[0]).span)
        let altered = Base64URL.encode((header.dropLast() + Array(#","x":1}"#.utf8)).span)
        let forged = altered + [UInt8(ascii: ".")] + segments[1] + [UInt8(ascii: ".")] + segments[2]
        let cache = fixture.adapter.verifier.verification.cache
        let refused = #expect(throws: DeliveryError.self) {
            try fixture.adapter.authenticate(AppleSimulator.delivery(of: forged, receivedAt: notification.signedDate))
        }
        #expect(refused?.code == .unauthenticated)
        #expect(cache.chain(for: altered[...]) == nil)
        _ = try fixture.adapter.authenticate(fixture.simulator.delivery(notification))
        #expect(cache.chain(for: segments[0]) != nil)
    }

    // MARK: Identity

    @Test(
        "a client's upload has the identities and the facts of the webhook",
        arguments: AppleSimulator.stories.filter {
            !["test", "consent-rescinded", "external-purchase"].contains($0.id)
        }
    )
    func upload(story: CustomerStory) throws {
        let fixture = try AppleFixture()
        for notification in try fixture.simulator.unsignedNotifications(story, from: AppleFixture.start) {
            guard let data = purchaseData(notification), let transaction = data.transactionInfo else { continue }
            let webhook = try #require(try fixture.adapter.events(fixture.simulator.delivery(notification)).first)
            let uploaded = try fixture.adapter.receive(
                signedTransaction: try fixture.simulator.signed(transaction, at: notification.signedDate),
                signedRenewalInfo: try data.renewalInfo.map {
                    try fixture.simulator.signed($0, at: notification.signedDate)
                },
                receivedAt: notification.signedDate
            ).events
            // Only the notification's type shows these: an end, an undone refund, the end of retries.
            let reported: Set<LifecycleEvent.Kind> = [.expired, .refundReversed]
            if !reported.contains(webhook.kind), webhook.facts.allSatisfy({ $0.kind != .nextProduct }) {
                let facts = uploaded.flatMap(\.facts)
                #expect(facts.count == webhook.facts.count, "\(story.id) \(webhook.kind)")
                #expect(Set(facts) == Set(webhook.facts), "\(story.id) \(webhook.kind)")
            }
            let shared: Set<LifecycleEvent.Kind> = [
                .started, .renewed, .productChanged, .oneTimePurchased, .refunded, .revoked,
            ]
            if shared.contains(webhook.kind) {
                #expect(uploaded.map(\.id).contains(webhook.id), "\(story.id) \(webhook.kind)")
            }
            #expect(uploaded.allSatisfy { $0.subscription == webhook.subscription && $0.account == webhook.account })
        }
    }

    @Test("an upload is taken as the text that StoreKit gives, as its octets and as data")
    func uploadForms() throws {
        let fixture = try AppleFixture()
        let notification = try AppleFixture.life[0]
        let data = try #require(purchaseData(notification))
        let (transaction, renewalInfo) = (try #require(data.transactionInfo), try #require(data.renewalInfo))
        let date = notification.signedDate
        let jws = try fixture.simulator.signed(transaction, at: date)
        let renewalJWS = try fixture.simulator.signed(renewalInfo, at: date)
        let octets = try fixture.adapter.receive(
            signedTransaction: jws,
            signedRenewalInfo: renewalJWS,
            receivedAt: date
        )
        let text = try fixture.adapter.receive(
            signedTransaction: String(decoding: jws, as: UTF8.self).utf8,
            signedRenewalInfo: String(decoding: renewalJWS, as: UTF8.self).utf8,
            receivedAt: date
        )
        let stored = try fixture.adapter.receive(
            signedTransaction: Data(jws),
            signedRenewalInfo: Data(renewalJWS),
            receivedAt: date
        )
        #expect(!octets.events.isEmpty)
        #expect(text == octets)
        #expect(stored == octets)
    }

    @Test("redelivery gives the same event, another notification another", arguments: AppleSimulator.stories)
    func redelivery(story: CustomerStory) throws {
        let fixture = try AppleFixture()
        var seen: Set<EventID> = []
        for notification in try fixture.simulator.unsignedNotifications(story, from: AppleFixture.start) {
            let first = try fixture.adapter.events(fixture.simulator.delivery(notification))
            let again = try fixture.adapter.events(
                fixture.simulator.delivery(
                    notification,
                    receivedAt: notification.signedDate.addingTimeInterval(72 * 3600)
                )
            )
            #expect(first.map(\.id) == again.map(\.id))
            #expect(first.map(\.event) == again.map(\.event))
            #expect(first.map(\.facts) == again.map(\.facts))
            for event in first {
                #expect(seen.insert(event.id).inserted, "\(story.id) \(event.kind)")
            }
        }
    }

    // MARK: Queues

    @Test("each value between the steps crosses a queue unchanged", arguments: AppleSimulator.stories)
    func codable(story: CustomerStory) throws {
        let fixture = try AppleFixture()
        for delivery in try fixture.simulator.deliveries(story, from: AppleFixture.start) {
            let queued: Delivery = try CanonicalJSON.value(from: try CanonicalJSON.bytes(delivery))
            #expect(queued.body == delivery.body && queued.receivedAt == delivery.receivedAt)
            let authenticated = try fixture.adapter.authenticate(queued)
            let carried: Authenticated<AppleNotification> = try CanonicalJSON.value(
                from: try CanonicalJSON.bytes(authenticated)
            )
            #expect(carried.value == authenticated.value)
            let direct = try fixture.adapter.normalize(authenticated)
            let later = try fixture.adapter.normalize(carried)
            #expect(direct == later)
            let stored: Normalization = try CanonicalJSON.value(from: try CanonicalJSON.bytes(later))
            #expect(stored == direct)
        }
    }

    // MARK: Configuration

    private func takingTwoApps(trusting simulator: AppleSimulator) throws -> AppleAdapter {
        try AppleFixture.adapter(trusting: simulator) {
            $0.apps = [
                .init(bundleID: "com.example.one", appAppleID: 1), .init(bundleID: "com.example.two", appAppleID: 2),
            ]
            $0.environments = [.production, .sandbox]
        }
    }

    @Test("one receiver takes several apps and both signed environments")
    func severalApps() throws {
        let first = try AppleSimulator(seed: "shared", bundleId: "com.example.one", appAppleId: 1)
        let second = try AppleSimulator(seed: "shared", bundleId: "com.example.two", appAppleId: 2)
        let stranger = try AppleSimulator(seed: "shared", bundleId: "com.example.three", appAppleId: 3)
        let mistaken = try AppleSimulator(seed: "shared", bundleId: "com.example.one", appAppleId: 2)
        let adapter = try takingTwoApps(trusting: first)
        for simulator in [first, second, first.simulating(.sandbox), second.simulating(.sandbox)] {
            let events = try simulator.deliveries(.life, from: AppleFixture.start).flatMap { try adapter.events($0) }
            #expect(Set(events.map(\.app)) == [simulator.bundleId])
            #expect(Set(events.map(\.environment.rawValue)) == [simulator.environment.rawValue.lowercased()])
        }
        for simulator in [stranger, stranger.simulating(.sandbox), mistaken] {
            for delivery in try simulator.deliveries(.life, from: AppleFixture.start) {
                let error = #expect(throws: DeliveryError.self) { try adapter.events(delivery) }
                #expect(error?.code == .misdirected)
            }
        }
    }

    @Test("a signed part must be of the notification's own app and environment, whatever else the receiver takes")
    func nestedOfAnother() throws {
        let one = try AppleSimulator(seed: "shared", bundleId: "com.example.one", appAppleId: 1)
        let two = try AppleSimulator(seed: "shared", bundleId: "com.example.two", appAppleId: 2)
        let adapter = try takingTwoApps(trusting: one)
        let notification = try AppleFixture.life[0]
        guard case .data(let data) = notification.content else { throw CancellationError() }
        let transaction = try #require(data.transactionInfo)
        let renewalInfo = try #require(data.renewalInfo)
        let appTransaction = AppleSimulator.AppTransaction(
            appTransactionId: "704000000000000001",
            originalPurchaseDate: AppleFixture.start
        )
        func nested(_ sign: (Date) throws -> [UInt8]) throws -> String {
            String(decoding: try sign(notification.signedDate), as: UTF8.self)
        }
        func error(_ type: String, in carrier: String, _ members: [String: String]) throws -> DeliveryError? {
            let inside = members.map { ",\"\($0.key)\":\"\($0.value)\"" }.sorted().joined()
            let payload = """
                {"notificationType":"\(type)","subtype":"INITIAL_BUY","notificationUUID":"u",\
                "signedDate":\(Int64(notification.signedDate.timeIntervalSince1970) * 1000),\
                "\(carrier)":{"environment":"Production","bundleId":"com.example.one","appAppleId":1\(inside)}}
                """
            let delivery = AppleSimulator.delivery(
                of: try one.jws(Array(payload.utf8)),
                receivedAt: notification.signedDate
            )
            do throws(DeliveryError) {
                _ = try adapter.events(delivery)
                return nil
            } catch { return error }
        }
        let own = try nested { try one.signed(transaction, at: $0) }
        let renewal = try nested { try one.signed(renewalInfo, at: $0) }
        #expect(
            try error("SUBSCRIBED", in: "data", ["signedTransactionInfo": own, "signedRenewalInfo": renewal]) == nil
        )
        let foreign = [two, one.simulating(.sandbox), two.simulating(.sandbox)]
        for simulator in foreign {
            let other = try nested { try simulator.signed(transaction, at: $0) }
            let refused = try error("SUBSCRIBED", in: "data", ["signedTransactionInfo": other])
            #expect(refused?.code == .misdirected && refused?.isAuthentic == true)
        }
        // Renewal info names no app.
        let sandbox = try nested { try one.simulating(.sandbox).signed(renewalInfo, at: $0) }
        let mixed = try error("SUBSCRIBED", in: "data", ["signedTransactionInfo": own, "signedRenewalInfo": sandbox])
        #expect(mixed?.code == .misdirected && mixed?.isAuthentic == true)

        let app = try nested { try one.signed(appTransaction, at: $0) }
        #expect(try error("RESCIND_CONSENT", in: "appData", ["signedAppTransactionInfo": app]) == nil)
        for simulator in foreign {
            let other = try nested { try simulator.signed(appTransaction, at: $0) }
            let refused = try error("RESCIND_CONSENT", in: "appData", ["signedAppTransactionInfo": other])
            #expect(refused?.code == .misdirected && refused?.isAuthentic == true)
        }
    }

    @Test("Xcode and unit tests are taken by configuration alone", arguments: [AppleEnvironment.xcode, .localTesting])
    func unsigned(environment: AppleEnvironment) throws {
        let fixture = try AppleFixture()
        for signed in [AppleEnvironment.production, .sandbox] {
            #expect(throws: ConfigurationError.self) {
                try AppleFixture.adapter(trusting: fixture.simulator) { $0.environments = [signed, environment] }
            }
        }
        func delivery(_ type: String) -> Delivery {
            let payload = """
                {"notificationType":"\(type)","notificationUUID":"u","signedDate":1767225600000.25,\
                "data":{"bundleId":"com.example.app","environment":"\(environment)"}}
                """
            let parts = [#"{"alg":"ES256","x5c":["AAAA"]}"#, payload, "s"].map { text in
                String(decoding: Base64URL.encode(text.utf8.span), as: UTF8.self)
            }
            let body = AppleHostileInputTests.body(Array(parts.joined(separator: ".").utf8))
            return Delivery(body: body, receivedAt: AppleFixture.start)
        }
        let unsigned = try AppleFixture.adapter(trusting: fixture.simulator) { $0.environments = [environment] }
        #expect(try unsigned.authenticate(delivery("TEST")).evidence.method == .unchecked)
        #expect(try unsigned.events(delivery("TEST")).map(\.environment) != [.production])
        #expect(throws: DeliveryError.self) { try fixture.adapter.events(delivery("TEST")) }
        // It lacks its transaction, and nothing proves that Apple sent it.
        let lacking = #expect(throws: DeliveryError.self) { try unsigned.events(delivery("SUBSCRIBED")) }
        #expect(lacking?.code == .malformed && lacking?.isAuthentic == false)
        // Signed data is for receivers that check signatures.
        for genuine in try fixture.simulator.deliveries(.life, from: AppleFixture.start) {
            let error = #expect(throws: DeliveryError.self) { try unsigned.events(genuine) }
            #expect(error?.code == .misdirected)
        }
    }

    @Test("a maximum age and the certificates' time can be chosen")
    func times() throws {
        let fixture = try AppleFixture()
        let story = try AppleFixture.life
        let late = try fixture.simulator.delivery(
            story[0],
            receivedAt: AppleFixture.start.addingTimeInterval(20 * 365 * 86_400)
        )
        #expect(throws: DeliveryError.self) { try fixture.adapter.events(late) }
        let ageless = try AppleFixture.adapter(trusting: fixture.simulator) { $0.maximumAge = nil }
        #expect(try ageless.events(late).count == 1)
        let now = try AppleFixture.adapter(trusting: fixture.simulator) {
            $0.maximumAge = nil
            $0.certificateTime = .receipt
        }
        #expect(throws: DeliveryError.self) { try now.events(late) }
        let recent = try AppleFixture.adapter(trusting: fixture.simulator) { $0.maximumAge = .seconds(7 * 86_400) }
        let error = #expect(throws: DeliveryError.self) { try recent.events(late) }
        #expect(error?.code == .stale)
        #expect(error.map { Acknowledgement(for: .failure($0), provider: .apple).decision } == .acceptAndQuarantine)
    }

    @Test("Apple's record makes up for losses of an outage, however old, and no other channel does")
    func history() throws {
        let fixture = try AppleFixture { $0.maximumAge = .seconds(14 * 86_400) }
        let fetched = AppleFixture.start.addingTimeInterval(150 * 86_400)
        for notification in try AppleFixture.life.prefix(2) {
            let prompt = try fixture.adapter.events(fixture.simulator.delivery(notification))
            let late = try fixture.simulator.delivery(notification, receivedAt: fetched)
            let error = #expect(throws: DeliveryError.self) { try fixture.adapter.events(late) }
            #expect(error?.code == .stale)
            let past = try fixture.adapter.normalize(fixture.adapter.authenticate(late, channel: .history)).events
            #expect(past.map(\.id) == prompt.map(\.id))
            #expect(past.map(\.facts) == prompt.map(\.facts))
            let forged = try AppleSimulator(seed: "forger").delivery(notification, receivedAt: fetched)
            #expect(throws: DeliveryError.self) { try fixture.adapter.authenticate(forged, channel: .history) }
        }
    }

    // MARK: Chain cache

    @Test("a different chain each time is verified each time, whatever the cache holds", arguments: [1, 2, 32])
    func manyChains(capacity: Int) throws {
        let simulators = try (0..<6).map { try AppleSimulator(seed: "chain \($0)") }
        let adapter = try AppleFixture.adapter(trusting: simulators[0]) {
            $0.trustAnchors = try AppleTrustAnchors(der: simulators.prefix(5).map(\.rootCertificate))
            $0.chainCacheCapacity = capacity
        }
        let notification = try AppleFixture.life[0]
        for _ in 0..<3 {
            for simulator in simulators.prefix(5) {
                #expect(try adapter.events(simulator.delivery(notification)).count == 1)
            }
            let error = #expect(throws: DeliveryError.self) {
                try adapter.events(simulators[5].delivery(notification))
            }
            #expect(error?.code == .untrusted)
        }
    }

    @Test("the cache holds as many as it may, and forgets what was used longest ago")
    func capacity() throws {
        let certificates = try AppleSimulator(seed: "cache").certificates
        let chain = try ChainVerification(
            trustAnchors: TrustAnchors(der: [certificates.root.certificate]),
            requiredLeafExtension: nil,
            requiredIntermediateExtension: nil
        ).verify(certificates.x5c, at: nil)
        let cache = ChainCache(capacity: 2)
        let headers: [ArraySlice<UInt8>] = [[1], [2], [3]]
        cache.insert(chain, for: headers[0])
        cache.insert(chain, for: headers[1])
        #expect(cache.chain(for: headers[0]) != nil)
        cache.insert(chain, for: headers[2])
        #expect(headers.map { cache.chain(for: $0) != nil } == [true, false, true])
    }

    @Test("a remembered chain is still held against each payload's date")
    func expiredChain() throws {
        let fixture = try AppleFixture()
        var notification = try AppleFixture.life[0]
        #expect(try fixture.adapter.events(fixture.simulator.delivery(notification)).count == 1)
        notification.signedDate = Date(timeIntervalSince1970: 2_019_686_401)
        let late = try fixture.simulator.delivery(notification)
        let error = #expect(throws: DeliveryError.self) { try fixture.adapter.events(late) }
        #expect(error?.code == .untrusted)
    }

    @Test("one receiver serves many tasks at once")
    func concurrency() async throws {
        let fixture = try AppleFixture()
        let forger = try AppleSimulator(seed: "forger")
        let genuine = try fixture.simulator.deliveries(.life, from: AppleFixture.start)
        let forged = try forger.deliveries(.life, from: AppleFixture.start)
        let expected = try genuine.map { try fixture.adapter.events($0).map(\.id) }
        await withTaskGroup(of: Bool.self) { group in
            for task in 0..<64 {
                group.addTask {
                    let index = task % genuine.count
                    if task % 3 == 0 { return (try? fixture.adapter.events(forged[index])) == nil }
                    return (try? fixture.adapter.events(genuine[index]).map(\.id)) == expected[index]
                }
            }
            for await isRight in group { #expect(isRight) }
        }
    }
}
