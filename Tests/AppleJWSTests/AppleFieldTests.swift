import AppleJWS
import FoundationEssentials
import NotificationSimulator
import Normalizer
import SimulatedTrust
import Testing

/// Members that no event carries are read all the same, each from its own name.
@Suite("Apple's members, one by one")
struct AppleFieldTests {
    private let simulator: AppleSimulator
    private let verifier: AppleJWSVerifier

    init() throws {
        simulator = try AppleSimulator(seed: "fields")
        verifier = try AppleJWSVerifier(.init(trusting: simulator))
    }

    private static let signed: Int64 = 1_767_225_600_000

    private func jws(_ payload: String) throws -> [UInt8] { try simulator.jws(Array(payload.utf8)) }

    private var now: Date { Self.date(Self.signed) }

    private static func date(_ milliseconds: Int64) -> Date {
        Date(timeIntervalSince1970: Double(milliseconds) / 1000)
    }

    private func money(_ text: String) throws -> Money { Money(try #require(ExactDecimal(text)), "USD") }

    private static let advancedCommerce = """
        "advancedCommerceInfo":{"requestReferenceId":"r-1","consistencyToken":"c-1",\
        "descriptors":{"displayName":"All","description":"All of it"},"period":"P1M","taxCode":"C003-00-2",\
        "taxRate":"0.0825","estimatedTax":760,"taxExclusivePrice":9230,"items":[{"SKU":"sku-1","displayName":"One",\
        "description":"One of it","price":4990,"revocationDate":1767225600021,"offer":{"period":"P1W","periodCount":3,\
        "price":990,"reason":"WIN_BACK"},"refunds":[{"refundAmount":1250,"refundDate":1767225600022,\
        "refundReason":"LEGAL","refundType":"CUSTOM"}],"priceIncreaseInfo":{"dependentSKUs":["sku-2","sku-3"],\
        "price":5990,"status":"SCHEDULED"}}]}
        """

    private func expectAdvancedCommerce(_ info: AppleAdvancedCommerceInfo?) throws {
        let info = try #require(info)
        #expect(info.requestReferenceID == "r-1")
        #expect(info.consistencyToken == "c-1")
        #expect(info.displayName == "All")
        #expect(info.description == "All of it")
        #expect(info.period == "P1M")
        #expect(info.taxCode == "C003-00-2")
        #expect(info.taxRate == "0.0825")
        #expect(info.estimatedTax == (try money("0.76")))
        #expect(info.taxExclusivePrice == (try money("9.23")))
        #expect(info.items.count == 1)
        let item = try #require(info.items.first)
        #expect(item.sku == "sku-1")
        #expect(item.displayName == "One")
        #expect(item.description == "One of it")
        #expect(item.price == (try money("4.99")))
        #expect(item.revocationDate == Self.date(Self.signed + 21))
        #expect(item.offer?.period == "P1W")
        #expect(item.offer?.periodCount == 3)
        #expect(item.offer?.price == (try money("0.99")))
        #expect(item.offer?.reason == "WIN_BACK")
        #expect(item.refunds.map(\.amount) == [try money("1.25")])
        #expect(item.refunds.map(\.date) == [Self.date(Self.signed + 22)])
        #expect(item.refunds.map(\.reason) == ["LEGAL"])
        #expect(item.refunds.map(\.type) == ["CUSTOM"])
        #expect(item.priceIncrease?.dependentSKUs == ["sku-2", "sku-3"])
        #expect(item.priceIncrease?.price == (try money("5.99")))
        #expect(item.priceIncrease?.status == "SCHEDULED")
    }

    @Test("each member of a transaction is read")
    func transaction() throws {
        let payload = """
            {"transactionId":"2","originalTransactionId":"1","previousOriginalTransactionId":"0",\
            "webOrderLineItemId":"3","appTransactionId":"4","appAccountToken":"7E3FB204-2C6D-4A42-A9B1-6B5D5E0B9B10",\
            "bundleId":"com.example.app","productId":"pro","subscriptionGroupIdentifier":"5",\
            "purchaseDate":1767225600001,"originalPurchaseDate":1767225600002,"expiresDate":1767225600003,\
            "revocationDate":1767225600004,"signedDate":1767225600000,"price":9990,"currency":"USD","quantity":6,\
            "type":"Auto-Renewable Subscription","inAppOwnershipType":"PURCHASED","transactionReason":"RENEWAL",\
            "offerType":4,"offerIdentifier":"o-1","offerDiscountType":"PAY_UP_FRONT","offerPeriod":"P3M",\
            "environment":"Production","storefront":"DEU","storefrontId":"143443","isUpgraded":true,\
            "revocationReason":1,"revocationType":"REFUND_PRORATED","revocationPercentage":50000,\
            "billingPlanType":"MONTHLY","commitmentInfo":{"billingPeriodNumber":7,"totalBillingPeriods":12,\
            "commitmentExpiresDate":1767225600005,"commitmentPrice":119880},\(Self.advancedCommerce)}
            """
        let value = try verifier.transaction(jws(payload), receivedAt: now).value
        #expect(value.transactionID == "2")
        #expect(value.originalTransactionID == "1")
        #expect(value.previousOriginalTransactionID == "0")
        #expect(value.webOrderLineItemID == "3")
        #expect(value.appTransactionID == "4")
        #expect(value.appAccountToken == "7e3fb204-2c6d-4a42-a9b1-6b5d5e0b9b10")
        #expect(value.bundleID == "com.example.app")
        #expect(value.productID == "pro")
        #expect(value.subscriptionGroupIdentifier == "5")
        #expect(value.purchaseDate == Self.date(Self.signed + 1))
        #expect(value.originalPurchaseDate == Self.date(Self.signed + 2))
        #expect(value.expiresDate == Self.date(Self.signed + 3))
        #expect(value.revocationDate == Self.date(Self.signed + 4))
        #expect(value.signedDate == now)
        #expect(value.price == (try money("9.99")))
        #expect(value.quantity == 6)
        #expect(value.type == .autoRenewable)
        #expect(value.inAppOwnershipType == .purchased)
        #expect(value.transactionReason == .renewal)
        #expect(value.offerType == .winBack)
        #expect(value.offerIdentifier == "o-1")
        #expect(value.offerDiscountType == .payUpFront)
        #expect(value.offerPeriod == "P3M")
        #expect(value.environment == .production)
        #expect(value.storefront == "DEU")
        #expect(value.storefrontID == "143443")
        #expect(value.isUpgraded)
        #expect(value.revocationReason == .appIssue)
        #expect(value.revocationType == .refundProrated)
        #expect(value.revocationPercentage == 50_000)
        #expect(value.billingPlanType == .monthly)
        #expect(value.commitment?.billingPeriodNumber == 7)
        #expect(value.commitment?.totalBillingPeriods == 12)
        #expect(value.commitment?.expiresDate == Self.date(Self.signed + 5))
        #expect(value.commitment?.price == (try money("119.88")))
        try expectAdvancedCommerce(value.advancedCommerce)
    }

    private func renewalInfo(token: String) throws -> AppleRenewalInfo {
        let payload = """
            {"originalTransactionId":"1","productId":"pro","autoRenewProductId":"basic","autoRenewStatus":1,\
            "isInBillingRetryPeriod":true,"expirationIntent":3,"priceIncreaseStatus":1,\
            "gracePeriodExpiresDate":1767225600001,"offerType":2,"offerIdentifier":"o-1",\
            "offerDiscountType":"PAY_AS_YOU_GO","offerPeriod":"P1M","renewalPrice":4990,"currency":"USD",\
            "renewalDate":1767225600002,"recentSubscriptionStartDate":1767225600003,"signedDate":1767225600000,\
            "environment":"Production","eligibleWinBackOfferIds":["w-2","w-1"],"appAccountToken":"\(token)",\
            "appTransactionId":"4","renewalBillingPlanType":"BILLED_UPFRONT","commitmentInfo":{\
            "commitmentAutoRenewProductId":"year","commitmentAutoRenewStatus":0,\
            "commitmentRenewalBillingPlanType":"MONTHLY","commitmentRenewalDate":1767225600004,\
            "commitmentRenewalPrice":109890},\(Self.advancedCommerce)}
            """
        return try verifier.renewalInfo(jws(payload), receivedAt: now).value
    }

    @Test("each member of renewal info is read")
    func renewalInfo() throws {
        let value = try renewalInfo(token: "7E3FB204-2C6D-4A42-A9B1-6B5D5E0B9B10")
        #expect(value.originalTransactionID == "1")
        #expect(value.productID == "pro")
        #expect(value.autoRenewProductID == "basic")
        #expect(value.autoRenewStatus == .on)
        #expect(value.isInBillingRetryPeriod == true)
        #expect(value.expirationIntent == .priceIncreaseDeclined)
        #expect(value.priceIncreaseStatus == .accepted)
        #expect(value.gracePeriodExpiresDate == Self.date(Self.signed + 1))
        #expect(value.offerType == .promotional)
        #expect(value.offerIdentifier == "o-1")
        #expect(value.offerDiscountType == .payAsYouGo)
        #expect(value.offerPeriod == "P1M")
        #expect(value.renewalPrice == (try money("4.99")))
        #expect(value.renewalDate == Self.date(Self.signed + 2))
        #expect(value.recentSubscriptionStartDate == Self.date(Self.signed + 3))
        #expect(value.signedDate == now)
        #expect(value.environment == .production)
        // Best first, as Apple orders them.
        #expect(value.eligibleWinBackOfferIDs == ["w-2", "w-1"])
        #expect(value.appAccountToken == "7e3fb204-2c6d-4a42-a9b1-6b5d5e0b9b10")
        #expect(value.appTransactionID == "4")
        #expect(value.renewalBillingPlanType == .billedUpFront)
        #expect(value.commitment?.autoRenewProductID == "year")
        #expect(value.commitment?.autoRenewStatus == .off)
        #expect(value.commitment?.billingPlanType == .monthly)
        #expect(value.commitment?.renewalDate == Self.date(Self.signed + 4))
        #expect(value.commitment?.renewalPrice == (try money("109.89")))
        try expectAdvancedCommerce(value.advancedCommerce)
    }

    @Test(
        "the nil UUID says that the app set no account, in renewal info as in a transaction",
        arguments: ["00000000-0000-0000-0000-000000000000", ""]
    )
    func noAccount(token: String) throws {
        #expect(try renewalInfo(token: token).appAccountToken == nil)
        let payload = """
            {"transactionId":"2","originalTransactionId":"1","appAccountToken":"\(token)","bundleId":"com.example.app",\
            "productId":"pro","purchaseDate":1767225600000,"signedDate":1767225600000,"environment":"Production"}
            """
        #expect(try verifier.transaction(jws(payload), receivedAt: now).value.appAccountToken == nil)
    }

    @Test("each member of an app transaction is read")
    func appTransaction() throws {
        let payload = """
            {"receiptType":"Production","appAppleId":1234567890,"bundleId":"com.example.app",\
            "applicationVersion":"42","versionExternalIdentifier":880000042,"receiptCreationDate":1767225600000,\
            "originalPurchaseDate":1767225600001,"originalApplicationVersion":"1.0","preorderDate":1767225600002,\
            "appTransactionId":"4","originalPlatform":"visionOS","deviceVerification":"x",\
            "deviceVerificationNonce":"7e3fb204-2c6d-4a42-a9b1-6b5d5e0b9b10"}
            """
        let value = try verifier.appTransaction(jws(payload), receivedAt: now).value
        #expect(value.environment == .production)
        #expect(value.appAppleID == 1_234_567_890)
        #expect(value.bundleID == "com.example.app")
        #expect(value.applicationVersion == "42")
        #expect(value.versionExternalIdentifier == 880_000_042)
        #expect(value.receiptCreationDate == now)
        #expect(value.originalPurchaseDate == Self.date(Self.signed + 1))
        #expect(value.originalApplicationVersion == "1.0")
        #expect(value.preorderDate == Self.date(Self.signed + 2))
        #expect(value.appTransactionID == "4")
        #expect(value.originalPlatform == "visionOS")
    }

    @Test("each member that a notification carries is read")
    func notification() throws {
        func content(_ carrier: String) throws -> AppleNotification {
            let payload = """
                {"notificationType":"T","subtype":"S","notificationUUID":"u","version":"2.0",\
                "signedDate":1767225600000,\(carrier)}
                """
            return try verifier.notification(jws(payload), receivedAt: now).value
        }
        let app = #""appAppleId":1234567890,"bundleId":"com.example.app""#
        let data = try content(
            #""data":{"environment":"Production",\#(app),"bundleVersion":"7","status":4,"consumptionRequestReason":"LEGAL"}"#
        )
        #expect(data.type.rawValue == "T" && data.subtype?.rawValue == "S")
        #expect(data.notificationUUID == "u" && data.version == "2.0" && data.signedDate == now)
        guard case .data(let purchase) = data.content else { throw CancellationError() }
        #expect(purchase.environment == .production && purchase.appAppleID == 1_234_567_890)
        #expect(purchase.bundleVersion == "7" && purchase.status == .gracePeriod)
        #expect(purchase.consumptionRequestReason == "LEGAL")

        let summarized = try content(
            #""summary":{"environment":"Production",\#(app),"productId":"pro","requestIdentifier":"r","#
                + #""storefrontCountryCodes":["USA","DEU"],"succeededCount":5,"failedCount":2}"#
        )
        guard case .summary(let summary) = summarized.content else { throw CancellationError() }
        #expect(summary.productID == "pro" && summary.requestIdentifier == "r")
        #expect(summary.storefrontCountryCodes == ["USA", "DEU"])
        #expect(summary.succeededCount == 5 && summary.failedCount == 2)

        let reported = try content(
            #""externalPurchaseToken":{"externalPurchaseId":"e-1",\#(app),"tokenCreationDate":1767225600001,"#
                + #""tokenType":"SERVICES","tokenExpirationDate":1767225600002}"#
        )
        guard case .externalPurchaseToken(let token) = reported.content else { throw CancellationError() }
        #expect(token.externalPurchaseID == "e-1" && token.tokenType == "SERVICES")
        #expect(token.tokenCreationDate == Self.date(Self.signed + 1))
        #expect(token.tokenExpirationDate == Self.date(Self.signed + 2))
    }
}
