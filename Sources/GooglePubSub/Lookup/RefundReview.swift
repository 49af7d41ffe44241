public import LifecycleEvents

/// Your view of a chargeback at Google Play
/// (<https://developers.google.com/android-publisher/api-ref/rest/v3/orders/reviewrefund>).
public struct RefundReview: Hashable, Sendable {
    /// Your wish to Google, from an open set.
    public struct Preference: OpenValue {
        /// Google's name.
        public let rawValue: String
        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Refuse.
        public static let decline: Preference = "DECLINE"
        /// Refund everything.
        public static let approve: Preference = "APPROVE"
        /// You have no preference.
        public static let neutral: Preference = "NEUTRAL"
    }

    /// Your wish to Google.
    public var preference: Preference
    /// True if the customer could try a sample, or was informed of what it does, before buying.
    public var sampleContentProvided: Bool
    /// How much was used, in thousandths of a percent: 0 to 100 000.
    public var consumptionMillipercent: Int?

    /// Describes your view.
    public init(_ preference: Preference, sampleContentProvided: Bool, consumptionMillipercent: Int? = nil) {
        self.preference = preference
        self.sampleContentProvided = sampleContentProvided
        self.consumptionMillipercent = consumptionMillipercent
    }

    private struct Body: Encodable {
        var pendingRefundToken: String
        var sampleContentProvided: Bool
        var refundPreference: String
        var consumptionPercentageMilliunits: Int?
    }

    /// - Returns: nil for a share outside of 0 to 100 000, and for a token that is none.
    func body(token: SecretBytes) -> [UInt8]? {
        guard consumptionMillipercent.map({ (0...100_000).contains($0) }) ?? true, !token.isBlank,
            token.bytes.count <= PlayDeveloperAPI.maximumTokenBytes,
            let text = String(validating: token.bytes, as: UTF8.self)
        else { return nil }
        return try? CanonicalJSON.bytes(
            Body(
                pendingRefundToken: text,
                sampleContentProvided: sampleContentProvided,
                refundPreference: preference.rawValue,
                consumptionPercentageMilliunits: consumptionMillipercent
            )
        )
    }
}

/// Answers Google's questions about chargebacks (`pendingRefundReviewNotification`) as your callback says. Google waits
/// 24 hours, and only the first answer counts.
///
/// An answer needs the token of the notification, which a journal keeps if its options have a `sealingKey`.
public struct PlayRefundReviews: OwedAnswers {
    private let adapter: GooglePlayAdapter
    private let api: PlayDeveloperAPI
    private let review: @Sendable (OwedAnswer) async -> RefundReview?

    init(
        _ adapter: GooglePlayAdapter,
        _ api: PlayDeveloperAPI,
        review: @escaping @Sendable (OwedAnswer) async -> RefundReview?
    ) {
        (self.adapter, self.api, self.review) = (adapter, api, review)
    }

    /// True for a question about a configured app.
    public func isOwed(_ answer: OwedAnswer) -> Bool {
        guard case .refundRequested = answer.event.event, let app = answer.event.app else { return false }
        return answer.event.store == .playStore && adapter.configuration.packageNames.contains(app)
    }

    /// Asks the callback, and sends its answer.
    ///
    /// - Throws: `DeliveryError` with `unavailable` or `denied`, or `malformed` if Google refuses the answer or its token
    ///   was not kept.
    public func answer(_ owed: OwedAnswer) async throws(DeliveryError) {
        guard case .refundRequested(let request) = owed.event.event, let app = owed.event.app,
            let review = await review(owed)
        else { return }
        guard let token = owed.token else {
            throw DeliveryError(.malformed, "the token of the refund review was not kept: set the journal's sealingKey")
        }
        let answer = await api.reviewRefund(
            ofOrder: request.transaction.rawValue,
            packageName: app,
            token: token,
            review
        )
        guard answer.outcome == .done || answer.outcome == .found else {
            throw answer.error(about: "the refund review")
        }
    }
}

extension GooglePlayAdapter {
    /// Answers Google's questions about chargebacks, for a journal's `answer(with:)`; nil if there is no API to ask.
    ///
    /// - Parameter review: your view; nil, so that nothing is sent, if you have none.
    public func refundReviews(
        _ review: @escaping @Sendable (OwedAnswer) async -> RefundReview?
    ) -> PlayRefundReviews? {
        api.map { PlayRefundReviews(self, $0, review: review) }
    }
}
