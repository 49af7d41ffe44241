public import FoundationEssentials
public import LifecycleEvents

extension StripeAdapter {
    /// Stripe's list of events, for a journal's `backfill(from:)`; nil without ``Configuration/lookup``.
    ///
    /// - Parameter account: the connected account; nil for the account of the key.
    public func history(of account: String? = nil) -> StripeEventHistory? {
        setup.client.map { StripeEventHistory(self, $0, account: account) }
    }

    /// Looks up the Checkout session that a customer comes back from, and takes the answer through all steps.
    ///
    /// Identities are those of Stripe's own events, so the first to arrive is the news. A session that is not completed
    /// gives no event.
    ///
    /// - Parameters:
    ///   - checkoutSession: the session's id, which is unproven. The result names its owner.
    ///   - account: the connected account that it belongs to; nil for our own.
    ///   - receivedAt: the time of the look-up, limited by Stripe's own statement of its time.
    /// - Throws: `DeliveryError`, never authentic. `malformed` for an id of an impossible form, without a request, and
    ///   for an answer that cannot be read; `misdirected` if Stripe does not know it under our key, and for the other
    ///   mode or another account; `unavailable` if Stripe could not be asked; `denied` if it says that the key may not
    ///   read it. No error says anything about a purchase.
    public func receive(
        checkoutSession: String,
        account: String? = nil,
        receivedAt: Date
    ) async throws(DeliveryError) -> Normalization {
        try normalize(
            try await resolve(checkoutSession, of: .checkoutSession, account: account, receivedAt: receivedAt)
        )
    }

    /// Looks up a subscription, and takes the answer through all steps.
    ///
    /// Facts state what is true now. Past changes become the events that Stripe's own notifications would give, as far
    /// as the subscription and its latest invoice identify them.
    ///
    /// - Parameters:
    ///   - subscription: the subscription's id.
    ///   - account: the connected account that it belongs to; nil for our own.
    ///   - receivedAt: the time of the look-up, limited by Stripe's own statement of its time.
    /// - Throws: as ``receive(checkoutSession:account:receivedAt:)``.
    public func receive(
        subscription: String,
        account: String? = nil,
        receivedAt: Date
    ) async throws(DeliveryError) -> Normalization {
        try normalize(try await resolve(subscription, of: .subscription, account: account, receivedAt: receivedAt))
    }

    /// Asks Stripe about a subscription or a session of Checkout.
    ///
    /// - Throws: `DeliveryError` as ``receive(checkoutSession:account:receivedAt:)``.
    public func resolve(
        _ id: String,
        of kind: StripePurchase.Kind,
        account: String? = nil,
        receivedAt: Date
    ) async throws(DeliveryError) -> Authenticated<StripePurchase> {
        var purchase = try StripePurchase(kind, id, account: account == configuration.ownAccount ? nil : account)
        try checkAccount(of: .question(purchase))
        guard let client = setup.client else {
            throw DeliveryError(.unavailable, "no look-up is configured: set Configuration.lookup")
        }
        purchase.answers = try await answers(for: .question(purchase), by: client)
        guard StripeOccasion.question(purchase).isLive != nil else {
            throw DeliveryError(.malformed, "the answer does not say whether it is live")
        }
        try checkAddressee(of: .question(purchase))
        return Authenticated(
            purchase,
            receivedAt: receivedAt,
            channel: .refetch,
            evidence: Origin.Evidence(.tls),
            digest: BodyDigest(of: purchase.answers[LookupRequest.object]?.body ?? [])
        )
    }

    /// Maps the answers to canonical events.
    ///
    /// - Throws: `DeliveryError` with `malformed` if a date, amount or identifier is not of its documented form.
    public func normalize(_ resolved: Authenticated<StripePurchase>) throws(DeliveryError) -> Normalization {
        try Mapping(resolved.map { .question($0) }, for: self).normalization()
    }
}
