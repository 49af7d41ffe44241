import AppleJWS
import FoundationEssentials
import NotificationSimulator
import Normalizer
import Testing

@Suite("Signed by Apple is not ours")
struct AppleBoundaryTests {
    let cases: AppleReportedCases

    init() throws { cases = try AppleReportedCases() }

    private func answer(_ delivery: Delivery, _ adapter: AppleAdapter) -> (DeliveryError.Code?, Acknowledgement) {
        do throws(DeliveryError) {
            let result = try adapter.normalize(try adapter.authenticate(delivery))
            return (nil, Acknowledgement(for: .success(result), provider: .apple))
        } catch {
            return (error.code, Acknowledgement(for: .failure(error), provider: .apple))
        }
    }

    @Test("another kind, app or environment is refused and not kept")
    func refused() throws {
        let transaction = try cases.fixture.simulator.signed(AppleFixture.month(), at: cases.day(0))
        let kind = AppleSimulator.delivery(of: transaction, receivedAt: cases.day(0))
        let ours = try cases.delivery("SUBSCRIBED", "INITIAL_BUY", of: cases.transaction(), at: 0)
        let other = try AppleFixture.adapter(trusting: cases.fixture.simulator) {
            $0.apps = [.init(bundleID: "com.example.other", appAppleID: 1)]
        }
        let sandbox = try AppleFixture.adapter(trusting: cases.fixture.simulator) { $0.environments = [.sandbox] }
        for (delivery, adapter) in [(kind, cases.fixture.adapter), (ours, other), (ours, sandbox)] {
            let (code, acknowledgement) = answer(delivery, adapter)
            #expect(code == .misdirected)
            #expect(acknowledgement.decision == .reject && acknowledgement.status == 401)
        }
        // A delivery of ours that cannot be read is kept.
        let unread = try cases.delivery(
            "SUBSCRIBED",
            "INITIAL_BUY",
            of: cases.transaction("1", ["transactionId": "7"]),
            at: 0
        )
        #expect(answer(unread, cases.fixture.adapter).1.decision == .acceptAndQuarantine)
        #expect(answer(unread, other).1.decision == .reject)
    }

    @Test("the kept payload is the signed one, whatever stands beside it")
    func signedDocument() throws {
        let ours = try cases.delivery("SUBSCRIBED", "INITIAL_BUY", of: cases.transaction(), at: 0)
        var padded = Array(#"{"pad":"0123456789","signedPayload":"#.utf8)
        padded += ours.body.dropFirst(#"{"signedPayload":"#.utf8.count)
        let copy = Delivery(headers: ["X-Pad": "1"], body: padded, receivedAt: cases.day(1))
        #expect(copy.digest != ours.digest)
        let kept = cases.fixture.adapter.signedDocument(of: copy)
        #expect(kept.digest == ours.digest && kept.headers.all.isEmpty)
        let other = Delivery(
            headers: ["X-Pad": "1"],
            body: Array(#"{"pad":"0123456789"}"#.utf8),
            receivedAt: cases.day(1)
        )
        #expect(cases.fixture.adapter.signedDocument(of: other).digest == other.digest)
    }

    @Test("a notification is two weeks old at most, unless it comes of the history")
    func age() throws {
        var late = try cases.delivery("SUBSCRIBED", "INITIAL_BUY", of: cases.transaction(), at: 0)
        late.receivedAt = cases.day(14)
        #expect(answer(late, cases.fixture.adapter).0 == nil)
        late.receivedAt = cases.day(14.001)
        #expect(answer(late, cases.fixture.adapter).0 == .stale)
        #expect(
            try cases.fixture.adapter.authenticate(late, channel: .history).value.notificationUUID == "SUBSCRIBED-0.0"
        )
    }
}
