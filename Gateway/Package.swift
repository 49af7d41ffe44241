// swift-tools-version: 6.3
import PackageDescription

// A package of its own, so that a client of the libraries resolves no server.
let checked: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .treatWarning("DeprecatedDeclaration", as: .warning),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
]

let package = Package(
    name: "lifecycle-gateway",
    products: [.executable(name: "lifecycle-gateway", targets: ["lifecycle-gateway"])],
    dependencies: [
        .package(name: "swift-lifecycle-events", path: "..", traits: ["CommandLineTool"]),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.3.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.7.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.20.0"),
        .package(url: "https://github.com/apple/swift-system", from: "1.5.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.8.0"),
    ],
    targets: [
        .target(
            name: "Gateway",
            dependencies: [
                .product(name: "AppStoreServer", package: "swift-lifecycle-events"),
                .product(name: "AppleJWS", package: "swift-lifecycle-events"),
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "CurlTransport", package: "swift-lifecycle-events"),
                .product(name: "CustomerReport", package: "swift-lifecycle-events"),
                .product(name: "GooglePubSub", package: "swift-lifecycle-events"),
                .product(name: "HTTPTransport", package: "swift-lifecycle-events"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "LifecycleJournal", package: "swift-lifecycle-events"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "Normalizer", package: "swift-lifecycle-events"),
                .product(name: "PostgresJournal", package: "swift-lifecycle-events"),
                .product(name: "RevenueCatEvents", package: "swift-lifecycle-events"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
                .product(name: "SQLiteJournal", package: "swift-lifecycle-events"),
                .product(name: "Stripe", package: "swift-lifecycle-events"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            // In the program, so that it is one file to deploy. Two of them are links to the published schemas in docs.
            resources: ["answer-schema", "event-schema", "openapi", "state-schema"].map {
                .embedInCode("API/OpenAPI/\($0).json")
            },
            swiftSettings: checked
        ),
        .executableTarget(
            name: "lifecycle-gateway",
            dependencies: [
                "Gateway",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
            ],
            // Version.swift is that of the command line, which is compiled with its trait alone.
            swiftSettings: checked + [.define("CommandLineTool")]
        ),
        // The gateway with the simulator's keys, and a program that plays providers to it, see Scripts/chaos.
        .executableTarget(
            name: "gateway-chaos",
            dependencies: [
                "Gateway",
                .product(name: "AppleJWS", package: "swift-lifecycle-events"),
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "GooglePubSub", package: "swift-lifecycle-events"),
                .product(name: "HTTPTransport", package: "swift-lifecycle-events"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "LifecycleJournal", package: "swift-lifecycle-events"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "Normalizer", package: "swift-lifecycle-events"),
                .product(name: "NotificationSimulator", package: "swift-lifecycle-events"),
                .product(name: "PostgresJournal", package: "swift-lifecycle-events"),
                .product(name: "RevenueCatEvents", package: "swift-lifecycle-events"),
                .product(name: "SQLiteJournal", package: "swift-lifecycle-events"),
                .product(name: "Stripe", package: "swift-lifecycle-events"),
            ],
            path: "Tests/Chaos",
            swiftSettings: checked
        ),
        .testTarget(
            name: "GatewayTests",
            dependencies: [
                "Gateway",
                .product(name: "AppStoreServer", package: "swift-lifecycle-events"),
                .product(name: "AppleJWS", package: "swift-lifecycle-events"),
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "CurlTransport", package: "swift-lifecycle-events"),
                .product(name: "GooglePubSub", package: "swift-lifecycle-events"),
                .product(name: "HTTPTransport", package: "swift-lifecycle-events"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "InMemoryLogging", package: "swift-log"),
                .product(name: "LifecycleJournal", package: "swift-lifecycle-events"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "Normalizer", package: "swift-lifecycle-events"),
                .product(name: "NormalizerTesting", package: "swift-lifecycle-events"),
                .product(name: "NotificationSimulator", package: "swift-lifecycle-events"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "SQLiteJournal", package: "swift-lifecycle-events"),
                .product(name: "Stripe", package: "swift-lifecycle-events"),
            ],
            swiftSettings: checked
        ),
    ],
    swiftLanguageModes: [.v6]
)
