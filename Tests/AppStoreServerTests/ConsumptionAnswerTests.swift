import AppStoreServer
import AppleJWS
import FoundationEssentials
import HTTPTransport
import LifecycleEvents
import LifecycleJournal
import NormalizerTesting
import NotificationSimulator
import Synchronization
import Testing
import WireJSON

@Suite("Apple's questions about refunds", .timeLimit(.minutes(5))) struct ConsumptionAnswerTests {
    /// A journal that Apple has asked about a refund.
    private func journal(_ world: World, environment: StoreEnvironment = .production) async throws -> Journal {
        let journal = Journal(MemoryJournal(), clock: TestClock(jumping: true), now: { world.now })
        var data = AppleSimulator.PurchaseData(status: 1, transactionInfo: .month("1000", from: World.start))
        data.consumptionRequestReason = "UNINTENDED_PURCHASE"
        let notification = AppleSimulator.Notification(
            "CONSUMPTION_REQUEST",
            notificationUUID: "00000000-0000-4000-8000-000000000001",
            signedDate: World.start,
            content: .data(data)
        )
        let apple = world.state.withLock { $0.production.apple }
        let delivery = try apple.delivery(notification, receivedAt: World.start)
        #expect(await journal.receive(delivery, with: try world.adapter()).status == 200)
        return journal
    }

    @Test("are answered as the host says, to the server that asked")
    func answer() async throws {
        let world = try World()
        world.transport.on(.any, respond: HTTPTransportResponse(status: 202, body: []))
        let journal = try await journal(world)
        #expect(try await journal.due(at: world.now).map(\.kind) == [.refundReview])
        let deadline = try #require(try await journal.due(at: world.now).first?.deadline)
        #expect(deadline == World.start.addingTimeInterval(12 * 3600))
        let asked = Mutex<[OwedAnswer]>([])
        let answers = try world.client().consumptionAnswers { owed in
            asked.withLock { $0.append(owed) }
            return ConsumptionInformation(.delivered, sampleContentProvided: false, refundPreference: .decline)
        }
        #expect(try await journal.answer(with: [answers]).answered == 1)
        #expect(asked.withLock { $0.map(\.deadline) } == [deadline])
        let request = try #require(world.transport.requests.first)
        #expect(world.transport.requests.count == 1)
        #expect(request.url.host == "api.storekit.apple.com")
        #expect(request.url.path.hasSuffix("/1000"))
        #expect(String(decoding: request.body, as: UTF8.self).contains("DECLINE"))
    }

    @Test("about an Advanced Commerce purchase are answered in the form of version 1")
    func advancedCommerce() async throws {
        let world = try World()
        world.transport.on(.any, respond: HTTPTransportResponse(status: 202, body: []))
        let journal = try await journal(world)
        let answers = try world.client().refundAnswers { _ in
            .advancedCommerce(AdvancedCommerceConsumption(.delivered, sampleContentProvided: false))
        }
        #expect(try await journal.answer(with: [answers]).answered == 1)
        #expect(world.transport.requests.map(\.url.path) == ["/inApps/v1/transactions/consumption/1000"])
    }

    struct Form: CustomTestStringConvertible, Sendable {
        let information: ConsumptionInformation
        let body: String
        var testDescription: String { body }
    }

    @Test(
        "about an Advanced Commerce purchase are answered in the form of version 1 by the usual statement",
        arguments: [
            Form(
                information: .init(.delivered, sampleContentProvided: true),
                body: #""consumptionStatus":0,"customerConsented":true,"deliveryStatus":0,"#
            ),
            Form(
                information: .init(
                    .serverOutage,
                    sampleContentProvided: true,
                    consumptionMillipercent: 1,
                    refundPreference: .grantProrated
                ),
                body: #""consumptionStatus":2,"customerConsented":true,"deliveryStatus":3,"#
            ),
            Form(
                information: .init(.other, sampleContentProvided: true, consumptionMillipercent: 100_000),
                body: #""consumptionStatus":3,"customerConsented":true,"deliveryStatus":5,"#
            ),
        ]
    )
    func usualStatement(form: Form) async throws {
        let world = try World()
        world.transport.on(.any, respond: HTTPTransportResponse(status: 202, body: []))
        let apple = world.state.withLock { $0.production.apple }
        var transaction = apple.payload(.month("1000", from: World.start), at: World.start)
        transaction.append(
            "advancedCommerceInfo",
            ["requestReferenceId": "r-1", "items": .array([["SKU": "pro", "price": .integer(9990)]])]
        )
        let notification: JSONText = [
            "notificationType": "CONSUMPTION_REQUEST", "notificationUUID": "00000000-0000-4000-8000-000000000001",
            "version": "2.0", "signedDate": .integer(World.start.millisecondsSince1970),
            "data": [
                "appAppleId": .integer(apple.appAppleId), "bundleId": .string(apple.bundleId),
                "environment": "Production",
                "signedTransactionInfo": .string(String(decoding: try apple.jws(transaction.bytes), as: UTF8.self)),
            ],
        ]
        let signed = try apple.jws(Array(notification.text.utf8))
        let journal = Journal(MemoryJournal(), clock: TestClock(jumping: true), now: { world.now })
        let delivery = AppleSimulator.delivery(of: signed, receivedAt: World.start)
        #expect(await journal.receive(delivery, with: try world.adapter()).status == 200)
        let answers = try world.client().consumptionAnswers { _ in form.information }
        #expect(try await journal.answer(with: [answers]).answered == 1)
        #expect(world.transport.requests.map(\.url.path) == ["/inApps/v1/transactions/consumption/1000"])
        let body = String(decoding: try #require(world.transport.requests.first).body, as: UTF8.self)
        #expect(body.contains(form.body))
        let preference = form.information.refundPreference == nil ? 0 : 1
        #expect(body.contains(#""refundPreference":\#(preference),"sampleContentProvided":true"#))
    }

    @Test("get no answer without consent, and are done all the same")
    func silence() async throws {
        let world = try World()
        let journal = try await journal(world)
        let answers = try world.client().consumptionAnswers { _ in nil }
        #expect(try await journal.answer(with: [answers]).answered == 1)
        #expect(world.transport.requests.isEmpty)
    }

    @Test("wait where another server than Apple's has answered")
    func answerOfAnotherServer() async throws {
        let world = try World()
        world.transport.on(.any, respond: RequestTests.refusal(404, nil))
        let journal = try await journal(world)
        let answers = try world.client().consumptionAnswers { _ in .init(.delivered, sampleContentProvided: false) }
        let report = try await journal.answer(with: [answers])
        #expect((report.answered, report.postponed, report.abandoned) == (0, 1, 0))
    }

    @Test("about another environment or app are not this client's")
    func others() async throws {
        let world = try World()
        let journal = try await journal(world)
        for change: @Sendable (inout AppStoreServerClient.Configuration) -> Void in [
            { $0.environments = [.sandbox] }, { $0.bundleID = "com.example.other" },
        ] {
            let answers = try world.client(change).consumptionAnswers { _ in nil }
            #expect(try await journal.answer(with: [answers]) == Journal.Answers())
        }
        #expect(try await journal.duties.next(lease: .seconds(60)).count == 1)
    }
}
