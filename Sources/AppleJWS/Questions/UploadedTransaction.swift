public import FoundationEssentials
public import LifecycleEvents

extension AppleAdapter {
    /// Takes a client's upload to the facts, and the event identities, that Apple's notification would give.
    ///
    /// - Parameters:
    ///   - signedTransaction: the octets of a transaction in JWS form, such as `utf8` of StoreKit's `jwsRepresentation`.
    ///   - signedRenewalInfo: the renewal info uploaded with it.
    ///   - receivedAt: when it was received.
    /// - Throws: `DeliveryError` as for ``AppleJWSVerifier/transaction(_:receivedAt:channel:)``, and `misdirected` if
    ///   the two belong to different lineages.
    public func receive<JWS: Collection<UInt8>>(
        signedTransaction: JWS,
        signedRenewalInfo: JWS? = nil,
        receivedAt: Date
    ) throws(DeliveryError) -> Normalization {
        let transaction = try verifier.transaction(signedTransaction, receivedAt: receivedAt)
        let renewalInfo: AppleRenewalInfo?
        if let signedRenewalInfo {
            renewalInfo = try verifier.renewalInfo(signedRenewalInfo, receivedAt: receivedAt).value
        } else {
            renewalInfo = nil
        }
        return try normalize(transaction, renewalInfo: renewalInfo)
    }
}
