import NormalizerTesting
import Foundation
import Normalizer
import NotificationSimulator
import StoryReceiving

/// A made-up life of one customer's subscription, with the truth after each step.
struct RandomWalk {
    let provider: Provider
    let seed: UInt64
    private(set) var story: CustomerStory
    private(set) var truths: [Truth] = []
    /// When each step was taken.
    private(set) var times: [Int64] = []
    let start: Int64
    private(set) var isOfGooglePlay: Bool
    /// True if RevenueCat relays Google Play.
    private let isOfGooglePlayRelay: Bool
    /// True if it also has the acts of few customers.
    private let isRare: Bool

    private var random: SeededGenerator
    private var truth = Truth()
    private var now: Int64
    private var steps: [CustomerStory.Step] = []

    private static let hour: Int64 = 3_600_000
    private static let day: Int64 = 86_400_000
    /// Between two steps, so that all notifications of one have arrived before the next: Stripe charges an hour late.
    private var gap: Int64 { isRare && provider != .stripe ? 60_000 : 2 * Self.hour }

    init(_ provider: Provider, seed: UInt64, steps count: Int, isRare: Bool = false) {
        self.provider = provider
        self.seed = seed
        self.isRare = isRare
        random = SeededGenerator(seed: seed &* 7919)
        // 2026-01-31T10:00:00Z, so that months end early; Stripe knows seconds.
        start = 1_769_853_600_000 + (provider == .stripe ? 0 : 123)
        now = start
        story = CustomerStory("walk-\(seed)", "", steps: [])
        isOfGooglePlay = provider == .google
        truth.waitsForCharge = provider == .stripe
        isOfGooglePlayRelay = provider == .revenuecat && seed.isMultiple(of: 2)
        // The simulated App Store's certificates are valid for some years.
        while steps.count < count, truth.standing != .over, now < start + 6 * 365 * Self.day { step() }
        story = CustomerStory("walk-\(seed)", "A walk.", steps: steps)
        if provider == .revenuecat {
            isOfGooglePlay = steps.contains {
                switch $0.act {
                case .schedulePause, .pause, .resume, .topUp: true
                default: false
                }
            }
        }
    }

    // MARK: Chance

    private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    private mutating func moment(from: Int64, to: Int64) -> Int64 {
        guard to > from else { return from }
        // To the second, as all is counted.
        return from + Int64.random(in: 0...(to - from) / 1000, using: &random) * 1000
    }

    // MARK: Steps

    private mutating func take(_ act: CustomerStory.Act, at time: Int64) {
        take(act, at: time) { (_: inout Truth, _: Int64) in }
    }

    private mutating func take(_ act: CustomerStory.Act, at time: Int64, _ change: (inout Truth) -> Void) {
        take(act, at: time) { (truth: inout Truth, _: Int64) in change(&truth) }
    }

    private mutating func take(_ act: CustomerStory.Act, at time: Int64, _ change: (inout Truth, Int64) -> Void) {
        let time = max(time, now)
        steps.append(CustomerStory.Step(.after(.milliseconds(time - now)), act))
        now = time
        truth.settle(by: now)
        change(&truth, time)
        truths.append(truth)
        times.append(now)
        // The customer uses up a third of what there is.
        if truth.granting(at: now) != nil { truth.credits.spend(at: now) }
    }

    private mutating func step() {
        if isRare, chance(22), somethingRare() { return }
        switch truth.standing {
        case .none: subscribe(at: now, first: true)
        case .pending: pending()
        case .active where truth.plan.billing == .prepaid: prepaid()
        case .active: active()
        case .grace: grace()
        case .hold: hold()
        case .paused: paused()
        case .ended: ended()
        case .over: break
        }
    }

    private mutating func subscribe(at time: Int64, first: Bool) {
        let isPrepaid = provider == .google && (first ? chance(15) : truth.plan.billing == .prepaid)
        if isPrepaid {
            let plan = CustomerStory.Plan.basicPrepaid
            return take(.subscribe(plan), at: time) { $0.buy(plan, at: time) }
        }
        if isRare, provider == .google, chance(15) {
            let plan = CustomerStory.Plan.proInstalments
            return take(.subscribe(plan), at: time) { $0.buy(plan, at: time) }
        }
        let plan: CustomerStory.Plan = chance(60) ? .basicMonthly : chance(60) ? .proMonthly : .proYearly
        let offer: CustomerStory.Offer? =
            !first || chance(50) ? nil : chance(60) || plan == .proYearly ? .freeWeek : .cheapMonth
        take(.subscribe(plan, offer: offer), at: time) {
            let isTrial = offer == .freeWeek
            let end = plan.end(from: time, isTrial ? .days(7) : nil)
            let paid = isTrial ? 0 : offer == .cheapMonth ? 1990 : plan.price
            let credits = isTrial ? CustomerStory.Plan.trialCredits : plan.credits
            $0.begin(plan, at: time, until: end, paid: paid, credits: credits, isTrial: isTrial)
            $0.willRenew = true
            $0.credits.give(credits, for: $0.payment, from: time)
        }
    }

    /// True if the provider has an act. The first purchase, renewal, failed charge, recovery, cancellation and end are taken without
    /// asking.
    private func has(_ act: CustomerStory.Act) -> Bool {
        guard act.absence(at: provider) == nil else { return false }
        if provider == .revenuecat { return act.absence(at: isOfGooglePlayRelay ? .google : .apple) == nil }
        return true
    }

    /// The possible fates of a paid subscription; each provider's own rules narrow them.
    private mutating func active() {
        let soonest = now + gap
        let end = truth.end
        let within = moment(from: soonest, to: max(soonest, end - gap))
        let isWithin = soonest < end - gap
        let hasBegun = truth.start <= now
        let start = truth.start
        // Stripe has one status for both.
        let isTrial = truth.granting(at: now).map { $0.isTrial || $0.isGiven } == true
        let changes =
            truth.resumesAt == nil && hasBegun
            && (provider != .stripe || (!isTrial && truth.willRenew)) && !isOfGooglePlayRelay
        let pick = Int.random(in: 0..<100, using: &random)
        guard isWithin else { return atEnd() }
        switch pick {
        // Google Play does not document if a planned change can be canceled, nor how it is listed then.
        case 0..<12 where truth.willRenew && (provider != .google || truth.next == nil):
            take(.cancel, at: within) { ($0.willRenew, $0.isMisunderstood) = (false, false) }
        case 0..<30 where !truth.willRenew && has(.uncancel):
            take(.uncancel, at: within) { $0.willRenew = true }
        case 12..<26 where truth.plan.product == "basic" && changes && has(.upgrade(.proMonthly)):
            if truth.next != nil && provider != .apple && !(isRare && provider == .google) { return atEnd() }
            let plan: CustomerStory.Plan = provider == .stripe || chance(60) ? .proMonthly : .proYearly
            change(.upgrade(plan), to: plan, at: within)
        case 26..<32 where truth.plan == .proMonthly && truth.next == nil && changes && has(.crossgrade(.proYearly)):
            let waits = provider == .apple || provider == .revenuecat
            if waits {
                guard truth.willRenew else { return atEnd() }
                take(.crossgrade(.proYearly), at: within) { $0.next = .proYearly }
            } else {
                change(.crossgrade(.proYearly), to: .proYearly, at: within)
            }
        case 32..<40
        where truth.plan.product == "pro" && truth.next == nil && truth.willRenew && truth.resumesAt == nil
            && has(.downgrade(.basicMonthly)):
            take(.downgrade(.basicMonthly), at: within) { $0.next = .basicMonthly }
        case 32..<46 where truth.next != nil && has(.withdrawDowngrade):
            take(.withdrawDowngrade, at: within) { $0.next = nil }
        case 46..<52
        where truth.willRenew && truth.next == nil && truth.resumesAt == nil && (provider != .stripe || !isTrial)
            && has(.extend(days: 1)):
            let days = Int64.random(in: 1...40, using: &random)
            take(.extend(days: days), at: within) { [provider] in
                $0.end += days * Self.day
                $0.spans[$0.spans.count - 1].end = $0.end
                if provider == .stripe { $0.spans[$0.spans.count - 1].isGiven = true }
            }
        case 52..<58
        where truth.willRenew && truth.next == nil && truth.resumesAt == nil
            && has(.raisePrice(to: 1, needsConsent: false)):
            let price = truth.plan.price + 1000
            let needsConsent = has(.raisePrice(to: 1, needsConsent: true)) && chance(60)
            take(.raisePrice(to: price, needsConsent: needsConsent), at: within) { $0.nextPrice = price }
            guard needsConsent else { return }
            let soonest = now + gap
            guard soonest < end - gap else { return }
            if chance(60) {
                take(.acceptPrice, at: moment(from: soonest, to: end - gap))
            } else {
                take(.expire(.priceDeclined), at: moment(from: end, to: end + 600_000)) {
                    ($0.standing, $0.willRenew) = (.ended, false)
                }
            }
        case 58..<64 where has(.refund(.latest)):
            refund(at: within)
        case 64..<68
        where has(.refund(.previous)) && provider != .revenuecat && truth.itemsSince == 0
            && truth.payments.suffix(2).filter { $0 > 0 }.count == 2:
            // Of an earlier period, unless the current one was charged ahead: then the earlier one runs.
            guard hasBegun else { return }
            take(.refund(.previous), at: within) { [provider] in
                $0.payments[$0.payments.count - 2] = 0
                $0.credits.takeBack($0.payment - 1, isNet: provider == .stripe)
            }
            if provider == .apple || (isRare && provider == .stripe), chance(40), now + 2 * gap < end {
                take(.reverseRefund, at: moment(from: now + gap, to: end - gap)) { $0.credits.giveBack() }
            }
        case 68..<70
        where provider == .stripe && truth.paid > 0 && hasBegun && truth.itemsSince < 2 && !truth.isPartlyRefunded:
            // Of several parts of one payment, a state keeps the last.
            take(.refund(.latest, .half), at: within) {
                $0.isPartlyRefunded = true
                let cents = Int128($0.charged / 10)
                $0.credits.takeBack($0.payment, cents / 2, of: cents, isNet: true)
            }
        case 70..<74 where truth.willRenew && truth.next == nil && truth.resumesAt == nil && has(.pause) && hasBegun:
            let days = Int64.random(in: 7...60, using: &random)
            take(.schedulePause(.seconds(days * 86_400)), at: within) { $0.resumesAt = $0.end + days * Self.day }
            if isRare, provider != .stripe, chance(50) { return unpaused() }
            take(.pause, at: end) { $0.standing = .paused }
        case 74..<78 where has(.shareWithFamily) && truth.shared == nil && hasBegun && truth.itemsSince == 0:
            take(.shareWithFamily, at: within) {
                $0.shared = .init(start: start, end: $0.end, plan: $0.plan, paid: $0.paid)
            }
        case 74..<82 where truth.shared != nil:
            take(.stopSharing, at: within) { $0.shared = nil }
        case 82..<84 where has(.requestRefund):
            take(.requestRefund, at: within)
        case 84..<90 where truth.willRenew && has(.renewEarly) && hasBegun && truth.resumesAt == nil:
            let time = end - moment(from: gap, to: 22 * Self.hour)
            guard time > soonest else { return }
            take(.renewEarly, at: time) { $0.renew(from: end, at: $1) }
        case 90..<94
        where truth.willRenew && (provider != .google || truth.next == nil) && has(.renewAfterCancel)
            && truth.resumesAt == nil:
            take(.cancel, at: end - Self.hour) { $0.willRenew = false }
            take(.renewAfterCancel, at: end) { [provider] in
                $0.renew(from: end, at: $1)
                // A relay takes a renewal for a change of mind.
                $0.isMisunderstood = provider == .revenuecat
            }
        default:
            atEnd()
        }
    }

    private mutating func prepaid() {
        let (soonest, end) = (now + gap, truth.end)
        if isRare, soonest < end - gap, chance(15) {
            // Paid in advance no more.
            return change(.upgrade(.proMonthly), to: .proMonthly, at: moment(from: soonest, to: end - gap))
        }
        if soonest < end, chance(60) {
            let plan = truth.plan
            take(.topUp, at: moment(from: soonest, to: end - 1000)) {
                $0.begin(plan, at: $1, until: plan.end(from: end), paid: plan.price)
                $0.credits.give(plan.credits, for: $0.payment, from: $1)
            }
        } else if soonest < end, chance(20) {
            refund(at: moment(from: soonest, to: end - 1000))
        } else {
            take(.expire(.ranOut), at: moment(from: end, to: end + 3 * Self.hour)) { $0.standing = .ended }
        }
    }

    /// The used part of the old period has been paid for; the rest of its price is set off.
    private mutating func change(_ act: CustomerStory.Act, to plan: CustomerStory.Plan, at time: Int64) {
        take(act, at: time) { [provider] in
            $0.credits.carryOver()
            // A period that was charged ahead never begins.
            if $0.start > time {
                $0.spans.removeLast()
                $0.outstanding = []
            }
            let current = $0.spans[$0.spans.count - 1]
            let (length, unused) = (Int128(current.end - current.start), Int128(current.end - time))
            let paid = $0.granting(at: time)?.isTrial == true ? 0 : current.paid
            if provider == .stripe { return $0.changeAtStripe(to: plan, at: time, unused, of: length) }
            let credits: Int64
            if provider == .google {
                credits = plan.credits
            } else {
                let due = max(0, Int128(plan.price) * length - Int128(paid) * unused)
                credits = Int64(Int128(plan.credits) * due / (Int128(plan.price) * length))
            }
            let earlier = $0.payment
            $0.begin(plan, at: time, until: plan.end(from: time), paid: plan.price, credits: credits)
            $0.credits.give(credits, for: $0.payment, from: time)
            // Nothing was paid for a trial that could be set off.
            if provider != .google, paid > 0 { $0.credits.setOff(earlier, unused, of: length, against: $0.payment) }
            $0.willRenew = true
        }
    }

    private mutating func refund(at time: Int64) {
        // If a period that was charged ahead on Google Play is refunded, the purchase ends, and the one before is not
        // reported.
        guard truth.paid > 0, truth.start <= time || provider != .google, !truth.wasRestored, truth.itemsSince < 2
        else {
            return
        }
        // As it is at the refund: a period that was charged ahead may have begun by then.
        var before = truth
        let isAhead = truth.start > time
        take(.refund(.latest), at: time) { [provider] in
            before = $0
            ($0.standing, $0.willRenew) = (.ended, false)
            if isAhead, provider != .google {
                // The period that runs was paid for by itself.
                $0.spans.removeLast()
                $0.outstanding = []
            } else {
                $0.cut(at: time + (provider == .stripe ? 60_000 : 0))
                $0.outstanding = []
                $0.credits.takeBack($0.payment, isNet: provider == .stripe)
                $0.credits.lapse()
            }
            $0.payments[$0.payments.count - 1] = 0
            $0.isMisunderstood = provider == .revenuecat
        }
        // The subscription was ended beside the refund, and stays so.
        if isRare, provider == .stripe, chance(40) { take(.reverseRefund, at: now + gap) }
        guard provider == .apple || (provider == .revenuecat && !isOfGooglePlayRelay), !isAhead, chance(40) else {
            return
        }
        let soonest = now + gap
        take(.reverseRefund, at: moment(from: soonest, to: soonest + 10 * Self.day)) {
            $0.standing = .active
            $0.wasRestored = true
            $0.spans = before.spans
            $0.credits = before.credits
        }
    }

    private mutating func atEnd() {
        let end = max(truth.end, now)
        let soon = chance(50) ? end : moment(from: end, to: end + 3 * Self.hour)
        guard truth.willRenew else {
            return take(.expire(.customer), at: soon) { $0.standing = .ended }
        }
        guard truth.paid == 0 && !isRare || !chance(30) else {
            let days: Int64? = chance(60) ? (chance(50) ? 3 : 16) : nil
            // How Google Play lists a planned change that is not paid for is not documented.
            let isKnown = provider == .apple || (isRare && provider != .google && !isOfGooglePlayRelay)
            if !isKnown, truth.next != nil { return renewOnTime(soon, end) }
            return take(.failCharge(grace: days.map { .seconds($0 * 86_400) }), at: end) { [provider] in
                $0.standing = days == nil ? .hold : .grace
                $0.graceEnd = days.map { end + $0 * Self.day }
                if provider == .stripe {
                    // Stripe's subscription goes on until Stripe gives up.
                    let plan = $0.next ?? $0.plan
                    $0.spans.append(.init(start: end, end: plan.end(from: end), plan: plan, paid: 0))
                } else if let until = $0.graceEnd {
                    $0.spans[$0.spans.count - 1].end = until
                }
                if days == nil, provider != .stripe { $0.credits.lapse() }
            }
        }
        renewOnTime(soon, end)
    }

    private mutating func renewOnTime(_ time: Int64, _ end: Int64) {
        let start = truth.end
        take(.renew, at: time) { $0.renew(from: start, at: $1) }
    }

    private mutating func grace() {
        let soonest = now + gap
        guard let graceEnd = truth.graceEnd else { return }
        if provider == .apple, truth.paid > 0, truth.itemsSince < 2, chance(10) {
            let time = moment(from: soonest, to: graceEnd - gap)
            take(.refund(.latest), at: time) {
                $0.credits.takeBack($0.payment, isNet: false)
                $0.credits.lapse()
                $0.cut(at: time)
                $0.standing = .over
            }
        } else if chance(60) {
            let end = truth.end
            take(.recover, at: moment(from: soonest, to: graceEnd - gap)) { $0.renew(from: end, at: $1) }
        } else if CustomerStory.Act.endGrace.absence(at: provider) == nil, chance(60) {
            take(.endGrace, at: graceEnd) {
                $0.standing = .hold
                $0.cut(at: graceEnd)
                $0.credits.lapse()
            }
        } else {
            take(.expire(.billing), at: graceEnd) {
                ($0.standing, $0.willRenew) = (.ended, false)
                $0.cut(at: graceEnd)
                $0.credits.lapse()
            }
        }
    }

    private mutating func hold() {
        let soonest = now + gap
        let end = truth.end
        // Stripe's next period is under way, and is what is paid for late.
        let latest = provider == .stripe ? truth.plan.end(from: end) - Self.day : .max
        let time = moment(from: soonest, to: min(soonest + 20 * Self.day, latest))
        if chance(50) {
            take(.recover, at: time) { [provider] truth, now in
                truth.renew(from: provider == .stripe ? end : time, at: now)
            }
        } else {
            take(.expire(.billing), at: time) {
                ($0.standing, $0.willRenew) = (.ended, false)
                $0.cut(at: time)
                $0.credits.lapse()
            }
        }
    }

    /// The customer thinks better of a pause.
    private mutating func unpaused() {
        let (soonest, end) = (now + gap, truth.end)
        guard soonest < end - gap else { return take(.pause, at: end) { $0.standing = .paused } }
        let time = moment(from: soonest, to: end - gap)
        if provider == .google, truth.plan.product == "basic", truth.granting(at: now)?.isTrial != true, chance(40) {
            change(.upgrade(.proMonthly), to: .proMonthly, at: time)
        } else if chance(50) {
            take(.cancel, at: time) { ($0.willRenew, $0.isMisunderstood) = (false, false) }
            take(.expire(.customer), at: end) { $0.standing = .ended }
        } else {
            renewOnTime(end, end)
        }
    }

    private mutating func paused() {
        let soonest = now + gap
        guard let resumesAt = truth.resumesAt else { return }
        if isRare, provider == .google, truth.plan.product == "basic", chance(30) {
            let time = moment(from: soonest, to: resumesAt)
            return take(.upgrade(.proMonthly), at: time) { $0.buy(.proMonthly, at: time) }
        }
        if isRare, chance(20) {
            return take(.expire(.customer), at: moment(from: soonest, to: resumesAt)) {
                ($0.standing, $0.willRenew) = (.ended, false)
            }
        }
        if isRare, provider != .stripe, chance(25) {
            return take(.failCharge(grace: nil), at: resumesAt) { ($0.standing, $0.resumesAt) = (.hold, nil) }
        }
        let time = chance(50) ? resumesAt : moment(from: soonest, to: resumesAt)
        take(.resume, at: time) { $0.renew(from: time, at: $1) }
    }

    private mutating func ended() {
        let soonest = now + gap
        let latest = truth.spans.map(\.end).max() ?? soonest
        // A customer who still has access by a period that was refunded ahead waits for its end.
        let first = max(soonest, latest)
        subscribe(at: chance(30) ? first : moment(from: first, to: first + 40 * Self.day), first: false)
    }
}

extension Truth {
    /// Stripe charges the difference once the rest of the old price is set off, in whole cents.
    fileprivate mutating func changeAtStripe(
        to plan: CustomerStory.Plan,
        at time: Int64,
        _ unused: Int128,
        of length: Int128
    ) {
        let earlier = payment
        // A price change shows on the subscription at once, and is charged from the next period on. The invoice sets off the unused part
        // of that, whatever was paid.
        let setOff = Int128((nextPrice ?? price) / 10) * unused / length
        let cents = max(0, Int128(plan.price / 10) - setOff)
        let left = setOff * 10_000_000
        begin(plan, at: time, until: plan.end(from: time), paid: plan.price)
        charged = Int64(cents) * 10
        if cents > 0 {
            worth = cents * 10_000_000 + left
            payout = Int64(Int128(plan.credits) * cents * 10_000_000 / worth)
            credits.setOff(earlier, unused, of: length, against: payment)
        } else {
            // The set-off is worth more than the new product, so there is no payment to refund.
            (paid, payments[payments.count - 1], payout) = (0, 0, 0)
            let whole = max(1, left * length)
            credits.takeBack(earlier, max(0, left - worth) * unused, of: whole, isNet: false)
            credits.setOff(earlier, min(left, worth) * unused, of: whole, against: payment)
        }
        credits.give(payout, for: payment, from: time)
        willRenew = true
    }
}

// MARK: Rare acts

extension RandomWalk {
    /// True if something out of the ordinary happened.
    private mutating func somethingRare() -> Bool {
        if truth.standing == .none { return subscribePending() }
        let end: Int64 =
            switch truth.standing {
            case .active: truth.end - 4 * gap
            case .grace: (truth.graceEnd ?? 0) - 4 * gap
            case .hold: now + 6 * gap
            case .paused: (truth.resumesAt ?? 0) - 4 * gap
            case .ended: now + 40 * Self.day
            case .none, .pending, .over: 0
            }
        let time = moment(from: now + gap, to: min(end, now + 30 * Self.day))
        guard time <= end else { return false }
        let isActive = truth.standing == .active
        let isPaid = truth.paid > 0 && truth.start <= now && truth.itemsSince == 0
        let isTrial = truth.granting(at: now).map { $0.isTrial || $0.isGiven } == true
        let canChange =
            truth.plan == .proMonthly && truth.next == nil && truth.resumesAt == nil && truth.start <= now
            && (provider == .google || (truth.willRenew && !isTrial))
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<30 where has(.buy(.coins)): buyCoins(at: time)
        case 30..<45 where isActive && isPaid && (provider == .stripe || provider == .google): dispute(at: time)
        case 45..<60 where isActive && provider == .stripe:
            take(.expire(.customer), at: time) {
                ($0.standing, $0.willRenew) = (.ended, false)
                $0.cut(at: time)
                $0.credits.lapse()
            }
        // The lower level at once.
        case 60..<75 where isActive && canChange && (provider == .stripe || provider == .google):
            change(.upgrade(.basicMonthly), to: .basicMonthly, at: time)
        case 45..<60
        where truth.standing == .grace && truth.paid > 0 && truth.itemsSince < 2 && provider != .apple
            && has(.refund(.latest)):
            let isStripe = provider == .stripe
            take(.refund(.latest), at: time) {
                ($0.standing, $0.willRenew) = (.ended, false)
                $0.cut(at: time + (isStripe ? 60_000 : 0))
                $0.credits.takeBack($0.payment, isNet: isStripe)
                $0.credits.lapse()
                $0.payments[$0.payments.count - 1] = 0
            }
        case 60..<75
        where truth.standing == .grace && truth.plan.product == "basic" && truth.next == nil && provider != .stripe
            && !isOfGooglePlayRelay && has(.upgrade(.proMonthly)):
            // The period was over, and what was left of it with it.
            take(.upgrade(.proMonthly), at: time) { $0.buy(.proMonthly, at: time) }
        case 45..<75 where truth.standing == .hold && provider != .stripe && !isOfGooglePlayRelay:
            let plan = chance(50) ? CustomerStory.Plan.basicMonthly : .proMonthly
            take(.subscribe(plan), at: time) { $0.buy(plan, at: time) }
        case 75..<85 where truth.standing == .grace && truth.willRenew:
            guard let end = truth.graceEnd else { return false }
            take(.cancel, at: time) { $0.willRenew = false }
            if provider == .stripe, chance(50) { return true }
            take(.expire(.billing), at: end) {
                $0.standing = .ended
                $0.cut(at: end)
                $0.credits.lapse()
            }
        case 85..<92 where isActive && provider == .revenuecat && truth.shared == nil: take(.transfer, at: time)
        default: return false
        }
        return true
    }

    private mutating func subscribePending() -> Bool {
        guard provider == .google || provider == .stripe, chance(40) else { return false }
        let plan = chance(50) ? CustomerStory.Plan.basicMonthly : .proMonthly
        take(.subscribePending(plan), at: now) { ($0.standing, $0.plan) = (.pending, plan) }
        return true
    }

    private mutating func pending() {
        let plan = truth.plan
        let time = moment(from: now + gap, to: now + 20 * Self.hour)
        guard chance(70) else { return take(.abandonPayment, at: time) { $0.standing = .ended } }
        take(.completePayment, at: time) { $0.buy(plan, at: time) }
    }

    private mutating func buyCoins(at time: Int64) {
        // A relay may not know of more than one.
        let quantity = provider == .revenuecat ? 1 : Int64.random(in: 1...3, using: &random)
        let credits = quantity * Truth.coins
        let item = -1 - steps.count
        take(.buy(.coins, quantity: quantity), at: time) {
            $0.credits.buy(credits, for: item)
            $0.coinSales += 1
            $0.itemsSince = 2
        }
        guard chance(50) else { return }
        if provider == .stripe, chance(40) {
            take(.refund(.latest, .half), at: now + gap) {
                let cents = Int128(199 * quantity)
                $0.credits.takeBack(item, cents / 2, of: cents, isNet: true)
            }
            if chance(50) { take(.reverseRefund, at: now + gap) { $0.credits.giveBack() } }
            return
        }
        take(.refund(.latest), at: now + gap) {
            $0.credits.takeBack(item, isNet: true)
            $0.coinSales -= 1
        }
        if CustomerStory.Act.reverseRefund.absence(at: provider) == nil, !isOfGooglePlayRelay, chance(50) {
            take(.reverseRefund, at: now + gap) {
                $0.credits.giveBack()
                $0.coinSales += 1
            }
        }
    }

    private mutating func dispute(at time: Int64) {
        take(.disputeCharge, at: time)
        if provider == .stripe, chance(50) { return take(.winDispute, at: now + gap) }
        take(.loseDispute, at: now + gap) { [provider] in
            ($0.standing, $0.willRenew) = (.ended, false)
            $0.cut(at: $1 + (provider == .stripe ? 60_000 : 0))
            $0.outstanding = []
            $0.credits.takeBack($0.payment, isNet: provider == .stripe)
            $0.credits.lapse()
            $0.payments[$0.payments.count - 1] = 0
        }
    }
}
