/// Every file of `TestVectors/`, made anew.
package enum VectorFiles {
    /// The files with their lines, by their paths under `TestVectors/`.
    package static func all() async throws -> [(path: String, lines: [String])] {
        try await AppleVectors.lines().map { ("apple/\($0.file)", $0.lines) }
    }
}
