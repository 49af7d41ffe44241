// swift-tools-version: 6.3
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

// A package of its own, so that clients of the libraries do not build it. Like users, it sees only the public API.
let package = Package(
    name: "Benchmarks",
    dependencies: [.package(name: "swift-lifecycle-events", path: "..")],
    targets: [
        .systemLibrary(name: "CBenchmarkOpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CBenchmarkSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CBenchmarkPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .target(name: "RawOpenSSL", dependencies: ["CBenchmarkOpenSSL"]),
        .target(name: "RawDatabase", dependencies: ["CBenchmarkSQLite", "CBenchmarkPostgres"]),
        .target(name: "AllocationCount"),
        .target(name: "CountedRegion"),
        // The sources of WireJSON once more under another name, since that module is for this repository's targets only.
        .target(
            name: "ReaderUnderTest",
            swiftSettings: settings + [.enableUpcomingFeature("InternalImportsByDefault")]
        ),
        .executableTarget(
            name: "lifecycle-benchmarks",
            dependencies: [
                "AllocationCount",
                "CountedRegion",
                "RawDatabase",
                "RawOpenSSL",
                "ReaderUnderTest",
                .product(name: "AppleJWS", package: "swift-lifecycle-events"),
                .product(name: "GooglePubSub", package: "swift-lifecycle-events"),
                .product(name: "LifecycleJournal", package: "swift-lifecycle-events"),
                .product(name: "NotificationSimulator", package: "swift-lifecycle-events"),
                .product(name: "Normalizer", package: "swift-lifecycle-events"),
                .product(name: "PostgresJournal", package: "swift-lifecycle-events"),
                .product(name: "RevenueCatEvents", package: "swift-lifecycle-events"),
                .product(name: "SQLiteJournal", package: "swift-lifecycle-events"),
                .product(name: "Stripe", package: "swift-lifecycle-events"),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
