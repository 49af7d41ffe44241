import AppleJWS
import FoundationEssentials
import HTTPTransport
import LifecycleEvents
import WireJSON

extension AppStoreServerClient {
    /// An answer that is JSON, and its server.
    struct Answer {
        var reader: ObjectReader
        var environment: Environment
        var receivedAt: Date
    }

    func answer(to call: Call, in environment: Environment?) async throws(AppStoreServerError) -> Answer {
        let (body, environment) = try await ask(call, in: environment)
        var limits = JSONLimits()
        limits.maximumBytes = 8 << 20
        return try Self.reading { () throws(JSONError) in
            Answer(reader: try ObjectReader(parsing: body, limits: limits), environment: environment, receivedAt: now())
        }
    }

    static func reading<Value>(_ read: () throws(JSONError) -> Value) throws(AppStoreServerError) -> Value {
        do throws(JSONError) {
            return try read()
        } catch {
            throw AppStoreServerError(.unreadable, "answer: \(error)", underlying: error)
        }
    }

    /// Runs a check of something signed. Data that Apple's answer holds and that does not verify is never used. Only the
    /// revocation of certificates can be undecided for now, after their issuers were asked.
    func verifying<Value>(
        _ verify: () throws(DeliveryError) -> Value
    ) async throws(AppStoreServerError) -> Value {
        do throws(DeliveryError) {
            return try await adapter.settlingRevocation(verify)
        } catch {
            let code: AppStoreServerError.Code = error.code.isRetryable ? .unavailable : .unreadable
            throw AppStoreServerError(code, "answer: \(error)", underlying: error)
        }
    }

    func transaction(
        _ jws: some Collection<UInt8>,
        from answer: Answer
    ) async throws(AppStoreServerError) -> Authenticated<AppleTransaction> {
        let transaction = try await verifying { () throws(DeliveryError) in
            try adapter.verifier.transaction(jws, receivedAt: answer.receivedAt, channel: .refetch)
        }
        try Self.require(transaction.value.environment, answer.environment)
        return transaction
    }

    func renewalInfo(
        _ jws: some Collection<UInt8>,
        from answer: Answer
    ) async throws(AppStoreServerError) -> Authenticated<AppleRenewalInfo> {
        let renewalInfo = try await verifying { () throws(DeliveryError) in
            try adapter.verifier.renewalInfo(jws, receivedAt: answer.receivedAt, channel: .refetch)
        }
        try Self.require(renewalInfo.value.environment, answer.environment)
        return renewalInfo
    }

    /// The signed data says where it comes from, and not the server that was asked.
    static func require(_ signed: AppleEnvironment, _ asked: Environment) throws(AppStoreServerError) {
        guard signed == asked.signed else {
            throw AppStoreServerError(.unreadable, "answer: signed data is of another environment than the server")
        }
    }

    /// Every transaction of a list that verifies, and why the others do not.
    func transactions(
        _ list: JSONArray?,
        from answer: Answer
    ) async throws(AppStoreServerError) -> (verified: [Authenticated<AppleTransaction>], refused: [AppStoreServerError])
    {
        var verified: [Authenticated<AppleTransaction>] = []
        var refused: [AppStoreServerError] = []
        guard let list else { return (verified, refused) }
        for element in list {
            let jws = try Self.reading { () throws(JSONError) in try element.utf8() }
            do throws(AppStoreServerError) {
                verified.append(try await transaction(jws, from: answer))
            } catch {
                refused.append(error)
            }
        }
        return (verified, refused)
    }

    /// A body of a request.
    static func body(_ value: some Encodable) throws(AppStoreServerError) -> [UInt8] {
        do {
            return try CanonicalJSON.bytes(value)
        } catch {
            throw AppStoreServerError(.invalidRequest, "request cannot be written", underlying: error)
        }
    }
}
