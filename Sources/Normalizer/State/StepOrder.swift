/// Where the steps of a store's object within one moment lead.
///
/// A step leads from one content to another, and a store that says both says the order of its steps, although it dates all of
/// them alike.
struct StepOrder {
    /// One step; the same step taken twice is two, by their notifications.
    struct Step: Hashable {
        var before: String?
        var after: String
        var notification: String?
        /// True if another step of the moment led to the content before.
        var follows = false
    }

    /// The final content: one if the steps decide it, and several if some are missing, or lead in a circle without a
    /// known beginning.
    let ends: Set<String>

    /// - Parameter earlier: the content before the first step, where known.
    init(_ steps: Set<Step>, earlier: String?) {
        let ended = steps.filter { $0.after.isEmpty }
        if !ended.isEmpty {
            ends = [""]
            return
        }
        var balance: [String: Int] = [:]
        for step in steps {
            guard let before = step.before, !before.isEmpty, before != step.after else { continue }
            balance[before, default: 0] -= 1
            balance[step.after, default: 0] += 1
        }
        let began = Set(steps.filter { $0.before == "" }.map(\.after))
        var open = Set(balance.filter { $0.value > 0 }.keys)
        // Steps that neither lead anywhere nor are led to: repetitions, even of the beginning.
        let apart = Set(steps.map(\.after).filter { balance[$0] == nil })
        if open.isEmpty, !balance.isEmpty {
            // A circle ends where it began.
            if let earlier, balance[earlier] != nil {
                open = [earlier]
            } else {
                let beginnings = began.filter { balance[$0] != nil }
                let first = Set(balance.keys).subtracting(steps.compactMap { $0.follows ? $0.before : nil })
                open = !beginnings.isEmpty ? beginnings : !first.isEmpty ? first : Set(balance.keys)
            }
        }
        let others = apart.subtracting(began).subtracting(balance.isEmpty ? [] : [earlier].compactMap(\.self))
        open.formUnion(others)
        ends = open.isEmpty ? apart : open
    }
}

extension Citation {
    /// The step that the statement is; nil if the store does not say.
    var step: StepOrder.Step? {
        revision.map {
            StepOrder.Step(
                before: $0.before,
                after: $0.after,
                notification: notificationID,
                follows: $0.follows ?? false
            )
        }
    }
}
