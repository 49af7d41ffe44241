// A whole backend: webhooks of four providers, access, and credits. Run it behind a proxy with TLS, from a folder with the two files.
import AppleJWS
import CurlTransport
import Foundation
import GooglePubSub
import Hummingbird
import LifecycleJournal
import RevenueCatEvents
import SQLiteJournal
import Stripe

func setting(_ name: String) -> String { ProcessInfo.processInfo.environment[name] ?? "" }
func file(_ name: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(fileURLWithPath: name))) }

let transport = try CurlHTTPTransport()
let apple = try AppleAdapter(
    AppleAdapter.Configuration(
        apps: [.init(bundleID: "com.example.app", appAppleID: 1_234_567_890)],
        environments: [.production, .sandbox],
        trustAnchors: AppleTrustAnchors(der: [try file("AppleRootCA-G3.cer")])
    )
)
let serviceAccount = try ServiceAccount(keyFile: SecretBytes(bytes: try file("service-account.json")))
let tokens = try ServiceAccountTokenSource(serviceAccount, transport: transport, now: { Date() })
let google = try GooglePlayAdapter(
    GooglePlayAdapter.Configuration(
        packageNames: ["com.example.app"],
        push: .init(audience: setting("GOOGLE_AUDIENCE"), serviceAccountEmail: setting("GOOGLE_PUSH_ACCOUNT"))
    ),
    keys: RemoteKeySource(transport: transport),
    api: PlayDeveloperAPI(transport: transport, tokens: tokens)
)
let revenuecat = try RevenueCatAdapter(.init(authorizations: [SecretBytes(setting("REVENUECAT_AUTHORIZATION"))]))
let stripe = try StripeAdapter(.init(signingSecrets: [SecretBytes(setting("STRIPE_SIGNING_SECRET"))]))
let adapters: [String: any ProviderAdapter] = [
    "apple": apple, "google": google, "revenuecat": revenuecat, "stripe": stripe,
]

let policy = CreditPolicy(["basic": .init(credits: 200), "pro": .init(credits: 500)])
let journal = Journal(try await SQLiteJournalStorage(path: "billing.sqlite"), now: { Date() })

/// A name in the path, which the router leaves percent-encoded: `ada%40example.com`.
func name(_ part: String, in context: some RequestContext) throws -> String {
    guard let name = try context.parameters.require(part).removingPercentEncoding else { throw HTTPError(.badRequest) }
    return name
}

let router = Router()
router.post("hooks/:provider") { request, context -> HTTPResponse.Status in
    guard let adapter = adapters[try context.parameters.require("provider")] else { return .notFound }
    let body = Array(buffer: try await request.body.collect(upTo: 1 << 20))
    let headers = Delivery.Headers(request.headers.map { ($0.name.rawName, $0.value) })
    let delivery = Delivery(headers: headers, body: body, receivedAt: Date())
    return .init(code: await journal.receive(delivery, with: adapter).status)
}
// Yours to add: who is signed in, and so may ask for a user.
router.get("access/:user") { _, context -> String in
    let user = Account.Identifier(try name("user", in: context), .appUserID)
    return "\(try await journal.access(of: [user], at: Date()).decision.isGranted)"
}
router.post("credits/:user/:job") { _, context -> HTTPResponse.Status in
    let user = Account.Identifier(try name("user", in: context), .appUserID)
    let job = try name("job", in: context)
    return try await journal.use(30, id: job, of: [user], under: policy, at: Date()) == nil ? .conflict : .ok
}
try await Application(router: router, configuration: .init(address: .hostname("127.0.0.1", port: 8080))).runService()
