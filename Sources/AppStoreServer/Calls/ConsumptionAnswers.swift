import AppleJWS
public import LifecycleEvents

/// Answers Apple's questions about refunds (`CONSUMPTION_REQUEST`) as your callback says. Apple waits twelve hours.
public struct ConsumptionAnswers: OwedAnswers {
    private let server: AppStoreServer
    private let information: @Sendable (OwedAnswer) async -> ConsumptionInformation?

    init(
        _ server: AppStoreServer,
        _ information: @escaping @Sendable (OwedAnswer) async -> ConsumptionInformation?
    ) {
        (self.server, self.information) = (server, information)
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
            let information = await information(owed)
        else { return }
        do throws(AppStoreServerError) {
            try await server.sendConsumption(
                information,
                ofTransaction: request.transaction,
                customerConsented: true,
                in: environment
            )
        } catch {
            throw error.asDeliveryError("the answer about a refund")
        }
    }
}

extension AppStoreServer {
    /// Answers Apple's questions about refunds, for a journal's `answer(with:)`.
    ///
    /// - Parameter information: your statement about the purchase; nil, so that nothing is sent, if the customer did
    ///   not consent to sharing it, or if you have nothing to say.
    public func consumptionAnswers(
        _ information: @escaping @Sendable (OwedAnswer) async -> ConsumptionInformation?
    ) -> ConsumptionAnswers {
        ConsumptionAnswers(self, information)
    }

    /// The server of a store's world, if it may be asked.
    func environment(_ environment: StoreEnvironment) -> Environment? {
        configuration.environments.first { $0.signed.canonical == environment }
    }
}
