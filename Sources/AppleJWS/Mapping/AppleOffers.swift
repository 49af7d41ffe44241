import FoundationEssentials
import LifecycleEvents

extension AppleSnapshot {
    var offer: Offer? {
        Offer(
            type: transaction.offerType,
            id: transaction.offerIdentifier,
            payment: transaction.offerDiscountType,
            duration: transaction.offerPeriod
        )
    }

    /// The offer on the next renewal.
    var nextOffer: Offer? {
        renewalInfo.flatMap {
            Offer(type: $0.offerType, id: $0.offerIdentifier, payment: $0.offerDiscountType, duration: $0.offerPeriod)
        }
    }

    var phase: PeriodPhase {
        if transaction.offerDiscountType == .freeTrial { return .trial }
        switch transaction.offerType {
        case nil: return .regular
        // Older payloads do not say how an offer is paid; an offer at no cost was free.
        case .introductory?:
            return transaction.offerDiscountType == nil && transaction.price?.amount == ExactDecimal(0)
                ? .trial : .introductory
        default: return .promotional
        }
    }

    /// A family member pays nothing, so the price is then the list price. Apple states the tax in it under the Advanced Commerce API.
    var price: Price? {
        transaction.price.map {
            Price($0, isFamilyShared ? .list : .charged, tax: transaction.advancedCommerce?.estimatedTax)
        }
    }
}

extension Offer {
    fileprivate init?(
        type: AppleTransaction.OfferType?,
        id: String?,
        payment: AppleTransaction.OfferDiscountType?,
        duration: String?
    ) {
        guard let type else { return nil }
        let kind: Kind
        switch type {
        case .introductory: kind = .introductory
        case .promotional: kind = .promotional
        case .code: kind = .code
        case .winBack: kind = .winBack
        default: kind = Kind(rawValue: "apple_\(type.rawValue)")
        }
        self.init(kind: kind, id: id, payment: payment.map(Payment.init(apple:)), duration: duration)
    }
}

extension Offer.Payment {
    fileprivate init(apple value: AppleTransaction.OfferDiscountType) {
        switch value {
        case .freeTrial: self = .freeTrial
        case .payAsYouGo: self = .payAsYouGo
        case .payUpFront: self = .payUpFront
        case .oneTime: self = .oneTime
        default: self.init(rawValue: value.rawValue)
        }
    }
}
