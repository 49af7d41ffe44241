// swift-tools-version: 6.3
import PackageDescription

// Apart from the other benchmarks, which then resolve no foreign Swift package.
let package = Package(
    name: "Refetch",
    dependencies: [
        .package(name: "swift-lifecycle-events", path: "../.."),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
    ],
    targets: [
        .executableTarget(
            name: "refetch-benchmark",
            dependencies: [
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "CurlTransport", package: "swift-lifecycle-events"),
                .product(name: "HTTPTransport", package: "swift-lifecycle-events"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]
        )
    ],
    swiftLanguageModes: [.v6]
)
