extension Decoder {
    /// Reads again what was stored as received. Who decodes expects a `DecodingError`, whatever the reader throws.
    package func reread<Value>(_ read: () throws -> Value) throws -> Value {
        do { return try read() } catch {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: codingPath, debugDescription: "\(error)", underlyingError: error)
            )
        }
    }
}
