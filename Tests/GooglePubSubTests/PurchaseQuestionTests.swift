import Foundation
import HTTPTransport
import Normalizer
import NormalizerTesting
import Testing

@testable import GooglePubSub

@Suite("A purchase token that an app uploads, asked about without a notification", .timeLimit(.minutes(5)))
struct PurchaseQuestionTests {
    let transport = StubTransport()

    private func ask(
        _ kind: GooglePurchase.Kind = .subscription,
        token: String = Self.token,
        packageName: String = Google.package,
        orderLookup: GooglePlayAdapter.Configuration.OrderLookup = .voided,
        answers: [String: HTTPTransportResponse] = [:]
    ) async throws(DeliveryError) -> Authenticated<GooglePurchase> {
        for (path, response) in answers {
            transport.on(.init(.get, path: ResolutionTests.root + path)) { (_) throws(HTTPTransportError) in response }
        }
        do {
            let clock = TestClock(jumping: true)
            let api = try PlayDeveloperAPI(transport: transport, tokens: CountingTokens(), clock: clock)
            var configuration = Google.configuration()
            configuration.orderLookup = orderLookup
            let adapter = try Google.adapter(configuration, api: api)
            return try await adapter.resolve(
                PurchaseToken(token),
                of: kind,
                packageName: packageName,
                receivedAt: Google.receivedAt
            )
        } catch let error as DeliveryError {
            #expect(!error.isAuthentic)
            #expect(!error.description.contains(token) || token.isEmpty || token.hasPrefix("."))
            throw error
        } catch {
            Issue.record("\(error)")
            throw DeliveryError(.malformed, "\(error)")
        }
    }

    private static let token = "uploaded-purchase-token"
    private static let path = ResolutionTests.tokens(token)

    private func outcome(_ status: HTTPTransportResponse) async throws -> Result<Normalization, DeliveryError> {
        do throws(DeliveryError) {
            let purchase = try await ask(answers: [Self.path: status])
            return .success(try Google.mapped(purchase))
        } catch {
            return .failure(error)
        }
    }

    // MARK: Hostile

    @Test func anotherAppIsNotAskedAbout() async throws {
        for name in ["com.example.other", "", "com.example.app ", "COM.EXAMPLE.APP", "../com.example.app"] {
            let error = await #expect(throws: DeliveryError.self) { try await ask(packageName: name) }
            #expect(error?.code == .misdirected)
        }
        #expect(transport.requests.isEmpty)
    }

    @Test(arguments: ["", ".", "..", "a\r\nb", "a\u{0}", String(repeating: "x", count: 3000)])
    func tokenThatIsNoneCausesNoRequest(token: String) async throws {
        for kind in [GooglePurchase.Kind.subscription, .product] {
            let purchase = try await ask(kind, token: token)
            let error = #expect(throws: DeliveryError.self) { try Google.mapped(purchase) }
            #expect(error?.code == .malformed)
            #expect(error?.isAuthentic == false)
        }
        #expect(transport.requests.isEmpty)
    }

    @Test(
        arguments: [
            (HTTPTransportResponse(status: 400), .malformed), (HTTPTransportResponse(status: 503), .unavailable),
            (HTTPTransportResponse(status: 429), .unavailable), (HTTPTransportResponse(status: 302), .unavailable),
            (PlayDeveloperAPITests.error(403, reason: "accessNotConfigured"), .denied),
            (PlayDeveloperAPITests.error(404, reason: "applicationNotFound"), .denied),
            (HTTPTransportResponse(status: 200, body: Array(#"{"lineItems":[]}"#.utf8)), .malformed),
            (HTTPTransportResponse(status: 200, body: Array(#"{"lineItems":7}"#.utf8)), .malformed),
        ] as [(HTTPTransportResponse, DeliveryError.Code)]
    )
    func whatIsNoAnswerGivesNothing(response: HTTPTransportResponse, code: DeliveryError.Code) async throws {
        guard case .failure(let error) = try await outcome(response) else {
            Issue.record("\(response.status) was taken for an answer")
            return
        }
        #expect(error.code == code)
        #expect(!error.isAuthentic)
    }

    @Test("a purchase that Google does not know, or no longer keeps, has no owner", arguments: [404, 410])
    func unknownPurchase(status: Int) async throws {
        let result = try await outcome(HTTPTransportResponse(status: status)).get()
        #expect(result == Normalization(noChange: .init(.purchaseGone)))
        let account = Account("user-1", .obfuscatedAccountID)
        #expect(result.claimed(by: account, at: Google.receivedAt).statements.isEmpty)
        #expect(transport.requests.count == 1)
    }

    @Test func withoutAnAPINobodyCanBeAsked() async throws {
        let adapter = try Google.adapter()
        let error = await #expect(throws: DeliveryError.self) {
            try await adapter.receive(
                purchaseToken: PurchaseToken(Self.token),
                of: .subscription,
                packageName: Google.package,
                receivedAt: Google.receivedAt
            )
        }
        #expect(error?.code == .unavailable)
    }

    // MARK: Questions

    @Test func asksForPredecessorsAndPaidOrders() async throws {
        let answers = [
            Self.path: ResolutionTests.subscription(
                "ACTIVE",
                linked: "before",
                #","lineItems":[{"productId":"p","latestSuccessfulOrderId":"GPA.1..0"}]"#
            ),
            ResolutionTests.tokens("before"): ResolutionTests.subscription("EXPIRED"),
            "/orders/GPA.1..0": PlayDeveloperAPITests.found,
        ]
        let charged = try await ask(orderLookup: .charged, answers: answers)
        #expect(charged.value.lookups.map(\.key) == [Self.token, "before", "GPA.1..0"])
        #expect(charged.channel == .refetch && charged.evidence == Origin.Evidence(.tls))
        let asked = transport.requests.count
        #expect(try await ask(answers: answers).value.lookups.map(\.key) == [Self.token, "before"])
        #expect(transport.requests.count == asked + 2)
    }

    @Test("a question and its answers cross a queue, and say nothing in a log")
    func queue() async throws {
        let purchase = try await ask(answers: [Self.path: ResolutionTests.subscription("ACTIVE", linked: nil)])
        let read = try JSONDecoder().decode(
            Authenticated<GooglePurchase>.self,
            from: JSONEncoder().encode(purchase)
        )
        #expect(read.value == purchase.value)
        #expect(read.digest == purchase.digest)
        #expect(try Google.mapped(read) == Google.mapped(purchase))
        #expect("\(purchase.value)" == "subscription, 1 look-ups")
        #expect(String(reflecting: purchase.value) == "subscription, 1 look-ups")
        #expect(Mirror(reflecting: purchase.value).children.isEmpty)
    }
}

extension Google {
    static func mapped(_ purchase: Authenticated<GooglePurchase>) throws(DeliveryError) -> Normalization {
        do {
            return try adapter().normalize(purchase)
        } catch let error as DeliveryError {
            throw error
        } catch {
            throw DeliveryError(.unavailable, "\(error)")
        }
    }
}
