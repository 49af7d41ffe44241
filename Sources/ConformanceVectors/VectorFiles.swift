/// Every file of `TestVectors/` that the runner takes, made anew.
package enum VectorFiles {
    /// The files with their lines, by their paths under `TestVectors/`.
    package static func all() async throws -> [(path: String, lines: [String])] {
        var files = try await AppleVectors.lines().map { (path: "apple/\($0.file)", lines: $0.lines) }
        files += try await StripeVectors.files().map { (path: "stripe/\($0.name).jsonl", lines: $0.lines) }
        files += try await GoogleVectors.files().map { (path: "google/\($0.name).jsonl", lines: $0.lines) }
        files += try await RevenueCatVectors.files().map { (path: "revenuecat/\($0.name).jsonl", lines: $0.lines) }
        return files
    }
}
