import AppleJWS
import Foundation
import NotificationSimulator
import Normalizer
import SignatureCore
import SignatureIssuing
import Testing

@Suite("Hostile deliveries", .timeLimit(.minutes(5)))
struct AppleHostileInputTests {
    static let marker = "marker-7d1f"

    /// One genuine notification with everything nested in it.
    static let genuine = Result {
        let fixture = try AppleFixture()
        var notification = try AppleFixture.life[1]
        if case .data(var data) = notification.content {
            data.transactionInfo?.appAccountToken = marker
            notification.content = .data(data)
        }
        return (fixture, try fixture.simulator.delivery(notification))
    }

    private func outcome(_ adapter: AppleAdapter, _ body: [UInt8]) -> Result<[NormalizedEvent], DeliveryError> {
        let delivery = Delivery(body: body, receivedAt: AppleFixture.start.addingTimeInterval(10 * 86_400))
        do throws(DeliveryError) { return .success(try adapter.events(delivery)) } catch { return .failure(error) }
    }

    private func refused(
        by adapter: AppleAdapter,
        _ body: [UInt8],
        _ comment: @autoclosure () -> String = "",
        location: SourceLocation = #_sourceLocation
    ) {
        switch outcome(adapter, body) {
        case .success: Issue.record("an event came of it: \(comment())", sourceLocation: location)
        case .failure(let error):
            #expect(error.code != .unavailable, "\(comment())", sourceLocation: location)
            #expect(!"\(error) \(error.debugDescription)".contains(Self.marker), sourceLocation: location)
            #expect(error.message.utf8.count < 300, sourceLocation: location)
        }
    }

    @Test("the genuine one gives an event")
    func unchanged() throws {
        let (fixture, delivery) = try Self.genuine.get()
        #expect(try outcome(fixture.adapter, delivery.body).get().map(\.kind) == [.renewed])
    }

    /// A bit of each of many octets, spread over the whole body: header, payload, nested JWS, signatures.
    @Test("no flipped bit of the body gives another event", arguments: 0..<8)
    func flipped(bit: Int) throws {
        let (fixture, delivery) = try Self.genuine.get()
        let events = try outcome(fixture.adapter, delivery.body).get()
        for index in stride(from: bit, to: delivery.body.count, by: 37) {
            var body = delivery.body
            body[index] ^= 1 << UInt8(bit)
            guard case .success(let found) = outcome(fixture.adapter, body) else { continue }
            Issue.record("octet \(index) bit \(bit): \(found == events ? "the same" : "another") event")
        }
    }

    @Test("no octet put in, left out or doubled gives an event")
    func shifted() throws {
        let (fixture, delivery) = try Self.genuine.get()
        for index in stride(from: 0, to: delivery.body.count, by: 211) {
            refused(
                by: fixture.adapter,
                Array(delivery.body[..<index] + delivery.body[(index + 1)...]),
                "without \(index)"
            )
            for octet: UInt8 in [0, 0x22, 0x2E, 0x41, 0xFF] {
                refused(by: fixture.adapter, delivery.body[..<index] + [octet] + delivery.body[index...], "at \(index)")
            }
        }
    }

    @Test("no truncated body gives an event")
    func truncatedBody() throws {
        let (fixture, delivery) = try Self.genuine.get()
        for count in stride(from: 0, to: delivery.body.count, by: 53) {
            refused(by: fixture.adapter, Array(delivery.body[..<count]), "\(count)")
            refused(by: fixture.adapter, Array(delivery.body[..<count]) + Array("\"}".utf8), "\(count) closed")
        }
    }

    /// Each octet class of each decoded part: the JSON of header and payload, the certificates, the signature.
    @Test("no flipped octet of a decoded part gives an event", arguments: ["header", "payload", "signature"])
    func flippedPart(part: String) throws {
        let (fixture, _) = try Self.genuine.get()
        let jws = try fixture.simulator.signed(
            AppleSimulator.Notification("TEST", notificationUUID: "uuid", signedDate: AppleFixture.start)
        )
        let segments = String(decoding: jws, as: UTF8.self).split(separator: ".").map { Array($0.utf8) }
        let index = ["header": 0, "payload": 1, "signature": 2][part] ?? 0
        let segment = segments[index]
        let decoded = try Base64URL.decode(segment.span)
        for place in stride(from: 0, to: decoded.count, by: max(1, decoded.count / 400)) {
            var changed = decoded
            changed[place] ^= 1 << UInt8(place % 8)
            var all = segments
            all[index] = Base64URL.encode(changed.span)
            refused(by: fixture.adapter, Self.body(Array(all.joined(separator: [0x2E]))), "\(part) \(place)")
        }
    }

    static func body(_ jws: [UInt8]) -> [UInt8] {
        Array(#"{"signedPayload":""#.utf8) + jws + Array(#""}"#.utf8)
    }

    /// A TEST notification under another `x5c`.
    private func jws(_ simulator: AppleSimulator, x5c: [[UInt8]]) throws -> [UInt8] {
        try JWSIssuer.es256(
            header: JWSIssuer.header(algorithm: "ES256", certificates: x5c),
            payload: Array("{}".utf8),
            key: simulator.certificates.leafKey
        )
    }

    @Test("no flipped bit of a certificate is trusted", arguments: 0..<3)
    func flippedCertificate(position: Int) throws {
        let fixture = try AppleFixture(seed: "certificates")
        let genuine = fixture.simulator.certificates.x5c
        let payload = Array(
            #"{"notificationType":"TEST","notificationUUID":"u","signedDate":1767225600000,"data":{"bundleId":"com.example.app","appAppleId":1234567890,"environment":"Production"}}"#
                .utf8
        )
        for index in stride(from: 0, to: genuine[position].count, by: 7) {
            var x5c = genuine
            x5c[position][index] ^= 1 << UInt8(index % 8)
            let jws = try JWSIssuer.es256(
                header: JWSIssuer.header(algorithm: "ES256", certificates: x5c),
                payload: payload,
                key: fixture.simulator.certificates.leafKey
            )
            // The third only has to name the subject and key of a root; the configured root is what counts.
            if position == 2, case .success = outcome(fixture.adapter, Self.body(jws)) { continue }
            refused(by: fixture.adapter, Self.body(jws), "certificate \(position) octet \(index)")
        }
    }

    @Test("no truncated certificate is trusted", arguments: 0..<3)
    func truncatedCertificate(position: Int) throws {
        let fixture = try AppleFixture(seed: "certificates")
        let genuine = fixture.simulator.certificates.x5c
        for count in stride(from: 0, to: genuine[position].count, by: 23) {
            var x5c = genuine
            x5c[position] = Array(x5c[position][..<count])
            let error = #expect(throws: DeliveryError.self) {
                try fixture.adapter.events(
                    Delivery(body: Self.body(try jws(fixture.simulator, x5c: x5c)), receivedAt: AppleFixture.start)
                )
            }
            #expect(error?.code == .untrusted)
        }
    }

    @Test("chains of any length but three are refused", arguments: [0, 1, 2, 4, 5, 1000])
    func lengths(count: Int) throws {
        let fixture = try AppleFixture(seed: "certificates")
        let x5c = (0..<count).map { _ in [UInt8](repeating: 0x30, count: 20) }
        refused(by: fixture.adapter, Self.body(try jws(fixture.simulator, x5c: x5c)))
        guard (1...5).contains(count) else { return }
        let genuine = fixture.simulator.certificates.x5c
        let padded = (0..<count).map { genuine[min($0, 2)] }
        refused(by: fixture.adapter, Self.body(try jws(fixture.simulator, x5c: padded)))
    }

    @Test("random bytes are refused", arguments: 0..<64)
    func random(seed: UInt64) throws {
        let (fixture, _) = try Self.genuine.get()
        var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        func next() -> UInt8 {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return UInt8(truncatingIfNeeded: state)
        }
        let bytes = (0..<Int(seed * 37)).map { _ in next() }
        refused(by: fixture.adapter, bytes)
        refused(by: fixture.adapter, Self.body(bytes))
        refused(by: fixture.adapter, Self.body(Base64URL.encode(bytes.span)))
        let part = Base64URL.encode(bytes.span)
        refused(by: fixture.adapter, Self.body(part + [0x2E] + part + [0x2E] + part))
    }

    @Test("bodies up to the limit and beyond it are refused", arguments: [1 << 20 - 1, 1 << 20, 1 << 20 + 1, 8 << 20])
    func sizes(count: Int) throws {
        let (fixture, _) = try Self.genuine.get()
        for octet: UInt8 in [0x20, 0x5B, 0x7B, 0x22, 0x2E, 0x41, 0xFF] {
            refused(by: fixture.adapter, [UInt8](repeating: octet, count: count))
        }
        refused(by: fixture.adapter, Self.body([UInt8](repeating: 0x41, count: max(0, count - 20))))
    }

    @Test("documents 100 000 deep are refused", arguments: ["[", "{\"a\":", "[{\"a\":"])
    func depth(opening: String) throws {
        let (fixture, _) = try Self.genuine.get()
        let deep = Array(String(repeating: opening, count: 100_000).utf8)
        refused(by: fixture.adapter, deep)
        refused(by: fixture.adapter, Array("{\"signedPayload\":".utf8) + deep)
        // Signed, and so read.
        refused(by: fixture.adapter, Self.body(try fixture.simulator.jws(Array(deep.prefix(150_000)))))
    }

    @Test(
        "times at the ends of Int64 are refused, of signing and of receipt",
        arguments: [Int64.min, .min + 1, -1, 253_402_300_800_000, .max - 1, .max]
    )
    func dates(milliseconds: Int64) throws {
        let (fixture, genuine) = try Self.genuine.get()
        for member in ["signedDate", "purchaseDate", "expiresDate"] {
            let text = #"{"notificationType":"TEST","notificationUUID":"u","\#(member)":\#(milliseconds),"data":{}}"#
            refused(by: fixture.adapter, Self.body(try fixture.simulator.jws(Array(text.utf8))))
        }
        // A receiver's clock may be anything; nothing may trap.
        for seconds in [Double(milliseconds), Double(milliseconds) * 1e300, .infinity, -.infinity, .nan] {
            for age in [nil, Duration.seconds(Int64.max), .zero] {
                let strict = try AppleFixture.adapter(trusting: fixture.simulator) {
                    $0.maximumAge = age
                    $0.maximumFutureSkew = .seconds(Int64.max)
                    $0.certificateTime = .receipt
                }
                _ = try? strict.events(Delivery(body: genuine.body, receivedAt: Date(timeIntervalSince1970: seconds)))
            }
        }
    }

    @Test("signatures of zeros, and of nothing, are refused", arguments: [0, 1, 32, 63, 64, 65, 128, 70_000])
    func zeros(count: Int) throws {
        let (fixture, delivery) = try Self.genuine.get()
        let jws = delivery.body.dropFirst(18).dropLast(2)
        let parts = jws.split(separator: 0x2E)
        let octets = [UInt8](repeating: 0, count: count)
        let zeros = Base64URL.encode(octets.span)
        refused(by: fixture.adapter, Self.body(parts[0] + [0x2E] + parts[1] + [0x2E] + zeros))
    }

    @Test("a refusal says nothing of the payload, even if the signature holds")
    func quiet() throws {
        let (fixture, _) = try Self.genuine.get()
        let marker = Self.marker
        for payload in [
            #"{"\#(marker)":"\#(marker)","\#(marker)":1}"#, #"{"notificationType":"\#(marker)"}"#,
            #"{"notificationType":"T","notificationUUID":"\#(marker)","signedDate":"\#(marker)"}"#,
            #"{"notificationType":"T","notificationUUID":"u","signedDate":1767225600000,"data":{"bundleId":"\#(marker)","environment":"Production"}}"#,
            #"{"notificationType":"T","notificationUUID":"u","signedDate":1767225600000,"data":{"bundleId":"com.example.app","environment":"\#(marker)"}}"#,
            #"{"notificationType":"T","notificationUUID":"u","signedDate":1767225600000,"data":{"bundleId":"com.example.app","appAppleId":1234567890,"environment":"Production","signedTransactionInfo":"\#(marker)"}}"#,
            #""\#(marker)""#, marker,
        ] {
            refused(by: fixture.adapter, Self.body(try fixture.simulator.jws(Array(payload.utf8))))
        }
        refused(by: fixture.adapter, Array(marker.utf8))
        refused(by: fixture.adapter, Self.body(Array(marker.utf8)))
        refused(by: fixture.adapter, Self.body(Array("\(marker).\(marker).\(marker)".utf8)))
    }

    @Test("printed values show no payload")
    func printing() throws {
        let (fixture, delivery) = try Self.genuine.get()
        let authenticated = try fixture.adapter.authenticate(delivery)
        for value: Any in [delivery, authenticated.value] {
            var dumped = ""
            dump(value, to: &dumped)
            #expect(!"\(value) \(String(reflecting: value)) \(dumped)".contains(Self.marker))
        }
    }
}
