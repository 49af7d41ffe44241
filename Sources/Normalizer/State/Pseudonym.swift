import SignatureCore

/// A name in place of that of an erased account. It is made at random, matches no other, and leaves everything that others
/// have from the account as it is.
///
/// It can be stored where the account's name must not stand: it knows that name by a salted digest.
package struct Pseudonym: Hashable, Sendable, Codable {
    private let salt: String
    private let digest: String
    private let id: String

    /// Makes another name for an account each time.
    package init(for account: Account.Identifier) {
        salt = Self.randomDigits
        digest = Self.digest(of: account, with: salt)
        // A name that the app gives binds a purchase otherwise than one that a relay made.
        id = account.prefixOfMadeNames + "erased:" + Self.randomDigits
    }

    private static var randomDigits: String {
        (0..<2).map { _ in String(UInt64.random(in: .min ... .max), radix: 16) }.joined(separator: "-")
    }

    private static func digest(of account: Account.Identifier, with salt: String) -> String {
        SHA256.hash(Array((salt + account.lookupKey).utf8).span).hexadecimal
    }

    /// True if an identifier is a name of the account, whatever source it comes from.
    package func hides(_ identifier: Account.Identifier) -> Bool {
        Self.digest(of: identifier, with: salt) == digest
    }

    /// True if an identifier is the name that stands in place of the account's.
    package func replaced(_ identifier: Account.Identifier) -> Bool { identifier.id == id }

    /// The name that stands in place of an account's that a source gave.
    package func name(from source: Account.Source) -> Account.Identifier { Account.Identifier(id, source) }

    /// The identifier, or its place-holder.
    package func replacing(_ identifier: Account.Identifier) -> Account.Identifier {
        hides(identifier) ? name(from: identifier.source) : identifier
    }

    /// The transfer without the account's name.
    package func replacing(_ transfer: AccountTransfer) -> AccountTransfer {
        var transfer = transfer
        transfer.transfer = replacing(transfer.transfer)
        return transfer
    }

    /// The line without the account's name.
    package func replacing(_ line: LogLine) -> LogLine {
        switch line {
        case .event(let event): .event(replacing(event))
        case .statement(let statement): .statement(replacing(statement))
        }
    }

    /// The result without the account's name.
    package func replacing(_ result: Normalization) -> Normalization {
        var result = result
        result.events = result.events.map(replacing)
        if let statement = result.noChange?.statement { result.noChange?.statement = replacing(statement) }
        result.furtherStatements = result.furtherStatements.map(replacing)
        return result
    }

    /// The event without the account's name.
    package func replacing(_ applied: AppliedEvent) -> AppliedEvent {
        var applied = applied
        applied.event = replacing(applied.event)
        applied.transfer = applied.transfer.map(replacing)
        return applied
    }

    /// The state without the account's name: the state that the lines without it give.
    package func replacing(_ state: SubscriptionState) -> SubscriptionState {
        var replaced = state
        replaced.claims = [:]
        for (identifier, var claim) in state.claims {
            claim.aliases = Set(claim.aliases.map(replacing))
            let identifier = replacing(identifier)
            if replaced.claims[identifier]?.merge(claim) == nil { replaced.claims[identifier] = claim }
        }
        replaced.claims.settleAliases()
        replaced.transfer = state.transfer?.mapped(replacing)
        return replaced
    }

    private func replacing(_ event: NormalizedEvent) -> NormalizedEvent {
        var event = event
        event.account = event.account.map(replacing)
        if case .transferred(let transfer) = event.event { event.event = .transferred(replacing(transfer)) }
        event.facts = event.facts.map(replacing)
        return event
    }

    private func replacing(_ statement: StoreStatement) -> StoreStatement {
        var statement = statement
        statement.facts = statement.facts.map(replacing)
        return statement
    }

    private func replacing(_ fact: Fact) -> Fact {
        switch fact {
        case .owner(let account): .owner(replacing(account))
        case .transfer(let transfer): .transfer(replacing(transfer))
        default: fact
        }
    }

    private func replacing(_ account: Account) -> Account {
        let primary = replacing(Account.Identifier(account.id, account.source))
        return Account(primary.id, primary.source, aliases: account.aliases.map(replacing))
    }

    private func replacing(_ transfer: LifecycleEvent.Transfer) -> LifecycleEvent.Transfer {
        LifecycleEvent.Transfer(
            from: transfer.from.map(replacing),
            to: transfer.to.map(replacing),
            at: transfer.at
        )
    }
}
