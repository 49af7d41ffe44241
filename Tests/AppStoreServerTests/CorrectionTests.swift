import Synchronization
import AppStoreServer
import FoundationEssentials
import HTTPTransport
import NormalizerTesting
import NotificationSimulator
import Testing

@Suite("Corrections through the App Store Server API") struct CorrectionTests {
    struct Sent: Equatable {
        var method: String
        var path: String
        var body: String
    }

    /// The request of a call, if Apple gives this answer.
    func sent(
        answering body: String = "{}",
        status: Int = 200,
        _ call: (AppStoreServerClient) async throws(AppStoreServerError) -> Void
    ) async throws -> Sent {
        let world = try World()
        world.transport.on(.any, respond: HTTPTransportResponse(status: status, body: Array(body.utf8)))
        try await call(try world.client())
        let request = try #require(world.transport.requests.first)
        #expect(world.transport.requests.count == 1)
        return Sent(
            method: request.method.name,
            path: request.url.path,
            body: String(decoding: request.body, as: UTF8.self)
        )
    }

    @Test("answer a consumption request")
    func consumption() async throws {
        let sent = try await sent(status: 202) { client throws(AppStoreServerError) in
            let information = ConsumptionInformation(
                .delivered,
                sampleContentProvided: false,
                consumptionMillipercent: 50_000,
                refundPreference: .grantProrated
            )
            try await client.sendConsumption(information, ofTransaction: "7", customerConsented: true, in: .production)
        }
        let body =
            #"{"consumptionPercentage":50000,"customerConsented":true,"deliveryStatus":"DELIVERED","refundPreference":"GRANT_PRORATED","sampleContentProvided":false}"#
        #expect(sent == Sent(method: "PUT", path: "/inApps/v2/transactions/consumption/7", body: body))
    }

    @Test("answer a consumption request about an Advanced Commerce purchase, in the form of version 1")
    func advancedCommerceConsumption() async throws {
        let sent = try await sent(status: 202) { client throws(AppStoreServerError) in
            var information = AdvancedCommerceConsumption(.currencyChange, sampleContentProvided: true)
            information.consumption = .partial
            information.refundPreference = .decline
            information.appAccountToken = UUID(uuidString: "7E3FB204-2C5A-4F64-8A63-0A6F4F6A0F2B")
            information.accountStatus = .active
            information.platform = .apple
            information.accountTenure = .accountAge(days: 3)
            information.playTime = .usage(minutes: 23_040)
            information.lifetimePurchased = .dollars(49)
            information.lifetimeRefunded = .dollars(0)
            try await client.sendConsumption(information, ofTransaction: "7", customerConsented: true, in: .production)
        }
        let body =
            #"{"accountTenure":2,"appAccountToken":"7e3fb204-2c5a-4f64-8a63-0a6f4f6a0f2b","consumptionStatus":2,"customerConsented":true,"deliveryStatus":4,"lifetimeDollarsPurchased":2,"lifetimeDollarsRefunded":1,"platform":1,"playTime":7,"refundPreference":2,"sampleContentProvided":true,"userStatus":1}"#
        #expect(sent == Sent(method: "PUT", path: "/inApps/v1/transactions/consumption/7", body: body))
    }

    @Test("state nothing in version 1 that is not known")
    func undeclaredConsumption() async throws {
        let sent = try await sent(status: 202) { client throws(AppStoreServerError) in
            let information = AdvancedCommerceConsumption(.delivered, sampleContentProvided: false)
            try await client.sendConsumption(information, ofTransaction: "7", customerConsented: true, in: .production)
        }
        let body =
            #"{"accountTenure":0,"appAccountToken":"","consumptionStatus":0,"customerConsented":true,"deliveryStatus":0,"lifetimeDollarsPurchased":0,"lifetimeDollarsRefunded":0,"platform":0,"playTime":0,"refundPreference":0,"sampleContentProvided":false,"userStatus":0}"#
        #expect(sent == Sent(method: "PUT", path: "/inApps/v1/transactions/consumption/7", body: body))
    }

    @Test("place a value on Apple's scales of version 1, at both ends of each step")
    func steps() {
        #expect(
            [-1, 0, 1, 49, 50, 99, 100, 499, 500, 999, 1000, 1999, 2000, .max].map {
                AdvancedCommerceConsumption.Step.dollars($0).rawValue
            } == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7]
        )
        #expect(
            [-1, 2, 3, 9, 10, 29, 30, 89, 90, 179, 180, 364, 365, .max].map {
                AdvancedCommerceConsumption.Step.accountAge(days: $0).rawValue
            } == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7]
        )
        #expect(
            [-1, 4, 5, 59, 60, 359, 360, 1439, 1440, 5759, 5760, 23_039, 23_040, .max].map {
                AdvancedCommerceConsumption.Step.usage(minutes: $0).rawValue
            } == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7]
        )
    }

    @Test("send nothing about a customer who has not agreed, and no share above everything")
    func consent() async throws {
        let world = try World()
        let client = try world.client()
        let cases = [
            (ConsumptionInformation(.delivered, sampleContentProvided: true), false),
            (ConsumptionInformation(.delivered, sampleContentProvided: true, consumptionMillipercent: 100_001), true),
        ]
        for (information, hasConsent) in cases {
            let error = await failure { () throws(AppStoreServerError) in
                try await client.sendConsumption(
                    information,
                    ofTransaction: "7",
                    customerConsented: hasConsent,
                    in: .production
                )
            }
            #expect(error?.code == .invalidRequest)
        }
        let error = await failure { () throws(AppStoreServerError) in
            try await client.sendConsumption(
                AdvancedCommerceConsumption(.delivered, sampleContentProvided: true),
                ofTransaction: "7",
                customerConsented: false,
                in: .production
            )
        }
        #expect(error?.code == .invalidRequest)
        #expect(world.transport.requests.isEmpty)
    }

    @Test("prolong one subscription, and all of a product")
    func extensions() async throws {
        let answer = #"{"success":true,"effectiveDate":1790000000000,"originalTransactionId":"7"}"#
        let one = try await sent(answering: answer) { client throws(AppStoreServerError) in
            let result = try await client.extendRenewalDate(
                ofOriginalTransaction: "7",
                days: 90,
                reason: .serviceIssue,
                requestIdentifier: "r-1",
                in: .production
            )
            #expect(result.succeeded)
            #expect(result.renewsAt == Date(timeIntervalSince1970: 1_790_000_000))
        }
        #expect(one.body == #"{"extendByDays":90,"extendReasonCode":3,"requestIdentifier":"r-1"}"#)
        #expect(one.path == "/inApps/v1/subscriptions/extend/7")
        let all = try await sent { client throws(AppStoreServerError) in
            try await client.extendRenewalDates(
                ofProduct: "pro",
                days: 1,
                reason: .other,
                storefronts: ["USA"],
                requestIdentifier: "r-2",
                in: .production
            )
        }
        let body =
            #"{"extendByDays":1,"extendReasonCode":2,"productId":"pro","requestIdentifier":"r-2","storefrontCountryCodes":["USA"]}"#
        #expect(all == Sent(method: "POST", path: "/inApps/v1/subscriptions/extend/mass", body: body))
    }

    @Test("bind a purchase to a user, and finish a transaction")
    func binding() async throws {
        let token = try #require(UUID(uuidString: "B7A0A9E0-5F2C-4F0A-9D0B-2B9C7A1D3E4F"))
        let bound = try await sent { client throws(AppStoreServerError) in
            try await client.setAppAccountToken(token, ofOriginalTransaction: "7", in: .sandbox)
        }
        #expect(
            bound
                == Sent(
                    method: "PUT",
                    path: "/inApps/v1/transactions/7/appAccountToken",
                    body: #"{"appAccountToken":"b7a0a9e0-5f2c-4f0a-9d0b-2b9c7a1d3e4f"}"#
                )
        )
        let finished = try await sent { client throws(AppStoreServerError) in
            try await client.finish(transaction: "7", in: .production)
        }
        #expect(finished == Sent(method: "POST", path: "/inApps/v1/transactions/7/finish", body: ""))
    }
}

@Suite("Preflight") struct PreflightTests {
    func test(_ results: [String]) -> AppStoreServerSimulator.Sent {
        .init(.init("TEST", notificationUUID: "u", signedDate: World.start), attempts: results)
    }

    @Test("says that the set-up works")
    func delivered() async throws {
        let world = try World()
        world.serve()
        world.state.withLock {
            $0.production.sent = [test(["SUCCESS"])]
            $0.sandbox.sent = [test(["TLS_ISSUE"])]
        }
        let preflight = await (try world.client()).preflight()
        #expect(preflight.results.map(\.finding) == [.delivered, .notDelivered])
        #expect(preflight.results[1].advice.contains("TLS_ISSUE"))
        #expect(preflight.isPassed)
    }

    @Test("says once that Apple could not be asked")
    func unavailable() async throws {
        let world = try World()
        world.transport.on(.any, respond: HTTPTransportResponse(status: 503))
        let preflight = await (try world.client()).preflight()
        #expect(preflight.results.map(\.finding) == [.unavailable, .unavailable])
        #expect(preflight.results.map(\.advice) == ["status 503", "status 503"])
    }

    @Test("distinguishes a missing URL, an unreleased app and wrong credentials")
    func troubles() async throws {
        let world = try World()
        world.serve()
        world.state.withLock {
            $0.production.isReleased = false
            $0.sandbox.hasNotificationURL = false
        }
        let unreleased = await (try world.client()).preflight()
        #expect(unreleased.results.map(\.finding) == [.refused, .noURL])
        #expect(unreleased.results[0].advice.contains("no release"))
        #expect(!unreleased.isPassed)

        let wrong = await (try world.client { $0.bundleID = "com.example.other" }).preflight()
        #expect(wrong.results.map(\.finding) == [.refused, .refused])
        #expect(wrong.results[0].advice.contains("issuer id"))
    }
}
