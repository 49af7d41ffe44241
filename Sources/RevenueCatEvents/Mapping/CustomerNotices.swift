import FoundationEssentials
import LifecycleEvents

extension Mapping {
    func transferred() -> Outcome {
        guard !event.transferredTo.isEmpty, event.timestamp != nil else {
            return .incomplete(event.timestamp == nil ? ["event_timestamp_ms"] : ["transferred_to"])
        }
        let transfer = LifecycleEvent.Transfer(
            from: event.transferredFrom.map { Account.Identifier($0, .appUserID) },
            to: event.transferredTo.map { Account.Identifier($0, .appUserID) }
        )
        return .event(
            EventDraft(id: notificationID(), event: .transferred(transfer)),
            about: EventSubject(
                account: Account(appUserIDs: event.transferredTo) ?? customer,
                facts: [.transfer(transfer)]
            )
        )
    }

    /// Under `alias` two ids turn out to be one customer. A move under `transfer` comes in a webhook of its own.
    func redeemed() -> Outcome {
        let ids =
            event.notes["redemption_outcome"] == "alias" ? event.redeemedBy + event.redeemedFrom : event.redeemedBy
        return notice(.accountsLinked, account: Account(appUserIDs: ids))
    }

    /// One event for each currency that changed.
    func virtualCurrency() -> Outcome {
        guard !event.adjustments.isEmpty else { return notice(.virtualCurrency) }
        let drafts = event.adjustments.enumerated().map { ordinal, adjustment in
            var facts = event.notes
            facts["currency"] = adjustment.currency
            facts["amount"] = String(adjustment.amount)
            facts["transaction"] = event.transactionID
            facts["product"] = event.productID
            return EventDraft(
                id: notificationID(ordinal: ordinal),
                event: .notice(.init(.virtualCurrency, facts: facts))
            )
        }
        return .events(drafts, about: EventSubject(account: customer))
    }

    func notice(
        _ kind: LifecycleEvent.Notice.Kind,
        about purchase: PurchaseStatement? = nil,
        account: Account? = nil
    ) -> Outcome {
        .event(
            EventDraft(
                id: purchase.map(notifiedID) ?? notificationID(),
                event: .notice(.init(kind, facts: kind == .test ? [:] : event.notes))
            ),
            about: purchase.map { subject($0) } ?? EventSubject(account: account ?? customer)
        )
    }
}
