// swift-tools-version: 6.3
import PackageDescription

// Apart from the other benchmarks, which then resolve no foreign Swift package.
let package = Package(
    name: "SwiftCertificates",
    dependencies: [
        .package(name: "swift-lifecycle-events", path: "../.."),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0"),
        .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.0"),
    ],
    targets: [
        .executableTarget(
            name: "certificates-benchmark",
            dependencies: [
                .product(name: "AppleJWS", package: "swift-lifecycle-events"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "JWTKit", package: "jwt-kit"),
                .product(name: "Normalizer", package: "swift-lifecycle-events"),
                .product(name: "NotificationSimulator", package: "swift-lifecycle-events"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
            ]
        )
    ],
    swiftLanguageModes: [.v6]
)
