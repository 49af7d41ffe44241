import LifecycleJournal
import Normalizer
import NormalizerTesting
import Testing

@Suite("A trace is followed from a delivery to its news", .timeLimit(.minutes(5)))
struct TraceTests {
    private static let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    @Test("In one step and in two", arguments: [true, false])
    func news(inTwoSteps: Bool) async throws {
        let life = try StripeLife()
        let journal = Journal(MemoryJournal(), now: { StripeLife.start })
        for var delivery in life.deliveries {
            delivery.headers.add("traceparent", Self.trace)
            if inTwoSteps {
                _ = await journal.accept(delivery, with: life.adapter)
            } else {
                _ = await journal.receive(delivery, with: life.adapter)
            }
        }
        while try await journal.work(with: ["stripe": life.adapter]) > 0 {}
        let items = try await journal.outbox.next(100, lease: .seconds(1))
        #expect(!items.isEmpty)
        #expect(items.allSatisfy { $0.trace?.description == Self.trace })
    }

    @Test("A request that follows is another place in the same trace")
    func child() throws {
        let parent = try #require(TraceParent(Self.trace))
        let child = parent.child()
        #expect(child.traceID == parent.traceID)
        #expect(child != parent)
        #expect(TraceParent(child.description) == child)
    }

    @Test(
        "A field of another form is none",
        arguments: [
            "", "00", Self.trace + "-", Self.trace.uppercased(), "01" + Self.trace.dropFirst(2), Self.trace + "0",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473\u{e9}-00f067aa0ba902b7-01",
        ]
    )
    func malformed(text: String) { #expect(TraceParent(text) == nil) }
}
