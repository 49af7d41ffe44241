// swift-tools-version: 6.3
import PackageDescription

// A package of its own, so that nobody who depends on the libraries builds a server and a database.
let package = Package(
    name: "Backend",
    dependencies: [
        .package(name: "swift-lifecycle-events", path: "../.."),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: [
        .executableTarget(
            name: "Backend",
            dependencies: [
                .product(name: "AppleJWS", package: "swift-lifecycle-events"),
                .product(name: "CurlTransport", package: "swift-lifecycle-events"),
                .product(name: "GooglePubSub", package: "swift-lifecycle-events"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Normalizer", package: "swift-lifecycle-events"),
                .product(name: "RevenueCatEvents", package: "swift-lifecycle-events"),
                .product(name: "Stripe", package: "swift-lifecycle-events"),
            ]
        ),
        .testTarget(
            name: "BackendTests",
            dependencies: [
                "Backend",
                .product(name: "HTTPTransport", package: "swift-lifecycle-events"),
                .product(name: "HummingbirdTesting", package: "hummingbird"),
                .product(name: "NormalizerTesting", package: "swift-lifecycle-events"),
                .product(name: "NotificationSimulator", package: "swift-lifecycle-events"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)
