public import FoundationEssentials

/// The purchases that a team has already when it starts to keep a journal, for a journal's `importPurchases(from:with:)`.
public protocol PurchaseList: Sendable {
    /// Tells this list from every other one.
    var name: String { get }

    /// Reads a page.
    ///
    /// - Parameters:
    ///   - position: ``PurchaseListPage/next`` of the page before; nil for the first.
    ///   - time: the present.
    /// - Throws: `DeliveryError` if the provider cannot be asked.
    func page(at position: String?, askedAt time: Date) async throws(DeliveryError) -> PurchaseListPage
}

/// Some of the purchases of a list.
public struct PurchaseListPage: Sendable {
    /// The purchases to ask about.
    public var questions: [LineageQuestion]
    /// Purchases that the list has and cannot name as their notifications do, so that nothing can be asked about them.
    public var unnamed: [SubscriptionID] = []
    /// Where the next page begins; nil behind the last.
    public var next: String?

    /// Makes a page.
    public init(_ questions: [LineageQuestion], next: String? = nil) {
        self.questions = questions
        self.next = next
    }
}

/// Purchases that the host lists itself, such as transaction ids and purchase tokens out of its old database.
public struct ListedPurchases: PurchaseList {
    /// Tells this list from every other one. Give another list another name.
    public let name: String
    private let questions: [LineageQuestion]

    /// Lists purchases. They must be the same, in the same order, when an import continues.
    public init(_ name: String, _ questions: [LineageQuestion]) {
        (self.name, self.questions) = (name, questions)
    }

    /// Reads fifty purchases.
    public func page(at position: String?, askedAt time: Date) async throws(DeliveryError) -> PurchaseListPage {
        let first = min(max(position.flatMap { Int($0) } ?? 0, 0), questions.count)
        let last = min(first + 50, questions.count)
        let page = questions[first..<last].map { question in
            var question = question
            question.askedAt = time
            return question
        }
        return PurchaseListPage(page, next: last < questions.count ? "\(last)" : nil)
    }
}
