// swift-tools-version: 6.3
import PackageDescription

// A package of its own, so that nobody who depends on the libraries builds it. `Scripts/fuzz` builds and runs it.
let package = Package(
    name: "Fuzz",
    dependencies: [.package(name: "swift-lifecycle-events", path: "..")],
    targets: [
        .target(
            name: "FuzzDriver",
            dependencies: [.product(name: "FuzzTargets", package: "swift-lifecycle-events")]
        ),
        .executableTarget(name: "fuzz", dependencies: ["FuzzDriver"]),
        // The same without libFuzzer: it writes seeds and measures, for comparison, what sanitizers slow down.
        .executableTarget(name: "measure", dependencies: ["FuzzDriver"]),
    ],
    swiftLanguageModes: [.v6]
)
