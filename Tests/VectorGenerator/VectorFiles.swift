package import Normalizer

/// Every file of `TestVectors/` that the runner takes, made again.
package enum VectorFiles {
    /// A provider's files with their lines, by their paths under `TestVectors/`.
    ///
    /// - Throws: `VectorError` that names the cases which do not come to what is stated of them.
    package static func all(of provider: Provider) async throws -> [(path: String, lines: [String])] {
        let files: [(path: String, lines: [String])] =
            switch provider {
            case .apple: try await AppleVectors.lines().map { ($0.file, $0.lines) }
            case .google: try await GoogleVectors.files().map { ("\($0.name).jsonl", $0.lines) }
            case .revenuecat: try await RevenueCatVectors.files().map { ("\($0.name).jsonl", $0.lines) }
            case .stripe: try await StripeVectors.files().map { ("\($0.name).jsonl", $0.lines) }
            default: []
            }
        return try files.map { ("\(provider.rawValue)/\($0.path)", try SharingWriter($0.lines).lines()) }
    }
}
