/// The credits of one customer, reckoned from payments in the order in which they are made.
struct CreditTruth: Hashable {
    /// The rest of a payment's credits.
    struct Lot: Hashable {
        var payment: Int
        var full: Int64
        var left: Int64
        var isLasting = false
        /// The part that the last refund took, which may be undone.
        var taken: Int64 = 0
    }

    /// A payment of which a part pays for an earlier payment's credits.
    struct SetOff: Hashable {
        var earlier: Int
        var part: Int128
        var whole: Int128
    }

    private(set) var lots: [Lot] = []
    private var setOffs: [Int: SetOff] = [:]
    private var spent: [Int64: Int64] = [:]

    /// The rest of the current period's credits.
    var left: Int64 { lots.reduce(0) { $0 + ($1.isLasting ? 0 : $1.left) } }
    /// Credits that were bought or carried over.
    var bought: Int64 { lots.reduce(0) { $0 + ($1.isLasting ? $1.left : 0) } }

    /// A period pays out. Credits used since it began are used of it, even if the payment came later.
    mutating func give(_ credits: Int64, for payment: Int, from start: Int64) {
        lapse()
        let used = spent.reduce(0) { $0 + ($1.key >= start ? $1.value : 0) }
        lots.append(Lot(payment: payment, full: credits, left: max(0, credits - used)))
    }

    /// A one-time purchase of credits.
    mutating func buy(_ credits: Int64, for payment: Int) {
        lots.append(Lot(payment: payment, full: credits, left: credits, isLasting: true))
    }

    mutating func lapse() { lots.removeAll { !$0.isLasting } }

    /// The rest stays when another product takes the place.
    mutating func carryOver() { for index in lots.indices { lots[index].isLasting = true } }

    /// A third of what there is.
    mutating func spend(at time: Int64) {
        for index in lots.indices where !lots[index].isLasting {
            spent[time, default: 0] += lots[index].left / 3
            lots[index].left -= lots[index].left / 3
        }
    }

    /// A payment that an earlier one was set off against pays for a part of what that gave.
    mutating func setOff(_ earlier: Int, _ part: Int128, of whole: Int128, against payment: Int) {
        setOffs[payment] = SetOff(earlier: earlier, part: part, whole: whole)
    }

    /// Money goes back, and takes what is left of what it paid for.
    mutating func takeBack(_ payment: Int, _ part: Int128 = 1, of whole: Int128 = 1, isNet: Bool) {
        for index in lots.indices { lots[index].taken = 0 }
        var (current, numerator, denominator) = (payment, Double(part), Double(whole))
        while true {
            for index in lots.indices where lots[index].payment == current {
                // Exact for what comes up: shares of some thousands of credits.
                let due = Int64((Double(lots[index].full) * numerator / denominator + 1e-7).rounded(.down))
                lots[index].taken = min(lots[index].left, due)
                lots[index].left -= lots[index].taken
            }
            guard !isNet, let before = setOffs[current] else { return }
            (current, numerator, denominator) = (
                before.earlier, numerator * Double(before.part), denominator * Double(before.whole)
            )
        }
    }

    /// The money comes again.
    mutating func giveBack() {
        for index in lots.indices {
            lots[index].left += lots[index].taken
            lots[index].taken = 0
        }
    }
}
