import FoundationEssentials
import LifecycleEvents

/// A story with its times worked out. What happens is the same for all providers; only their reports differ.
struct Plot {
    /// How the customer's subscription stands.
    struct Standing: Sendable, Hashable {
        enum State: Sendable, Hashable { case pending, active, grace, hold, paused, ended }

        var plan: CustomerStory.Plan
        var offer: CustomerStory.Offer?
        /// The price of the current period, in thousandths.
        var price: Int64
        var state: State
        /// When this purchase was made.
        var bought: Milliseconds
        /// The period that was paid for last.
        var start: Milliseconds
        var end: Milliseconds
        /// How many periods of this purchase were paid for before it.
        var renewals = 0
        var willRenew = true
        var nextPlan: CustomerStory.Plan?
        var nextPrice: Int64?
        var graceEnd: Milliseconds?
        var resumesAt: Milliseconds?

        /// The price of the next period, in thousandths. One that was raised counts while no other plan is chosen.
        var nextCharge: Int64 { nextPlan?.price ?? nextPrice ?? (offer == nil ? price : plan.price) }
    }

    /// How a provider moves periods, where they differ.
    struct Habits: Sendable {
        /// True if a period keeps its place, however late it is paid for. Otherwise one that is paid for after grace begins with the
        /// payment.
        var keepsPeriods = false
        /// True if a change to another rhythm waits for the end of the period.
        var changesRhythmLater = false
        /// True if a subscription that ended with a refund stays so when the refund is undone.
        var endsForGood = false
    }

    typealias Milliseconds = Int64

    struct Scene: Sendable {
        var step: Int
        var time: Milliseconds
        var act: CustomerStory.Act
        var before: Standing?
        var after: Standing?

        /// Before the first act.
        static let opening = Scene(step: 0, time: 0, act: .test)
    }

    private let story: CustomerStory
    private let habits: Habits
    private var now: Milliseconds
    private var standing: Standing?
    /// True if the last payment was for a one-time purchase, so that its refund does not concern the subscription.
    private var isItemLatest = false

    /// - Parameters:
    ///   - habits: those of the store whose purchases a relay reports; the provider's own unless given.
    ///   - absence: the reason that this store has no such act; none unless given.
    static func scenes(
        _ story: CustomerStory,
        from start: Date,
        at provider: Provider,
        habits: Habits? = nil,
        absence: (CustomerStory.Act) -> String? = { _ in nil }
    ) throws(SimulatorError) -> [Scene] {
        for step in story.steps {
            if let absence = step.act.absence(at: provider) ?? absence(step.act) {
                throw SimulatorError(
                    "story \(story.id): \(provider.rawValue) has no \(step.act.name): \(absence)",
                    .notOffered(by: provider)
                )
            }
        }
        var plot = Plot(
            story: story,
            habits: habits ?? StoryProviders.kind(of: provider)?.habits ?? Habits(),
            now: start.millisecondsSince1970
        )
        var scenes: [Scene] = []
        for (index, step) in story.steps.enumerated() { scenes.append(try plot.play(step, index)) }
        return scenes
    }

    private init(story: CustomerStory, habits: Habits, now: Milliseconds) {
        self.story = story
        self.habits = habits
        self.now = now
    }

    private func nonsense(_ what: String) -> SimulatorError {
        SimulatorError("story \(story.id): \(what)", .nonsense)
    }

    private mutating func play(_ step: CustomerStory.Step, _ index: Int) throws(SimulatorError) -> Scene {
        switch step.time {
        case .after(let duration): now += duration.bounded
        case .beforePeriodEnd(let duration): now = max(now, try current().end - duration.bounded)
        case .atPeriodEnd: now = max(now, try current().end)
        case .atGraceEnd:
            guard let end = standing?.graceEnd else { throw nonsense("there is no grace") }
            now = max(now, end)
        }
        guard (0...Self.latest).contains(now) else { throw nonsense("it leaves our time") }
        let before = standing
        try perform(step.act)
        return Scene(step: index, time: now, act: step.act, before: before, after: standing)
    }

    /// The end of the year 9000, so that every later period can still be written.
    private static let latest: Milliseconds = 221_845_392_000_000

    private func current() throws(SimulatorError) -> Standing {
        guard let standing else { throw nonsense("there is no subscription") }
        return standing
    }

    private func current(_ states: Standing.State...) throws(SimulatorError) -> Standing {
        let standing = try current()
        guard states.contains(standing.state) else { throw nonsense("the subscription is \(standing.state)") }
        return standing
    }

    private mutating func change(
        _ states: Standing.State...,
        by body: (inout Standing) -> Void
    ) throws(SimulatorError) {
        var standing = try current()
        guard states.contains(standing.state) else { throw nonsense("the subscription is \(standing.state)") }
        body(&standing)
        self.standing = standing
    }

    private mutating func perform(_ act: CustomerStory.Act) throws(SimulatorError) {
        let now = now
        switch act {
        case .subscribe(let plan, let offer): try begin(plan, .active, with: offer)
        case .subscribePending(let plan): try begin(plan, .pending)
        case .completePayment:
            guard let plan = standing?.plan else { throw nonsense("nothing is pending") }
            try change(.pending) {
                ($0.state, $0.bought, $0.start) = (.active, now, now)
                $0.end = plan.period.end(from: now)
            }
        case .abandonPayment: try change(.pending) { $0.state = .ended }
        case .renew: try renew(aheadBy: 0)
        case .renewEarly: try renew(aheadBy: 86_400_000)
        case .renewAfterCancel:
            let standing = try current(.active)
            guard !standing.willRenew, now >= standing.end else { throw nonsense("nothing was canceled late") }
            try nextPeriod(from: standing.end)
        case .failCharge(let grace):
            guard try current(.active, .paused).end <= now else { throw nonsense("the period has not ended") }
            // A charge at the end of a pause has no grace.
            try change(.active, .paused) {
                $0.state = grace == nil ? .hold : .grace
                $0.graceEnd = grace.map { [end = $0.end] in end + $0.bounded }
            }
        case .endGrace: try change(.grace) { $0.state = .hold }
        case .recover:
            let standing = try current(.grace, .hold)
            // Within grace the new period follows on the old one; after that it begins with the payment.
            try nextPeriod(from: standing.state == .grace || habits.keepsPeriods ? standing.end : now)
        case .cancel: try change(.active, .grace) { $0.willRenew = false }
        case .uncancel: try change(.active) { $0.willRenew = true }
        case .cancelCommitment: try change(.active) { _ in }
        case .expire:
            try change(.active, .grace, .hold, .paused) {
                $0.state = .ended
                $0.willRenew = false
            }
        case .upgrade(let plan): try replace(plan)
        case .crossgrade(let plan):
            if habits.changesRhythmLater {
                try change(.active) { $0.nextPlan = plan }
            } else {
                try replace(plan)
            }
        case .downgrade(let plan): try change(.active) { $0.nextPlan = plan }
        case .withdrawDowngrade: try change(.active) { $0.nextPlan = nil }
        case .schedulePause(let length): try change(.active) { $0.resumesAt = $0.end + length.bounded }
        case .pause: try change(.active) { $0.state = .paused }
        case .resume:
            _ = try current(.paused)
            try nextPeriod(from: now)
        case .extend(let days): try change(.active) { $0.end += min(max(days, 0), 3650) * 86_400_000 }
        case .raisePrice(let price, _): try change(.active) { $0.nextPrice = price }
        case .acceptPrice:
            guard try current(.active).nextPrice != nil else { throw nonsense("no price was raised") }
        case .topUp:
            guard try current(.active).plan.billing == .prepaid else { throw nonsense("nothing was paid in advance") }
            isItemLatest = false
            try change(.active) {
                ($0.bought, $0.start) = (now, now)
                $0.end = $0.plan.period.end(from: $0.end)
            }
        case .refund(.latest, .full):
            if standing?.state == .active || standing?.state == .grace, !isItemLatest {
                try change(.active, .grace) { ($0.state, $0.willRenew) = (.ended, false) }
            }
        case .reverseRefund:
            if !habits.endsForGood, standing?.state == .ended, !isItemLatest {
                try change(.ended) { $0.state = .active }
            }
        case .loseDispute:
            if standing?.state == .active, !isItemLatest {
                try change(.active) { ($0.state, $0.willRenew) = (.ended, false) }
            }
        case .buy(_, let quantity):
            guard (1...1000).contains(quantity) else { throw nonsense("a quantity must be 1 to 1000, not \(quantity)") }
            isItemLatest = true
        case .own(let own):
            if let general = own.act.general { try perform(general) }
        default: break
        }
    }

    private mutating func begin(
        _ plan: CustomerStory.Plan,
        _ state: Standing.State,
        with offer: CustomerStory.Offer? = nil
    ) throws(SimulatorError) {
        // A customer who cannot pay for one any more may buy another.
        if let standing, standing.state != .ended, standing.state != .hold {
            throw nonsense("there is a subscription already")
        }
        isItemLatest = false
        standing = Standing(
            plan: plan,
            offer: offer,
            price: offer?.price ?? plan.price,
            state: state,
            bought: now,
            start: now,
            end: (offer?.period ?? plan.period).end(from: now),
            willRenew: plan.billing != .prepaid
        )
    }

    private mutating func renew(aheadBy lead: Milliseconds) throws(SimulatorError) {
        let standing = try current(.active)
        guard standing.willRenew else { throw nonsense("renewal is off") }
        guard now >= standing.end - lead else { throw nonsense("the period has not ended") }
        try nextPeriod(from: standing.end)
    }

    private mutating func nextPeriod(from start: Milliseconds) throws(SimulatorError) {
        isItemLatest = false
        try change(.active, .grace, .hold, .paused) {
            let plan = $0.nextPlan ?? $0.plan
            $0.price = $0.nextCharge
            ($0.plan, $0.nextPlan, $0.nextPrice, $0.offer) = (plan, nil, nil, nil)
            ($0.start, $0.end) = (start, plan.period.end(from: start))
            ($0.state, $0.graceEnd, $0.resumesAt) = (.active, nil, nil)
            $0.renewals += 1
        }
    }

    private mutating func replace(_ plan: CustomerStory.Plan) throws(SimulatorError) {
        let now = now
        isItemLatest = false
        try change(.active, .grace, .paused) {
            $0 = Standing(
                plan: plan,
                price: plan.price,
                state: .active,
                bought: now,
                start: now,
                end: plan.period.end(from: now)
            )
        }
    }
}

extension CustomerStory.Plan.Period {
    /// The same time of day, so many days or calendar months later; the last of a month where it has no such day.
    func end(from start: Int64) -> Int64 {
        let days = start.flooredQuotient(dividingBy: 86_400_000)
        let timeOfDay = start - days * 86_400_000
        let end: Int64
        switch self {
        case .days(let count):
            end = days + min(max(count, 0), 36_500)
        case .months(let count):
            var date = CivilDate(daysSince1970: days)
            let months = date.year * 12 + date.month - 1 + min(max(count, 0), 1200)
            date.year = months.flooredQuotient(dividingBy: 12)
            date.month = months - date.year * 12 + 1
            date.day = min(date.day, CivilDate.days(inMonth: date.month, ofYear: date.year))
            end = date.daysSince1970
        }
        return end * 86_400_000 + timeOfDay
    }
}

extension Duration {
    /// In milliseconds, between nothing and a hundred years.
    fileprivate var bounded: Int64 { min(max(self, .zero), .seconds(3_155_760_000)).wholeMilliseconds }
}
