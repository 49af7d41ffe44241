import FoundationEssentials
import NotificationSimulator
import Normalizer
import Stripe
import Testing

@Suite("Pauses that end")
struct PauseTests {
    @Test("a pause of collection within a period gives back its credits")
    func pause() throws {
        let adapter = try policed { $0.collectionPause = .pauses }
        let policy = CreditPolicy(["prod_basic": .init(credits: 200), "price_basic_month": .init(credits: 200)])
        let version = StripeSimulator.Version.endive
        let active = PitfallTests.active { $0.start = created - day }
        var paused = active
        paused.collectionPause = ["behavior": "void", "resumes_at": .integer(created + 9 * day)]
        let bodies: [([UInt8], Int64)] = [
            (PitfallTests.body("created", active, at: created - day, id: "evt_0"), created - day),
            (
                PitfallTests.body("updated", paused, previous: active.previous(paused, version), id: "evt_1"), created
            ),
            (
                PitfallTests.body(
                    "updated",
                    active,
                    previous: paused.previous(active, version),
                    at: created + 2 * day,
                    id: "evt_2"
                ), created + 2 * day
            ),
        ]
        var state = SubscriptionState(PitfallTests.lineage)
        var effects: [CreditAction.Effect] = []
        var done: Set<String> = []
        var kinds: [String] = []
        for (body, time) in bodies {
            for event in try adapter.take(body, at: time).events {
                let application = state.apply(event)
                kinds.append("\(application.event.kind) \(application.disposition)")
                for action in policy.actions(for: application, in: state) where done.insert(action.id).inserted {
                    effects.append(action.effect)
                }
            }
        }
        #expect(state.access(at: date(created + 3 * day)).isGranted)
        #expect(effects == [.reset(to: 200), .revoke, .reset(to: 200)], "\(kinds)")
    }

    @Test("a subscription of endive that goes on after a pause is resumed, not extended")
    func resumedTwin() throws {
        var paused = PitfallTests.active {
            $0.status = "paused"; $0.end = created
        }
        paused.statusDetails = ["paused": ["transitioned_at": .integer(created)]]
        var active = PitfallTests.active()
        active.end = created + 20 * day
        let body = PitfallTests.body(
            "updated",
            active,
            previous: paused.previous(active, .endive),
            at: created + 5 * day
        )
        let kinds = try adapter().take(body, at: created + 5 * day).kinds
        #expect(kinds == [], "\(kinds)")
    }
}
