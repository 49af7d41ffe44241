import LifecycleEvents
import WireJSON

extension Mapping {
    /// True if a dispute that was won may have been lost before. If the event does not say, the state knows.
    private func mayHaveBeenLost(_ before: String?) -> Bool {
        before.map { $0 == "lost" || $0.hasPrefix("appeal_") } ?? true
    }

    /// The facts that each notification of a dispute states. For one that was won and never lost, they undo nothing.
    private func facts(_ dispute: DisputeObject, before: String?, _ paidBy: PaidBy) -> [Fact] {
        switch dispute.status {
        case "won" where mayHaveBeenLost(before):
            // Won on appeal: the bank returned the money.
            return [.refund(refundState(nil, of: dispute.id, at: created, paidBy, endsAccess: true))] + paidBy.names
        case "lost":
            // The bank took the money back, so the purchase is not paid.
            let scope = dispute.money.map { LifecycleEvent.Refund.Scope.amount($0) } ?? .full
            return [.refund(refundState(scope, of: dispute.id, at: created, paidBy, endsAccess: true))] + paidBy.names
        default:
            return paidBy.names
        }
    }

    /// Money of a dispute that moved. Another event reports the stage.
    func disputeFunds(_ dispute: DisputeObject, _ payment: Payment) -> Outcome {
        guard let paidBy = paidBy(payment) else { return .none(.reportedElsewhere) }
        return .none(.reportedElsewhere, lineage: paidBy.lineage, facts: facts(dispute, before: nil, paidBy))
    }

    func dispute(_ dispute: DisputeObject, _ payment: Payment) throws(JSONError) -> Outcome {
        guard let paidBy = paidBy(payment) else { return .none(.unchanged) }
        let before = try statusBefore()
        let facts = facts(dispute, before: before ?? nil, paidBy)
        let isInquiry = dispute.status.hasPrefix("warning_")
        let closing: LifecycleEvent.Chargeback.Stage? =
            switch dispute.status {
            case "lost": .lost
            case "won", "warning_closed": .won
            case "prevented": .prevented
            case "charge_refunded": .refunded
            default: nil
            }
        let stage: LifecycleEvent.Chargeback.Stage
        switch (notification?.canonicalType, dispute.status) {
        case ("charge.dispute.closed"?, _):
            stage = closing ?? .unknown
        case ("charge.dispute.created"?, "prevented"):
            stage = .prevented
        case ("charge.dispute.created"?, _):
            stage = isInquiry ? .warning : .opened
        default:
            // A decision, such as one on appeal; or an inquiry that grew into a dispute. All other updates are evidence and deadlines.
            let changed = before ?? nil
            if let closing, notification?.previous == nil || changed != nil {
                stage = closing
            } else if let changed, changed.hasPrefix("warning_"), !isInquiry, closing == nil {
                stage = .opened
            } else {
                return .none(.unchanged, lineage: paidBy.lineage, facts: facts)
            }
        }
        var subject = subject(paidBy)
        subject.facts = facts
        return .events([
            Draft(
                .chargeback(anyLineage, dispute: dispute.id, stage: stage),
                .chargeback(
                    LifecycleEvent.Chargeback(
                        stage: stage,
                        transaction: paidBy.transaction,
                        amount: dispute.money,
                        reason: dispute.reason,
                        dispute: dispute.id
                    )
                ),
                about: subject
            )
        ])
    }
}
