import NormalizerTesting
import FoundationEssentials
import Testing

@testable import Normalizer

/// A line of `TestVectors/state/stories.jsonl`.
struct Story: Decodable, Sendable, CustomTestStringConvertible {
    struct Expectation: Decodable, Sendable {
        @EventTime var at: Date
        /// How many of the events have arrived, in the given order; absent means all, in any order.
        var after: Int?
        var lineage: SubscriptionID?
        var account: String?
        var environment: StoreEnvironment?
        var granted: Bool
        var status: SubscriptionSnapshot.Status?
        var grantors: Int?
        var conflicts: Int?
        var reason: AccessDecision.Denial.Reason?
        var product: ProductID?
        var willRenew: Bool?
        /// Present and null where there must be none.
        var nullable: [String: Date?]
        var pendingProduct: ProductID??

        private enum CodingKeys: String, CodingKey {
            case at, after, lineage, account, environment, granted, status, grantors, conflicts, reason, product
            case until, since
            case willRenew = "will_renew"
            case pendingProduct = "pending_product"
            case resumesAt = "resumes_at"
            case periodEnd = "period_end"
            case nextStart = "next_start"
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            _at = try container.decode(EventTime.self, forKey: .at)
            after = try container.decodeIfPresent(Int.self, forKey: .after)
            lineage = try container.decodeIfPresent(SubscriptionID.self, forKey: .lineage)
            account = try container.decodeIfPresent(String.self, forKey: .account)
            environment = try container.decodeIfPresent(StoreEnvironment.self, forKey: .environment)
            granted = try container.decode(Bool.self, forKey: .granted)
            status = try container.decodeIfPresent(SubscriptionSnapshot.Status.self, forKey: .status)
            grantors = try container.decodeIfPresent(Int.self, forKey: .grantors)
            conflicts = try container.decodeIfPresent(Int.self, forKey: .conflicts)
            reason = try container.decodeIfPresent(AccessDecision.Denial.Reason.self, forKey: .reason)
            product = try container.decodeIfPresent(ProductID.self, forKey: .product)
            willRenew = try container.decodeIfPresent(Bool.self, forKey: .willRenew)
            nullable = [:]
            for key in [CodingKeys.until, .since, .resumesAt, .periodEnd, .nextStart] where container.contains(key) {
                nullable[key.rawValue] = try container.decodeIfPresent(EventTime.self, forKey: key)?.wrappedValue
            }
            for key in [CodingKeys.until, .since, .resumesAt, .periodEnd, .nextStart]
            where container.contains(key) && nullable[key.rawValue] == nil {
                nullable[key.rawValue] = .some(nil)
            }
            if container.contains(.pendingProduct) {
                pendingProduct = .some(try container.decodeIfPresent(ProductID.self, forKey: .pendingProduct))
            }
        }
    }

    var id: String
    var note: String
    var orders: String
    var events: [NormalizedEvent]
    var expect: [Expectation]
    var kinds: [String]?
    var dispositions: [AppliedEvent.Disposition]?
    var contradictions: [Contradiction.Kind]?
    var distinctIDs: Int?
    var nextCheck: [String?]?

    private enum CodingKeys: String, CodingKey {
        case id, note, orders, events, expect, kinds, dispositions, contradictions
        case distinctIDs = "distinct_ids"
        case nextCheck = "next_check"
    }

    var testDescription: String { id }

    static let all: [Story] = {
        let path = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        guard let data = try? Data(contentsOf: URL(filePath: "/\(path)/TestVectors/state/stories.jsonl")) else {
            Issue.record("TestVectors/state/stories.jsonl cannot be read")
            return []
        }
        return data.split(separator: UInt8(ascii: "\n")).compactMap { line in
            do { return try JSONDecoder().decode(Story.self, from: Data(line)) } catch {
                Issue.record("a story cannot be read: \(error)")
                return nil
            }
        }
    }()
}

extension Story {
    /// The differences from an expectation; empty without any.
    func differences(_ expectation: Expectation, _ ledger: AccountLedger) -> [String] {
        var differences: [String] = []
        func compare<Value: Equatable>(_ name: String, _ actual: Value, with expected: Value) {
            if actual != expected { differences.append("\(name) is \(actual), not \(expected)") }
        }
        if let account = expectation.account {
            let environment = expectation.environment ?? .production
            let access = ledger.access(of: .init(account, .appUserID), in: environment, at: expectation.at)
            compare("access of \(account)", access.decision.isGranted, with: expectation.granted)
            if let grantors = expectation.grantors { compare("grantors", access.grantors.count, with: grantors) }
            if let conflicts = expectation.conflicts { compare("conflicts", access.conflicts.count, with: conflicts) }
            return differences
        }
        guard let lineage = expectation.lineage, let state = ledger[lineage] else { return ["no such lineage"] }
        let snapshot = state.snapshot(at: expectation.at)
        compare("access", snapshot.access.isGranted, with: expectation.granted)
        if let status = expectation.status { compare("status", snapshot.status, with: status) }
        if let product = expectation.product { compare("product", snapshot.product, with: product) }
        if let willRenew = expectation.willRenew { compare("will_renew", snapshot.willRenew, with: willRenew) }
        if let pending = expectation.pendingProduct { compare("pending", snapshot.pendingProduct, with: pending) }
        for (name, date) in expectation.nullable {
            let actual: Date? =
                switch (name, snapshot.access) {
                case ("until", .granted(let until, _)): until
                case ("since", .denied(let since, _)): since
                case ("resumes_at", _): snapshot.resumesAt
                case ("period_end", _): snapshot.period?.end
                case ("next_start", _): snapshot.nextPeriod?.start
                default: .distantPast
                }
            compare(name, actual, with: date)
        }
        if let reason = expectation.reason {
            if case .denied(_, let denial) = snapshot.access {
                compare("reason", denial.reason, with: reason)
            } else {
                differences.append("granted, not denied")
            }
        }
        return differences.map { "\($0) at \(expectation.at.rfc3339)" }
    }
}

extension LifecycleEvent {
    /// The kind with what tells it apart, as the stories write it.
    var label: String {
        switch self {
        case .started(let started): "started/\(started.origin.rawValue)"
        case .renewed(let renewed): "renewed/\(renewed.cause.name)"
        case .expired(let expired): "expired/\(expired.reason.rawValue)"
        case .billingIssue(let issue): issue.access == .suspended ? "billing_issue/suspended" : "billing_issue/grace"
        case .productChanged(let change): change.timing == .immediate ? "product_changed/immediate" : "product_changed"
        case .refunded(let refund):
            switch refund.affectsCurrentPeriod {
            case true?: "refunded/current"
            case false?: "refunded/past"
            case nil: "refunded"
            }
        default: kind.rawValue
        }
    }
}

@Suite("Stories of one or more lineages")
struct StateStories {
    @Test("in the given order", arguments: Story.all)
    func givenOrder(story: Story) {
        var ledger = AccountLedger()
        var appliedEvents: [AppliedEvent] = []
        for (index, event) in story.events.enumerated() {
            appliedEvents.append(ledger.apply(event))
            for expectation in story.expect where expectation.after == index + 1 {
                #expect(story.differences(expectation, ledger) == [], "after \(index + 1) events")
            }
        }
        for expectation in story.expect where expectation.after == nil {
            #expect(story.differences(expectation, ledger) == [])
        }
        if let kinds = story.kinds { #expect(appliedEvents.map(\.event.event.label) == kinds) }
        if let dispositions = story.dispositions { #expect(appliedEvents.map(\.disposition) == dispositions) }
        if let nextCheck = story.nextCheck {
            #expect(appliedEvents.map { $0.nextCheckAt?.rfc3339 } == nextCheck)
        }
        if let contradictions = story.contradictions {
            #expect(
                ledger.states.flatMap { ledger.contradictions(of: $0) }.map(\.kind.rawValue).sorted()
                    == contradictions.map(\.rawValue).sorted()
            )
        }
        let ids = Set(story.events.map(\.id))
        #expect(ids.count == story.distinctIDs ?? story.events.count)
    }

    @Test("in every order, with every event twice", arguments: Story.all)
    func anyOrder(story: Story) {
        let final = story.expect.filter { $0.after == nil }
        let reference = AccountLedger(applying: story.events)
        for order in story.events.orders(seed: 1) {
            let ledger = AccountLedger(applying: order)
            #expect(ledger == reference, "\(order.map(\.kind))")
            for expectation in final {
                let differences = story.differences(expectation, ledger)
                if !differences.isEmpty { Issue.record("\(differences), in the order \(order.map(\.kind))") }
            }
            if ledger != reference { return }
        }
    }

    @Test("a second delivery of everything is known, and changes nothing", arguments: Story.all)
    func redelivery(story: Story) {
        var ledger = AccountLedger(applying: story.events)
        let reference = ledger
        for event in story.events {
            let disposition = ledger.apply(event).disposition
            switch event.event {
            case .notice: break
            default: #expect(disposition != .applied, "\(event.kind)")
            }
        }
        #expect(ledger == reference)
    }

    @Test("a state survives being written and read", arguments: Story.all)
    func codable(story: Story) throws {
        for state in AccountLedger(applying: story.events).states {
            let bytes = try CanonicalJSON.bytes(state)
            let read = try CanonicalJSON.value(SubscriptionState.self, from: bytes)
            #expect(read == state)
            #expect(try CanonicalJSON.bytes(read) == bytes)
        }
    }

    @Test("states kept apart join into the state that saw everything", arguments: Story.all)
    func joinOfParts(story: Story) {
        let reference = AccountLedger(applying: story.events)
        for split in 0...story.events.count {
            var left = AccountLedger(applying: story.events[..<split])
            var right = AccountLedger(applying: story.events[split...])
            let first = left
            left.merge(right)
            right.merge(first)
            #expect(left == reference)
            #expect(right == reference)
            left.merge(left)
            #expect(left == reference)
        }
    }

    @Test("every decision is explained by statements of the story", arguments: Story.all)
    func explained(story: Story) {
        let ledger = AccountLedger(applying: story.events)
        let known = Set(story.events.map { Citation($0) })
        for expectation in story.expect {
            for state in ledger.states {
                let explanation = state.explain(at: expectation.at)
                #expect(explanation.grounds.allSatisfy { known.contains($0.by) })
                if case .denied(_, let denial) = explanation.decision, denial.reason == .never { continue }
                #expect(!explanation.grounds.isEmpty)
                #expect(explanation.grounds.count <= 3)
            }
        }
    }

    @Test("identities follow their documented derivation", arguments: Story.all)
    func identities(story: Story) throws {
        for event in story.events {
            guard let lineage = event.subscription, let notification = event.origin.notificationID else { continue }
            let (transaction, product) = (event.transaction ?? "", event.product?.id)
            func ended(_ reason: LifecycleEvent.Expired.Reason) -> EventID {
                .ended(
                    lineage,
                    transaction: transaction,
                    product: product,
                    periodStart: event.period?.start,
                    reason: reason
                )
            }
            let expected: EventID
            switch event.event {
            case .started, .renewed: expected = .periodBegan(lineage, transaction: transaction, product: product)
            case .expired(let expired): expected = ended(expired.reason)
            case .paused: expected = ended(.paused)
            case .refunded: expected = .refunded(lineage, refund: transaction.rawValue)
            case .refundReversed: expected = .refundReversed(lineage, transaction: transaction)
            case .oneTimePurchased: expected = .purchased(lineage, transaction: transaction, product: product)
            case .extended(let extended):
                expected = .extended(lineage, transaction: transaction, product: product, to: extended.to)
            case .productChangeScheduled(let change):
                expected = .changeScheduled(lineage, from: change.from ?? "", to: change.to, at: event.period?.end)
            case .productChangeReverted(let change):
                expected = .changeReverted(lineage, product: change.to, at: event.period?.end)
            default: expected = .notified(lineage, by: event.provider, notification: notification)
            }
            #expect(event.id == expected, "\(event.kind)")
        }
    }
}

extension [NormalizedEvent] {
    /// Every permutation of up to six events, 200 shuffles of more; each followed by all events once more in another
    /// order.
    func orders(seed: UInt64, shuffles: Int = 200) -> [[NormalizedEvent]] {
        var random = SeededGenerator(seed: seed)
        let orders = count <= 6 ? permutations(of: self) : (0..<shuffles).map { _ in shuffled(using: &random) }
        return orders.map { $0 + shuffled(using: &random) }
    }
}
