import FoundationEssentials
import LifecycleEvents

extension AppStoreServerSimulator {
    /// Knows of stories what the App Store knows when it has made notifications: these, and the purchases that they are about.
    ///
    /// - Parameter lost: the ids of notifications that never reached the backend.
    package mutating func stand(after made: [AppleSimulator.Notification], losing lost: Set<String>) {
        let made = made.sorted { $0.signedDate < $1.signedDate }
        sent = made.map { Sent($0, attempts: [lost.contains($0.notificationUUID) ? "NO_RESPONSE" : "SUCCESS"]) }
        (purchases, changes) = ([], [:])
        for notification in made {
            guard case .data(let data) = notification.content, let transaction = data.transactionInfo else { continue }
            take(transaction, data, isUpgrade: notification.subtype == "UPGRADE", at: notification.signedDate)
        }
    }

    private mutating func take(
        _ transaction: AppleSimulator.Transaction,
        _ data: AppleSimulator.PurchaseData,
        isUpgrade: Bool,
        at time: Date
    ) {
        let known = purchases.firstIndex { purchase in
            purchase.transactions.contains { $0.originalTransactionId == transaction.originalTransactionId }
        }
        // A member of the family is a customer of their own.
        let customer = transaction.appTransactionId ?? transaction.originalTransactionId
        var purchase = known.map { purchases[$0] } ?? Purchase([], customer: customer)
        if isUpgrade, !purchase.transactions.isEmpty {
            purchase.transactions[0].isUpgraded = true
            changes[purchase.transactions[0].transactionId] = time
        }
        if !purchase.transactions.contains(transaction) { changes[transaction.transactionId] = time }
        purchase.transactions.removeAll { $0.transactionId == transaction.transactionId }
        purchase.transactions.append(transaction)
        purchase.transactions.sort { ($0.purchaseDate, $0.transactionId) > ($1.purchaseDate, $1.transactionId) }
        purchase.renewalInfo = data.renewalInfo ?? purchase.renewalInfo
        purchase.status = data.status ?? purchase.status
        if let known { purchases[known] = purchase } else { purchases.append(purchase) }
    }
}
