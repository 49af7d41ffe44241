// The steps by which the periods of a state are read, in their order. The first gathers what was stated of each.
extension PeriodTimeline {
    /// Reads what statements about something else say of periods: products side by side, a period named in passing, and a purchase that
    /// paid for one.
    mutating func applyStatementsInPassing(of state: SubscriptionState) {
        gatherCompanions()
        applyNamedPeriods(of: state)
        applyPurchases(of: state)
    }

    /// Ends each period by what was stated of it: its end, its refund, the want of its payment, a change before it began.
    mutating func applyOwnEnds(_ ends: [Register<Fact.PeriodEnd>], of state: SubscriptionState) {
        apply(ends, in: state)
        applyRefunds(of: state)
        applyUnpaidEnds(of: state)
        applyEarlyChanges()
    }

    /// Extends periods by the grace after a failed charge: that of the charge which is outstanding, else what is left of one that a later
    /// statement took back, and then that of earlier charges.
    mutating func applyGraces(of state: SubscriptionState) {
        for (lineage, registers) in state.registers.outstanding {
            if let billing = registers.charging { applyGrace(billing, lineage: lineage) }
        }
        if newestIndex.map({ periods[$0...].allSatisfy { $0.grace == nil } }) ?? false {
            for (lineage, registers) in state.registers.outstanding where registers.hadGrace {
                applyLapsedGrace(registers, lineage: lineage)
            }
        }
        for (lineage, registers) in state.registers.outstanding where registers.hadGrace {
            applyPastGraces(registers, lineage: lineage)
        }
    }

    /// Ends periods by what was stated of others: the end of their purchase, a product that took their place, a list without them.
    mutating func applyEndsByOthers(of state: SubscriptionState) {
        applyEndsOfPurchases()
        applyClosures(of: state)
        applyReplacements()
        applyRemovals()
    }

    /// Reads the items next to the main product, and has the main product end by itself.
    mutating func applyItems(of state: SubscriptionState) {
        if isWhole { gatherItems(of: state) }
        dateItemsBeside()
        applyEndsOfMainItems(of: state)
    }

    /// Reads the steps within periods: when access stopped and came back, and when the product changed.
    mutating func applyPast(of state: SubscriptionState) {
        applyInterruptions(of: state)
        applyRetries(of: state)
        applyWithdrawals(of: state)
        interruptItems()
        applySwitches(of: state)
    }
}
