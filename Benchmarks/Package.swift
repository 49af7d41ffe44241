// swift-tools-version: 6.3
import PackageDescription

// A package of its own, so that nobody who depends on the libraries builds it. It sees what users see: public API only.
let package = Package(
    name: "Benchmarks",
    dependencies: [.package(name: "swift-lifecycle-events", path: "..")],
    targets: [
        .systemLibrary(name: "CBenchmarkOpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .target(name: "RawOpenSSL", dependencies: ["CBenchmarkOpenSSL"]),
        .executableTarget(
            name: "lifecycle-benchmarks",
            dependencies: [
                "RawOpenSSL",
                .product(name: "AppleJWS", package: "swift-lifecycle-events"),
                .product(name: "NotificationSimulator", package: "swift-lifecycle-events"),
                .product(name: "Normalizer", package: "swift-lifecycle-events"),
                .product(name: "Stripe", package: "swift-lifecycle-events"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)
