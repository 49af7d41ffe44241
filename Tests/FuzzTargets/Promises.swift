import FoundationEssentials
import Normalizer

/// Properties of every event of every adapter.
enum Promises {
    static func check(_ normalization: Normalization) throws(Violation) {
        let decoded = try sound("a result does not survive its own JSON") {
            try CanonicalJSON.value(Normalization.self, from: CanonicalJSON.bytes(normalization))
        }
        try promise(decoded == normalization, "a result that was written and read is another one")
        try promise(normalization.events.isEmpty != (normalization.noChange == nil), "no event and no reason, or both")
        let ids = normalization.events.map(\.id)
        try promise(Set(ids).count == ids.count, "two events of one delivery have the same id")
        try promise(
            !normalization.anomalies.contains { $0.contains(Corpus.canary) },
            "an anomaly shows what was read"
        )

        var forward = AccountLedger()
        for event in normalization.events { _ = forward.apply(event) }
        var backward = AccountLedger()
        for event in normalization.events.reversed() + normalization.events { _ = backward.apply(event) }
        try promise(forward == backward, "the order of events decides the state")
        for state in forward.states {
            let decoded = try sound("a state does not survive its own JSON") {
                try CanonicalJSON.value(SubscriptionState.self, from: CanonicalJSON.bytes(state))
            }
            try promise(decoded == state, "a state that was written and read is another one")
            for event in normalization.events {
                let time = event.assertedAt
                guard let next = state.nextTransition(after: time) else { continue }
                try promise(next > time, "the next transition lies in the past")
                let before = next.addingTimeInterval(-0.001)
                if before > time {
                    try promise(
                        state.access(at: before).isGranted == state.access(at: time).isGranted,
                        "access changes before the next transition"
                    )
                }
            }
        }
    }
}
