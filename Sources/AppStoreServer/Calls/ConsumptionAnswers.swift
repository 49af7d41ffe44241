import AppleJWS
public import LifecycleEvents

/// Answers Apple's questions about refunds (`CONSUMPTION_REQUEST`) as your callback says. Apple waits twelve hours.
public struct ConsumptionAnswers: OwedAnswers {
    /// Your statement about a purchase, in the form that Apple takes for it.
    @nonexhaustive
    public enum Statement: Hashable, Sendable {
        /// For all purchases but those of Advanced Commerce.
        case standard(ConsumptionInformation)
        /// For purchases of Advanced Commerce.
        case advancedCommerce(AdvancedCommerceConsumption)
    }

    private let server: AppStoreServerClient
    private let statement: @Sendable (OwedAnswer) async -> Statement?

    init(_ server: AppStoreServerClient, _ statement: @escaping @Sendable (OwedAnswer) async -> Statement?) {
        (self.server, self.statement) = (server, statement)
    }

    /// True for a question about the client's app, in an environment that it asks.
    public func isOwed(_ answer: OwedAnswer) -> Bool {
        guard case .refundRequested = answer.event.event else { return false }
        return answer.event.store == .appStore && answer.event.app == server.configuration.bundleID
            && server.environment(answer.event.environment) != nil
    }

    /// Asks the callback, and sends its answer.
    ///
    /// - Throws: `DeliveryError` with `unavailable` or `denied`, or `malformed` if Apple refuses the answer.
    public func answer(_ owed: OwedAnswer) async throws(DeliveryError) {
        guard case .refundRequested(let request) = owed.event.event,
            let environment = server.environment(owed.event.environment),
            let statement = await statement(owed)
        else { return }
        do throws(AppStoreServerError) {
            try await send(statement, about: request.transaction.rawValue, to: environment)
        } catch {
            throw error.asDeliveryError("the answer about a refund")
        }
    }

    private func send(
        _ statement: Statement,
        about transaction: String,
        to environment: AppStoreServerClient.Environment
    ) async throws(AppStoreServerError) {
        switch statement {
        case .standard(let information):
            try await server.sendConsumption(
                information,
                ofTransaction: transaction,
                customerConsented: true,
                in: environment
            )
        case .advancedCommerce(let information):
            try await server.sendConsumption(
                information,
                ofTransaction: transaction,
                customerConsented: true,
                in: environment
            )
        }
    }
}

extension AppStoreServerClient {
    /// Answers Apple's questions about refunds, for a journal's `answer(with:)`. About a purchase of Advanced Commerce the same is said
    /// in version 1, the only form that Apple takes for it.
    ///
    /// - Parameter information: your statement about the purchase; nil, so that nothing is sent, if the customer did
    ///   not consent to sharing it, or if you have nothing to say.
    public func consumptionAnswers(
        _ information: @escaping @Sendable (OwedAnswer) async -> ConsumptionInformation?
    ) -> ConsumptionAnswers {
        ConsumptionAnswers(self) { owed in
            // Only the items of Advanced Commerce have an SKU each.
            await information(owed).map { owed.event.items == nil ? .standard($0) : .advancedCommerce(.init($0)) }
        }
    }

    /// Answers Apple's questions about refunds, also of Advanced Commerce purchases, for a journal's `answer(with:)`.
    ///
    /// - Parameter statement: your statement about the purchase; nil, so that nothing is sent, if the customer did not
    ///   consent to sharing it, or if you have nothing to say.
    public func refundAnswers(
        _ statement: @escaping @Sendable (OwedAnswer) async -> ConsumptionAnswers.Statement?
    ) -> ConsumptionAnswers {
        ConsumptionAnswers(self, statement)
    }

    /// The server of a store's world, if it may be asked.
    func environment(_ environment: StoreEnvironment) -> Environment? {
        configuration.environments.first { $0.signed.canonical == environment }
    }
}
