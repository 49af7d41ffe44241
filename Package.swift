// swift-tools-version: 6.3
import PackageDescription

// Each feature is explained at https://www.swift.org/swift-evolution/ under its name.
let checked: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .treatWarning("DeprecatedDeclaration", as: .warning),
    .treatWarning("ExplicitSendable", as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("ImmutableWeakCaptures"),
]

let strict = checked + [.strictMemorySafety()]

// The providers' adapters: a product each, and what all of them are dependencies of. `Scripts/rules` and `Scripts/linkage` read this line.
let adapters = ["AppleJWS", "GooglePubSub", "RevenueCatEvents", "Stripe"]
let adapterTargets = adapters.map { Target.Dependency.byName(name: $0) }

let package = Package(
    name: "swift-lifecycle-events",
    // Linux is built and tested. `Span` of a string's UTF-8 needs this on Apple's systems, where nothing is tested.
    platforms: [.macOS(.v26), .iOS(.v26), .tvOS(.v26), .watchOS(.v26), .visionOS(.v26)],
    products: [
        .library(name: "LifecycleEvents", targets: ["LifecycleEvents"]),
        .library(name: "LifecycleJournal", targets: ["LifecycleJournal"]),
        .library(name: "Normalizer", targets: ["Normalizer"]),
        .library(name: "AppStoreServer", targets: ["AppStoreServer"]),
        .library(name: "CurlTransport", targets: ["CurlTransport"]),
        .library(name: "CustomerReport", targets: ["CustomerReport"]),
        .library(name: "HTTPTransport", targets: ["HTTPTransport"]),
        .library(name: "NormalizerTesting", targets: ["NormalizerTesting"]),
        .library(name: "NotificationSimulator", targets: ["NotificationSimulator"]),
        .library(name: "PostgresJournal", targets: ["PostgresJournal"]),
        .library(name: "SQLiteJournal", targets: ["SQLiteJournal"]),
        .library(name: "ShadowComparison", targets: ["ShadowComparison"]),
        .executable(name: "lifecycle", targets: ["lifecycle"]),
    ],
    traits: [
        .trait(
            name: "CommandLineTool",
            description: "Builds the executable `lifecycle`. Without it, nothing depends on another Swift package."
        )
    ],
    dependencies: [
        // Behind the trait, so that a package that depends on a library product does not even resolve it.
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0")
    ],
    targets: [
        .systemLibrary(
            name: "CLifecycleCurl",
            pkgConfig: "libcurl",
            providers: [.apt(["libcurl4-openssl-dev"]), .brew(["curl"])]
        ),
        .systemLibrary(
            name: "CLifecycleOpenSSL",
            pkgConfig: "libcrypto",
            providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]
        ),
        .systemLibrary(
            name: "CLifecyclePostgres",
            pkgConfig: "libpq",
            providers: [.apt(["libpq-dev"]), .brew(["libpq"])]
        ),
        .systemLibrary(
            name: "CLifecycleSQLite",
            pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite3"])]
        ),
        .target(name: "WireJSON", swiftSettings: strict),
        .target(
            name: "SignatureCore",
            dependencies: ["CLifecycleOpenSSL"],
            swiftSettings: strict
        ),
        .target(
            name: "JSONWebSignature",
            dependencies: ["SignatureCore", "WireJSON"],
            swiftSettings: strict
        ),
        .target(name: "LifecycleEvents", dependencies: ["SignatureCore", "WireJSON"], swiftSettings: strict),
        .target(name: "Normalizer", dependencies: ["LifecycleEvents", "SignatureCore"], swiftSettings: strict),
        .target(name: "BlockingExecution", swiftSettings: strict),
        .target(
            name: "LifecycleJournal",
            dependencies: ["LifecycleEvents", "Normalizer", "SignatureCore"],
            swiftSettings: strict
        ),
        .target(
            name: "PostgresJournal",
            dependencies: ["BlockingExecution", "CLifecyclePostgres", "LifecycleEvents", "LifecycleJournal"],
            swiftSettings: strict
        ),
        .target(
            name: "SQLiteJournal",
            dependencies: ["BlockingExecution", "CLifecycleSQLite", "LifecycleJournal"],
            swiftSettings: strict
        ),
        .target(
            name: "AppleJWS",
            dependencies: ["JSONWebSignature", "LifecycleEvents", "SignatureCore", "WireJSON"],
            swiftSettings: strict
        ),
        // Apple's server API. Apart from `AppleJWS`, which needs no network.
        .target(
            name: "AppStoreServer",
            dependencies: ["AppleJWS", "HTTPTransport", "LifecycleEvents", "SignatureCore", "WireJSON"],
            swiftSettings: strict
        ),
        .target(
            name: "CurlTransport",
            dependencies: ["CLifecycleCurl", "HTTPTransport"],
            swiftSettings: strict
        ),
        .target(
            name: "GooglePubSub",
            dependencies: ["HTTPTransport", "JSONWebSignature", "LifecycleEvents", "SignatureCore", "WireJSON"],
            swiftSettings: strict
        ),
        .target(name: "HTTPTransport", swiftSettings: strict),
        .target(
            name: "NormalizerTesting",
            dependencies: ["HTTPTransport", "LifecycleJournal", "Normalizer"],
            swiftSettings: strict
        ),
        .target(
            name: "RevenueCatEvents",
            dependencies: ["HTTPTransport", "LifecycleEvents", "SignatureCore", "WireJSON"],
            swiftSettings: strict
        ),
        .target(
            name: "Stripe",
            dependencies: ["HTTPTransport", "LifecycleEvents", "SignatureCore", "WireJSON"],
            swiftSettings: strict
        ),
        // Apart from `Normalizer`, since only who moves from one channel to another has a use for it.
        .target(
            name: "ShadowComparison",
            dependencies: ["Normalizer", "SignatureCore"],
            swiftSettings: strict
        ),
        // A page that shows what a customer's purchases went through. Apart, since a backend does not need it.
        .target(
            name: "CustomerReport",
            dependencies: ["Normalizer", "SignatureCore"],
            swiftSettings: strict
        ),
        .target(
            name: "SignatureIssuing",
            dependencies: ["CLifecycleOpenSSL", "SignatureCore", "WireJSON"],
            swiftSettings: strict
        ),
        .target(
            name: "NotificationSimulator",
            dependencies: ["JSONWebSignature", "LifecycleEvents", "SignatureCore", "SignatureIssuing", "WireJSON"],
            swiftSettings: strict
        ),
        // An adapter from a configuration in JSON, for the command line and for test vectors.
        .target(
            name: "ReceiverConfiguration",
            dependencies: adapterTargets + [
                "HTTPTransport", "JSONWebSignature", "Normalizer", "SignatureCore", "WireJSON",
            ],
            swiftSettings: strict
        ),
        // Test vectors: their format, what runs them, and what compares. What makes them is in Tests/VectorGenerator.
        .target(
            name: "ConformanceVectors",
            dependencies: ["HTTPTransport", "Normalizer", "ReceiverConfiguration", "SignatureCore", "WireJSON"],
            swiftSettings: strict
        ),
        // What every documented notification becomes.
        .target(
            name: "NotificationCoverage",
            dependencies: [
                "ConformanceVectors", "JSONWebSignature", "Normalizer", "NotificationSimulator", "SignatureCore",
                "WireJSON",
            ],
            swiftSettings: strict
        ),
        // Stories of the simulator, taken in by the adapters in any order.
        .target(
            name: "StoryReceiving",
            dependencies: adapterTargets + [
                "AppStoreServer", "ConformanceVectors", "HTTPTransport", "Normalizer", "NormalizerTesting",
                "NotificationSimulator", "ReceiverConfiguration", "SignatureCore", "WireJSON",
            ],
            swiftSettings: strict
        ),
        .systemLibrary(
            name: "CLoopbackTLS",
            pkgConfig: "libssl",
            providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]
        ),
        // Sockets and OpenSSL from end to end. It serves tests and developers on the loopback interface, and no product
        // but the command line has it; so memory safety is not enforced in it.
        .target(name: "LoopbackServer", dependencies: ["CLoopbackTLS", "HTTPTransport"], swiftSettings: checked),
        .executableTarget(
            name: "lifecycle",
            dependencies: adapterTargets + [
                "AppStoreServer",
                "ConformanceVectors",
                "CurlTransport",
                "CustomerReport",
                "HTTPTransport",
                "LifecycleJournal",
                "NotificationCoverage",
                "NotificationSimulator",
                "Normalizer",
                "PostgresJournal",
                "ReceiverConfiguration",
                "SQLiteJournal",
                "ShadowComparison",
                "StoryReceiving",
                "WireJSON",
                .target(name: "LoopbackServer", condition: .when(traits: ["CommandLineTool"])),
                .product(
                    name: "ArgumentParser",
                    package: "swift-argument-parser",
                    condition: .when(traits: ["CommandLineTool"])
                ),
            ],
            swiftSettings: strict
        ),
        .testTarget(name: "WireJSONTests", dependencies: ["SchemaSupport", "WireJSON"], swiftSettings: strict),
        .testTarget(
            name: "SignatureCoreTests",
            dependencies: ["CLifecycleOpenSSL", "JSONWebSignature", "SignatureCore", "SignatureIssuing"],
            swiftSettings: strict
        ),
        .target(name: "SchemaSupport", dependencies: ["WireJSON"], path: "Tests/SchemaSupport", swiftSettings: strict),
        // A receiver that trusts the simulated App Store.
        .target(
            name: "SimulatedTrust",
            dependencies: ["AppleJWS", "NotificationSimulator"],
            path: "Tests/SimulatedTrust",
            swiftSettings: strict
        ),
        // Google's own Pub/Sub emulator, where it is installed.
        .target(
            name: "PubSubEmulator",
            dependencies: ["CurlTransport", "HTTPTransport", "LoopbackServer"],
            path: "Tests/PubSubEmulator",
            swiftSettings: strict
        ),
        // Makes `TestVectors/`: the cases, and what signs them.
        .target(
            name: "VectorGenerator",
            dependencies: [
                "ConformanceVectors", "JSONWebSignature", "Normalizer", "NotificationSimulator",
                "ReceiverConfiguration", "SignatureCore", "SignatureIssuing", "WireJSON",
            ],
            path: "Tests/VectorGenerator",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "generate-vectors",
            dependencies: ["Normalizer", "VectorGenerator"],
            path: "Tests/generate-vectors",
            swiftSettings: strict
        ),
        // Where bytes from outside enter, with what has to be so whatever they are; driven by `Fuzz/` and by a test.
        .target(
            name: "FuzzTargets",
            dependencies: [
                "ConformanceVectors", "GooglePubSub", "HTTPTransport", "JSONWebSignature", "Normalizer",
                "NormalizerTesting", "NotificationSimulator", "ReceiverConfiguration", "RevenueCatEvents",
                "SchemaSupport", "SignatureCore", "SignatureIssuing", "Stripe", "WireJSON",
            ],
            path: "Tests/FuzzTargets",
            swiftSettings: strict
        ),
        // What holds for the package as a whole: coverage, conformance of adapters, inputs that once failed.
        .testTarget(
            name: "ConformanceTests",
            dependencies: adapterTargets + [
                "ConformanceVectors", "FuzzTargets", "HTTPTransport", "Normalizer", "NormalizerTesting",
                "NotificationCoverage", "NotificationSimulator", "SimulatedTrust", "ReceiverConfiguration",
                "SchemaSupport",
                "VectorGenerator", "WireJSON",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "NormalizerTests",
            dependencies: ["LifecycleEvents", "Normalizer", "NormalizerTesting", "SchemaSupport", "WireJSON"],
            swiftSettings: strict
        ),
        // Runs `lifecycle`, and compiles without waiting for it: a build with tests has all executables.
        .testTarget(
            name: "LifecycleJournalTests",
            dependencies: [
                "HTTPTransport", "LifecycleJournal", "Normalizer", "NormalizerTesting", "NotificationSimulator",
                "PostgresJournal", "SQLiteJournal", "Stripe", "WireJSON",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "CurlTransportTests",
            dependencies: ["CLifecycleCurl", "CurlTransport", "HTTPTransport", "LoopbackServer", "NormalizerTesting"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "HTTPTransportTests",
            dependencies: ["HTTPTransport", "NormalizerTesting"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "StripeTests",
            dependencies: [
                "ConformanceVectors", "CurlTransport", "HTTPTransport", "LoopbackServer", "Normalizer",
                "NormalizerTesting", "NotificationSimulator", "Stripe", "VectorGenerator", "WireJSON",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "AppleJWSTests",
            dependencies: [
                "AppleJWS", "ConformanceVectors", "LifecycleEvents", "Normalizer", "NormalizerTesting",
                "NotificationSimulator", "SimulatedTrust", "SchemaSupport", "SignatureCore", "SignatureIssuing",
                "VectorGenerator",
                "WireJSON",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "AppStoreServerTests",
            dependencies: [
                "AppStoreServer", "AppleJWS", "CurlTransport", "HTTPTransport", "JSONWebSignature", "LifecycleEvents",
                "LifecycleJournal", "LoopbackServer", "Normalizer", "NormalizerTesting", "NotificationSimulator",
                "SimulatedTrust",
                "SignatureCore",
                "SignatureIssuing", "WireJSON",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "CustomerReportTests",
            dependencies: ["CustomerReport", "LifecycleEvents", "Normalizer"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "GooglePubSubTests",
            dependencies: [
                "ConformanceVectors", "CurlTransport", "GooglePubSub", "HTTPTransport", "JSONWebSignature",
                "LifecycleJournal", "LoopbackServer", "Normalizer", "NormalizerTesting", "PubSubEmulator",
                "SignatureCore", "SignatureIssuing", "VectorGenerator", "WireJSON",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "RevenueCatEventsTests",
            dependencies: [
                "AppleJWS", "ConformanceVectors", "CurlTransport", "HTTPTransport", "LifecycleJournal",
                "LoopbackServer", "Normalizer", "NormalizerTesting", "NotificationSimulator", "SimulatedTrust",
                "RevenueCatEvents",
                "ShadowComparison", "VectorGenerator", "WireJSON",
            ],
            swiftSettings: strict
        ),
        // What two channels say of one fact, from end to end through their adapters.
        .testTarget(
            name: "ChannelIdentityTests",
            dependencies: [
                "AppleJWS", "GooglePubSub", "HTTPTransport", "Normalizer", "NormalizerTesting", "NotificationSimulator",
                "SimulatedTrust",
                "RevenueCatEvents", "ShadowComparison", "SignatureCore", "SignatureIssuing", "VectorGenerator",
                "WireJSON",
            ],
            swiftSettings: strict
        ),
        // Every story on every provider, in every order.
        .testTarget(
            name: "SimulatorTests",
            dependencies: [
                "ConformanceVectors", "HTTPTransport", "LifecycleJournal", "Normalizer", "NormalizerTesting",
                "NotificationSimulator", "RevenueCatEvents", "StoryReceiving",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "CLITests",
            dependencies: [
                "ConformanceVectors", "CurlTransport", "GooglePubSub", "HTTPTransport", "lifecycle",
                "LifecycleJournal", "LoopbackServer", "Normalizer", "NotificationSimulator", "PubSubEmulator",
                "ReceiverConfiguration", "SQLiteJournal", "StoryReceiving", "Stripe", "WireJSON",
            ],
            swiftSettings: strict
        ),
    ],
    swiftLanguageModes: [.v6]
)

// A product for each adapter, and an executable that depends on it alone.
for adapter in adapters {
    package.products.append(.library(name: adapter, targets: [adapter]))
    package.targets.append(
        .executableTarget(
            name: "links-\(adapter)",
            dependencies: [.byName(name: adapter)],
            path: "Tests/Linkage/\(adapter)",
            swiftSettings: strict
        )
    )
}

// Fuzz/ is a package of its own and reaches the modules without a product through this one, which clients never see.
if Context.environment["LIFECYCLE_FUZZ"] != nil {
    package.products.append(.library(name: "FuzzTargets", targets: ["FuzzTargets"]))
}

// `Scripts/test` sets this: its walks take thousands of lives through the optimized modules, and a module of tests compiled at once
// takes a quarter less of the processor than in batches. No client sets it.
if Context.environment["LIFECYCLE_OPTIMIZED"] != nil {
    let optimized = ["JSONWebSignature", "LifecycleEvents", "Normalizer", "SignatureCore", "WireJSON"]
    for target in package.targets {
        let flags: [String]
        switch target.type {
        case .test:
            flags = [
                "-whole-module-optimization", "-num-threads", "1", "-no-emit-module-separately-wmo",
                "-disable-batch-mode",
            ]
        // A process compiles at most 25 files. On two cores the last of Normalizer's three would wait for the others, and a core with it.
        case _ where optimized.contains(target.name): flags = ["-Osize", "-j4"]
        default: continue
        }
        target.swiftSettings = (target.swiftSettings ?? []) + [.unsafeFlags(flags)]
    }
}

// `LIFECYCLE_TESTS=StripeTests,NormalizerTests swift test` builds and runs these alone, while you work on one module.
if let names = Context.environment["LIFECYCLE_TESTS"]?.split(separator: ",").map(String.init) {
    package.targets.removeAll { $0.type == .test && !names.contains($0.name) }
}
