public import FoundationEssentials

/// Asks a provider for the present state of a purchase. It heals a loss that the provider's history does not, such as a
/// notification that was never sent.
///
/// Facts and ids of an answer are those of the webhook. A journal's `reconcile(with:)` asks about every purchase that is due.
public protocol LineageQuestions: Sendable {
    /// The provider that it asks.
    var provider: Provider { get }
    /// The shortest time between two questions, so that background questions leave most of the provider's rate to live
    /// traffic.
    var pace: Duration { get }

    /// Asks about one purchase.
    ///
    /// - Throws: `DeliveryError` with `unavailable` if the provider cannot be asked now and `denied` if it refuses the
    ///   credentials: neither says anything about the purchase. Any other code is about this one question.
    func ask(_ question: LineageQuestion) async throws(DeliveryError) -> LineageAnswer
}

/// A purchase to ask about, with everything by which a provider may know it.
public struct LineageQuestion: Hashable, Sendable {
    /// The names of the purchase; the one to ask by comes first.
    public var names: [SubscriptionID]
    /// The accounts that own it.
    public var accounts: [Account.Identifier] = []
    /// The product in the store's words, with its base plan where the store has one.
    public var product: ProductID?
    /// The products that it had or was to have, by which a provider may show it that does not name it.
    package var products: Set<ProductID> = []
    /// The transactions that are known of it.
    package var transactions: Set<TransactionID> = []
    /// When its known periods began.
    package var starts: [Date] = []
    /// The other subscriptions of its accounts in the store, as questions: an answer about a customer may be about one of them.
    package var others: [LineageQuestion] = []
    /// True for a subscription, false for something bought once.
    public var isSubscription = true
    /// When the period began in which the purchase was first heard of. Later ones may be lost, and earlier ones are no news.
    public var since: Date?
    /// True if the name is any transaction of the purchase, so that only the store itself can tell which purchase it is of.
    public var namesOnlyTransaction = false
    /// How the store has to be asked, if a name does not suffice.
    public var handle: PurchaseHandle?
    /// The present.
    public var askedAt: Date

    /// Asks about a lineage.
    public init(_ lineage: SubscriptionID, askedAt: Date) {
        names = [lineage]
        self.askedAt = askedAt
    }

    /// The first name that a store has given, or a relay for it.
    package func name(in stores: PurchaseStore...) -> SubscriptionID? { names.first { stores.contains($0.store) } }
}

/// The answer of a provider to a question about a purchase.
@nonexhaustive
public enum LineageAnswer: Hashable, Sendable {
    /// Its present state. A fact that an answer leaves out is over.
    case stated([Normalization])
    /// A part of its state, and why the rest of the answer cannot be used.
    case incomplete([Normalization], because: DeliveryError.Code)
    /// The provider does not know the purchase, no longer keeps it, or cannot be asked by the question's name. That
    /// says nothing about access.
    case unknown
}

/// The reference that a store needs for a question about a purchase, if the lineage's name is only its digest.
///
/// Anyone who holds it and may ask the store can look the purchase up, so it prints as `<redacted>`. A journal stores
/// it sealed.
public struct PurchaseHandle: Hashable, Sendable, Codable {
    /// The lineage.
    public var lineage: SubscriptionID
    /// The app, in the store's words.
    public var app: String
    /// The kind of purchase, in the adapter's words.
    public var kind: String
    /// The reference.
    public var token: String

    /// Makes a handle.
    public init(_ lineage: SubscriptionID, app: String, kind: String, token: String) {
        self.lineage = lineage
        self.app = app
        self.kind = kind
        self.token = token
    }
}

extension PurchaseHandle: Redacted {
    /// `<redacted>`
    public var description: String { "<redacted>" }
}
