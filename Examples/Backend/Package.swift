// swift-tools-version: 6.3
import PackageDescription

// A package of its own, so that a client of the libraries resolves no server.
let package = Package(
    name: "Backend",
    dependencies: [
        .package(name: "swift-lifecycle-events", path: "../.."),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
    ],
    targets: [
        .executableTarget(
            name: "Backend",
            dependencies: [
                .product(name: "AppleJWS", package: "swift-lifecycle-events"),
                .product(name: "CurlTransport", package: "swift-lifecycle-events"),
                .product(name: "GooglePubSub", package: "swift-lifecycle-events"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "LifecycleJournal", package: "swift-lifecycle-events"),
                .product(name: "RevenueCatEvents", package: "swift-lifecycle-events"),
                .product(name: "SQLiteJournal", package: "swift-lifecycle-events"),
                .product(name: "Stripe", package: "swift-lifecycle-events"),
            ]
        )
    ],
    swiftLanguageModes: [.v6]
)
