import NormalizerTesting
import Foundation
import Normalizer
import NotificationSimulator
import RevenueCatEvents
import StoryReceiving

/// When a host looks at a purchase, beside what notifications make it do.
enum Looking: CaseIterable {
    /// As soon as something has happened, before its notification comes.
    case ahead
    /// When the notification has come.
    case after
    /// At any time, as who opens the app.
    case whenever
    /// As soon as something has happened, and no notification ever comes.
    case instead
}

/// How a store and its relay tell of one purchase.
enum Telling: CaseIterable {
    case storeFirst, relayFirst
    /// In any order within a step, and twice.
    case mixed
    /// Some steps later.
    case storeLate, relayLate
}

/// A host that does what `docs/model.md` says, walked through a life.
struct WalkedHost {
    /// The types of one-time products, which neither Google Play nor Stripe states.
    private static let catalog = ProductCatalog(
        [],
        oneTimeProducts: coins.map { ProductCatalog.OneTimeProduct(id: $0, type: .consumable) }
    )
    /// The names of coins at each provider.
    private static let coins: [ProductID] = ["coins", "prod_coins", "com.example.app.coins"]

    private let policy: CreditPolicy
    private let isRelayed: Bool
    private var ledger = AccountLedger()
    private var uses: [CreditUse] = []
    private var news: [EventID: LifecycleEvent.Kind] = [:]
    private var account: Account.Identifier?
    private var transferredAt = Date.distantPast
    private var formerAccounts: [Account.Identifier] = []
    /// Shared purchases, in the order in which they were first heard of: shared again, one has another name.
    private var shared: [SubscriptionID] = []

    private let catalog: ProductCatalog?

    private init(_ walk: RandomWalk, hasCatalog: Bool = true) {
        catalog = hasCatalog ? Self.catalog : nil
        isRelayed = walk.provider == .revenuecat
        var allowances: [ProductID: CreditPolicy.Allowance] = [:]
        // Stripe sells months and years under one name; the price of the month stands for both.
        for name in Self.coins { allowances[name] = .init(credits: Truth.coins) }
        for plan in [CustomerStory.Plan.basicPrepaid, .basicMonthly, .proInstalments, .proYearly, .proMonthly]
        where plan.billing != .instalments || walk.provider == .google {
            allowances[plan.name(at: walk.provider, ofGooglePlay: walk.isOfGooglePlay)] = .init(
                credits: plan.credits,
                trialCredits: CustomerStory.Plan.trialCredits,
                price: ExactDecimal(coefficient: Int128(plan.price), scale: 3).map { Money($0, "USD") }
            )
        }
        policy = CreditPolicy(allowances)
    }

    /// - Parameters:
    ///   - lost: which notification never arrives; none unless given.
    ///   - hasCatalog: whether the host names what it sells.
    static func difference(
        _ walk: RandomWalk,
        _ simulator: any StorySimulator,
        losing lost: Int? = nil,
        hasCredits: Bool = true,
        hasCatalog: Bool = true
    ) async throws -> String? {
        let playback = try await StoryPlayback(walk.story, by: simulator, from: Date(millisecondsSince1970: walk.start))
        var host = WalkedHost(walk, hasCatalog: hasCatalog)
        // The first is how the host comes to know the purchase.
        let losable = playback.taken.indices.filter {
            let act = walk.story.steps[playback.taken[$0].notification.step].act
            switch act {
            // That a refund was undone, only its own notification tells.
            case .reverseRefund: return false
            // A family member's purchase is spoken of when the sharing ends, and else when it would renew.
            case .stopSharing: return false
            // Google Play's answer about another matter leaves out the beginning of the period. Its end is then taken
            // from earlier knowledge, which this host does not pass in.
            case .extend where walk.provider == .google: return false
            // Stripe reports nothing about a subscription that is over.
            case .refund, .expire: return walk.provider != .stripe
            default: return playback.taken[$0].notification.step > 0
            }
        }
        let missing = lost.flatMap { losable.isEmpty ? nil : losable[$0 % losable.count] }
        let missingStep = missing.map { playback.taken[$0].notification.step }
        var isHealed = true
        for (step, truth) in walk.truths.enumerated() {
            let taken = playback.taken.filter { $0.notification.step == step }
            for one in taken where missing.map({ playback.taken[$0].notification.id }) != one.notification.id {
                host.take(one.result)
            }
            if let missingStep {
                let isReported = step > missingStep && walk.story.steps[step].act.isAboutSubscription(at: walk.provider)
                isHealed = isReported || (isHealed && step != missingStep)
            }
            let now = max(walk.times[step], taken.map { $0.delivery.receivedAt.millisecondsSince1970 }.max() ?? 0)
            if let what = host.difference(
                to: truth,
                at: now,
                walk,
                isComplete: missing == nil,
                hasCredits: hasCredits
            ), isHealed {
                let without = missing.map { " without \(playback.taken[$0].notification.type)" } ?? ""
                return "\(walk.provider.rawValue), seed \(walk.seed), step \(step + 1)\(without): \(what)"
                    + walk.steps(through: step)
            }
            host.spend(at: now)
        }
        return nil
    }

    /// Some notifications arrive days or months late, some twice.
    static func lateDifference(_ walk: RandomWalk, _ simulator: any StorySimulator) async throws -> String? {
        let playback = try await StoryPlayback(walk.story, by: simulator, from: Date(millisecondsSince1970: walk.start))
        var host = WalkedHost(walk)
        var random = SeededGenerator(seed: walk.seed &* 31)
        var late: [(due: Int, taken: StoryPlayback.Taken)] = []
        var log = ""
        for (step, truth) in walk.truths.enumerated() {
            var taken: [StoryPlayback.Taken] = []
            for one in playback.taken where one.notification.step == step {
                let delay = Int.random(in: 0..<100, using: &random)
                if delay < 25 {
                    late.append((step + 1 + delay % 3, one))
                    log += "\n    \(one.notification.type) of step \(step + 1) comes \(1 + delay % 3) steps late"
                } else {
                    taken.append(one)
                    if delay < 35 { late.append((step + delay % 4, one)) }
                }
            }
            taken += late.filter { $0.due <= step }.map(\.taken)
            late.removeAll { $0.due <= step }
            for one in taken {
                host.take(one.result)
            }
            guard late.isEmpty else { continue }
            let now = max(walk.times[step], taken.map { $0.delivery.receivedAt.millisecondsSince1970 }.max() ?? 0)
            // A period that becomes known after its successor has begun pays nothing out.
            if let what = host.difference(to: truth, at: now, walk, isComplete: false) {
                return "\(walk.provider.rawValue), seed \(walk.seed), step \(step + 1): \(what)"
                    + walk.steps(through: step) + log
            }
        }
        return nil
    }

    /// Everything has arrived, in any order and some of it twice: asked for a time that is past, the answer is what was so then.
    static func hindsightDifference(_ walk: RandomWalk, _ simulator: any StorySimulator) async throws -> String? {
        let playback = try await StoryPlayback(walk.story, by: simulator, from: Date(millisecondsSince1970: walk.start))
        var random = SeededGenerator(seed: walk.seed &* 61)
        for isInOrder in [true, false] {
            var host = WalkedHost(walk)
            var arrived = playback.taken
            if !isInOrder {
                arrived = (arrived + arrived.filter { _ in random.next() % 4 == 0 }).shuffled(using: &random)
            }
            for one in arrived { host.take(one.result) }
            for (step, truth) in walk.truths.enumerated() {
                let reported = playback.taken.filter { $0.notification.step == step }
                    .map(\.delivery.receivedAt.millisecondsSince1970).max()
                let now = max(walk.times[step], reported ?? 0)
                let next = step + 1 < walk.times.count ? walk.times[step + 1] - 1 : now + 100 * 86_400_000
                let boundaries = truth.spans.flatMap { [$0.start - 1, $0.start, $0.end - 1, $0.end] }
                for moment in ([now, now + (next - now) / 2, next] + boundaries).sorted()
                where now...max(now, next) ~= moment {
                    let granted = host.ledger.states.filter { state in
                        !host.shared.contains { state.lineages.contains($0) }
                    }
                    .compactMap { state -> ProductID? in
                        guard case .granted(_, let grant) = state.access(at: Date(millisecondsSince1970: moment)) else {
                            return nil
                        }
                        return grant.product
                    }
                    // A renewal that comes late has begun when the period before it ended.
                    let later = walk.truths.dropFirst(step + 1).first { $0.spans != truth.spans }
                    let truths = [truth] + [later].compactMap(\.self)
                    let expected = truths.map {
                        $0.granting(at: moment)?.plan.name(at: walk.provider, ofGooglePlay: walk.isOfGooglePlay)
                    }
                    guard expected.contains(where: { $0.map(granted.contains) ?? granted.isEmpty }) else {
                        let expected = expected[0]
                        return
                            "\(walk.provider.rawValue), seed \(walk.seed), \(isInOrder ? "in" : "out of") order: access at "
                            + "\(RFC3339.string(moment)) is \(granted), expected \(expected ?? "none")"
                            + walk.steps(through: walk.truths.count - 1)
                    }
                }
            }
        }
        return nil
    }

    /// Looks at what a provider has by one of its notifications: takes in what that comes to.
    typealias Look = (_ host: inout WalkedHost, StoryPlayback, _ index: Int, Date, inout SeededGenerator) async throws
        ->
        Void

    /// The host asks the provider about everything that was bought.
    static func asking(
        _ host: inout WalkedHost,
        _ playback: StoryPlayback,
        upTo index: Int,
        at time: Date,
        using _: inout SeededGenerator
    ) async throws {
        for result in try await playback.receiver.ask(upTo: index, at: time) { host.take(result) }
    }

    /// The host asks RevenueCat about the purchase that its webhook is about.
    static func askingRelay(_ walk: RandomWalk) -> Look {
        { host, playback, index, time, _ in
            let step = playback.taken[index].notification.step
            // A one-time purchase is no subscription to ask about, and one that a family shares is of another customer.
            switch walk.story.steps[step].act {
            case .buy, .shareWithFamily, .stopSharing: return
            default: break
            }
            guard let event = playback.taken[index].result.events.first, let lineage = event.subscription,
                host.ledger[lineage]?.hasPurchase != true, !host.shared.contains(lineage), let account = host.account,
                let shown = walk.truths[step].spans.last
            else { return }
            let moment = time.millisecondsSince1970
            let client = try RevenueCatClient(
                transport: try RelayedTruth(walk.truths[step], at: moment, account: account.id, walk),
                apiKey: SecretBytes("sk"),
                api: .v2(project: "proj")
            )
            let product = (walk.truths[step].granting(at: moment) ?? shown).plan
                .name(at: .revenuecat, ofGooglePlay: walk.isOfGooglePlay)
            for subscription in try await client.subscriptions(withTransaction: "1") {
                let statement = subscription.statement(about: lineage, product: product, at: time)
                host.take(Normalization(noChange: .init(.unchanged, statement: statement)))
            }
        }
    }

    /// A device uploads what it has of the purchase that the App Store notifies of.
    static func uploading(_ upload: Upload) -> Look {
        { host, playback, index, time, random in
            let first = upload == .ofOtherTimes ? Int.random(in: 0...index, using: &random) : index
            let second = Int.random(in: first...index, using: &random)
            do {
                let result = try playback.receiver.upload(
                    transactionOf: playback.taken[first].delivery,
                    renewalInfoOf: upload == .transaction ? nil : playback.taken[second].delivery,
                    at: time
                )
                if let result { host.take(result) }
            } catch let error as DeliveryError where error.code == .misdirected && first != second {
                // Of two purchases, which are not to be handed in together.
            }
        }
    }

    /// The host looks at purchases whose notifications are on their way, or have come.
    ///
    /// - Parameter hasCredits: whether credits are right as well for who hears no notification.
    static func difference(
        _ walk: RandomWalk,
        _ simulator: any StorySimulator,
        looking: Looking,
        hasCredits: Bool,
        by look: Look
    ) async throws -> String? {
        let playback = try await StoryPlayback(walk.story, by: simulator, from: Date(millisecondsSince1970: walk.start))
        var (host, listener) = (WalkedHost(walk), WalkedHost(walk))
        var random = SeededGenerator(seed: walk.seed)
        for (step, truth) in walk.truths.enumerated() {
            let time = walk.times[step]
            let known = playback.taken.prefix { $0.notification.step < step }.count
            if looking == .whenever, known > 0 {
                let before = walk.times[step - 1]
                let moment = Date(
                    millisecondsSince1970: before + Int64.random(in: 0...max(0, time - before), using: &random)
                )
                try await look(&host, playback, known - 1, moment, &random)
            }
            var now = time
            for index in playback.taken.indices where playback.taken[index].notification.step == step {
                let one = playback.taken[index]
                let moment = one.delivery.receivedAt
                if looking == .ahead || looking == .instead { try await look(&host, playback, index, moment, &random) }
                if looking != .instead { host.take(one.result) }
                if looking == .after { try await look(&host, playback, index, moment, &random) }
                listener.take(one.result)
                now = max(now, moment.millisecondsSince1970)
            }
            let news = looking == .instead ? nil : host.newsDifference(to: listener)
            if let what = news
                ?? host.difference(to: truth, at: now, walk, hasCredits: hasCredits || looking != .instead)
            {
                return "\(walk.provider.rawValue), seed \(walk.seed), step \(step + 1): \(what)"
                    + walk.steps(through: step)
            }
            host.spend(at: now)
        }
        return nil
    }

    /// A store and a relay of it tell of one life.
    static func difference(
        _ walk: RandomWalk,
        _ store: any StorySimulator,
        beside relay: any StorySimulator,
        telling: Telling
    ) async throws -> String? {
        let start = Date(millisecondsSince1970: walk.start)
        let stated = try await StoryPlayback(walk.story, by: store, from: start).taken
        let relayed = try await StoryPlayback(walk.story, by: relay, from: start).taken
        var host = WalkedHost(walk)
        var random = SeededGenerator(seed: walk.seed)
        var late: [(due: Int, taken: [StoryPlayback.Taken])] = []
        for (step, truth) in walk.truths.enumerated() {
            let first = stated.filter { $0.notification.step == step }
            let second = relayed.filter { $0.notification.step == step }
            let due = max(late.last?.due ?? 0, step + Int.random(in: 0...3, using: &random))
            var taken =
                switch telling {
                case .storeFirst: first + second
                case .relayFirst: second + first
                case .mixed: (first + first + second + second).shuffled(using: &random)
                case .storeLate: second
                case .relayLate: first
                }
            if telling == .storeLate { late.append((due, first)) }
            if telling == .relayLate { late.append((due, second)) }
            taken += late.filter { $0.due <= step }.flatMap(\.taken)
            late.removeAll { $0.due <= step }
            for one in taken {
                host.take(one.result)
            }
            let now = max(walk.times[step], taken.map { $0.delivery.receivedAt.millisecondsSince1970 }.max() ?? 0)
            if let what = host.difference(to: truth, at: now, walk, isComplete: true) {
                return "\(store.provider.rawValue), seed \(walk.seed), step \(step + 1): \(what)"
                    + walk.steps(through: step)
            }
            host.spend(at: now)
        }
        return nil
    }

    /// News of this host that a mere listener does not have, or the other way round.
    private func newsDifference(to listener: WalkedHost) -> String? {
        // A change that is planned and made in one moment was made when the relay is asked. A look-up also shows
        // earlier than a relay's webhook that renewal was turned off.
        let missing = listener.news.filter {
            news[$0.key] == nil && !(isRelayed && $0.value == .productChangeScheduled)
        }
        .map(\.value)
        if !missing.isEmpty { return "nobody tells of \(missing)" }
        // A purchase that was refunded reads like one that is over, until its notification tells of the money.
        let further = news.filter {
            listener.news[$0.key] == nil && $0.value != .expired && !(isRelayed && $0.value == .autoRenewEnabled)
        }
        .map(\.value)
        return further.isEmpty ? nil : "the host that asks hears of \(further)"
    }

    private mutating func take(_ result: Normalization) {
        for event in result.events {
            if case .started(let started) = event.event, started.origin == .familyShared,
                let lineage = event.subscription, !shared.contains(lineage)
            {
                shared.append(lineage)
            }
            if account == nil, !shared.contains(where: { $0 == event.subscription }) {
                // A sale has this reference, a subscription does not.
                for case .owner(let owner) in event.facts where owner.source != .clientReferenceID {
                    account = Account.Identifier(owner.id, owner.source)
                }
            }
            if case .transferred(let transfer) = event.event, let new = transfer.to.first,
                event.effectiveAt > transferredAt
            {
                (account, transferredAt) = (new, event.effectiveAt)
                formerAccounts += transfer.from
            }
        }
        for applied in ledger.apply(result, catalog: catalog) {
            if applied.isNews { news[applied.event.id] = applied.event.kind }
        }
        askForOwners()
    }

    /// A transfer does not say which purchases have moved. Of what it has left, RevenueCat says whose it is.
    private mutating func askForOwners() {
        guard let account, !formerAccounts.isEmpty else { return }
        for state in ledger.states(of: formerAccounts, in: .production) {
            let answer = StoreStatement(
                subscription: state.subscription,
                provider: .revenuecat,
                assertedAt: transferredAt.addingTimeInterval(0.001),
                facts: [.owner(Account(account.id, account.source))],
                origin: .madeUp(channel: .refetch, digest: "\(state.subscription)")
            )
            ledger.apply(answer)
        }
    }

    private var states: [SubscriptionState] {
        account.map { ledger.states(of: [$0], in: .production) } ?? []
    }

    /// The rest of credits with an end, and of those without.
    private func credits(at time: Date) -> (ending: Int64, lasting: Int64) {
        let own = ledger.states.filter { state in !shared.contains { state.lineages.contains($0) } }
        let open = CreditStatement(of: own, under: policy, uses: uses, at: time).grants
        return (
            open.filter { $0.until != nil }.reduce(0) { $0 + $1.left },
            open.filter { $0.until == nil }.reduce(0) { $0 + $1.left }
        )
    }

    /// The grants, for people.
    private func grants(at time: Date) -> String {
        CreditStatement(of: ledger.states, under: policy, uses: uses, at: time).grants.map {
            let until = $0.until.map { RFC3339.string($0.millisecondsSince1970) } ?? "-"
            let from = RFC3339.string($0.from.millisecondsSince1970)
            return
                "\n    \(from) \(until) \($0.product ?? "") \($0.reason) \($0.credits) used \($0.used) ended \($0.ended)"
        }
        .joined()
    }

    /// A third of what there is of each purchase.
    private mutating func spend(at now: Int64) {
        let time = Date(millisecondsSince1970: now)
        for state in states where state.access(at: time).isGranted {
            let grants = CreditStatement(of: state, under: policy, uses: uses, at: time).grants
            let third = grants.filter { $0.until != nil }.reduce(0) { $0 + $1.left } / 3
            uses.append(CreditUse(id: "\(uses.count)", credits: third, at: time, subscription: state.subscription))
        }
    }

    private func difference(
        to truth: Truth,
        at now: Int64,
        _ walk: RandomWalk,
        isComplete: Bool = true,
        hasCredits: Bool = true
    ) -> String? {
        guard let account else { return truth.spans.isEmpty ? nil : "there is no account" }
        var moments: Set<Int64> = [now, now + 1, now + 400 * 86_400_000]
        for span in truth.spans + [truth.shared].compactMap(\.self) {
            for boundary in [span.start, span.end] { moments.formUnion([boundary - 1, boundary, boundary + 1]) }
        }
        for state in ledger.states {
            if let next = state.nextTransition(after: Date(millisecondsSince1970: now))?.millisecondsSince1970 {
                moments.formUnion([next - 1, next, next + 1])
            }
        }
        for moment in moments.sorted() where moment >= now {
            let time = Date(millisecondsSince1970: moment)
            let decision = ledger.access(of: account, in: .production, at: time).decision
            let plan = truth.granting(at: moment)?.plan.name(at: walk.provider, ofGooglePlay: walk.isOfGooglePlay)
            let expected = plan ?? presumed(truth, walk)
            let actual: ProductID? = if case .granted(_, let grant) = decision { grant.product } else { nil }
            if actual != expected {
                return "access at \(RFC3339.string(moment)) is \(actual ?? "none"), expected \(expected ?? "none")"
            }
            if let family = shared.last, let state = ledger[family] {
                let expected = truth.shared.map { $0.start <= moment && moment < $0.end } ?? false
                if state.access(at: time).isGranted != expected { return "the family has \(!expected) at \(moment)" }
            }
        }
        guard isComplete else { return nil }
        let time = Date(millisecondsSince1970: now)
        guard hasCredits else { return snapshotDifference(to: truth, time, walk) }
        let (left, bought) = credits(at: time)
        let expected = truth.counted(at: now)
        if left != expected { return "\(left) credits are left, expected \(expected)\(grants(at: time))" }
        if bought != truth.credits.bought {
            return "\(bought) credits were carried over, expected \(truth.credits.bought)\(grants(at: time))"
        }
        return snapshotDifference(to: truth, time, walk)
    }

    /// A purchase that gives access as long as it is not stated as used up.
    private func presumed(_ truth: Truth, _ walk: RandomWalk) -> ProductID? {
        guard catalog == nil, truth.coinSales > 0 else { return nil }
        switch walk.provider {
        case .google: return "coins"
        case .stripe: return "prod_coins"
        default: return nil
        }
    }

    private func snapshotDifference(to truth: Truth, _ time: Date, _ walk: RandomWalk) -> String? {
        guard truth.standing == .active, truth.granting(at: time.millisecondsSince1970) != nil else { return nil }
        // Beside the one that goes on there may be what is left of another.
        let differences = states.filter { $0.access(at: time).isGranted }
            .map { difference(of: $0.snapshot(at: time), to: truth, time, walk) }
        return differences.contains(nil) ? nil : differences.first ?? "there is no state"
    }

    private func difference(
        of snapshot: SubscriptionSnapshot,
        to truth: Truth,
        _ time: Date,
        _ walk: RandomWalk
    ) -> String? {
        if snapshot.willRenew != truth.willRenew, !truth.isMisunderstood,
            snapshot.willRenew != nil || walk.provider != .revenuecat
        {
            return "it will renew: \(String(describing: snapshot.willRenew)), expected \(truth.willRenew)"
        }
        // A change that is planned on Google Play gives another purchase, whose first period holds what was charged ahead.
        let isAhead =
            truth.start > time.millisecondsSince1970 && !(walk.provider == .google && truth.next != nil)
        let running = truth.granting(at: time.millisecondsSince1970)
        let next = isAhead ? (truth.plan == running?.plan ? nil : truth.plan) : truth.next
        let expected = next?.name(at: walk.provider, ofGooglePlay: walk.isOfGooglePlay)
        if snapshot.pendingProduct != expected {
            return "next comes \(snapshot.pendingProduct ?? "none"), expected \(expected ?? "none")"
        }
        let status: SubscriptionSnapshot.Status = running?.isTrial == true ? .trial : .active
        if snapshot.status != status { return "its status is \(snapshot.status), expected \(status)" }
        return nil
    }
}

extension SubscriptionState {
    /// True if it is of a one-time purchase, which has a lineage of its own.
    fileprivate var hasPurchase: Bool { purchases.isEmpty == false }
}

/// The parts of a device's upload.
enum Upload: CaseIterable {
    case transaction, withRenewalInfo
    /// A transaction as it was signed some time ago, and perhaps not the last, and renewal info that was signed since.
    case ofOtherTimes
}

extension RandomWalk {
    /// The steps, for people.
    fileprivate func steps(through last: Int) -> String {
        zip(times, story.steps).prefix(last + 1)
            .map { time, step in
                let plan = step.act.plan.map { " to \($0.product) \($0.rhythm)" } ?? ""
                return "\n    \(RFC3339.string(time)) \(step.act.name)\(plan)"
            }
            .joined()
    }
}

extension CustomerStory.Act {
    /// The plan that is chosen.
    fileprivate var plan: CustomerStory.Plan? {
        switch self {
        case .subscribe(let plan, _), .upgrade(let plan), .crossgrade(let plan), .downgrade(let plan): plan
        default: nil
        }
    }
}

extension CustomerStory.Act {
    /// True if its report states the subscription's standing.
    fileprivate func isAboutSubscription(at provider: Provider) -> Bool {
        switch self {
        // Reported by a schedule, which knows phases and no period.
        case .schedulePause: provider != .stripe
        case .buy, .disputeCharge, .winDispute, .loseDispute, .refund, .renewEarly, .requestRefund, .reverseRefund,
            .shareWithFamily, .stopSharing, .declineRefund:
            false
        default: true
        }
    }
}
