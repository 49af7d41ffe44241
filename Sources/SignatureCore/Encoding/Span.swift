extension Span where Element == UInt8 {
    /// A copy of the octets.
    package var array: [UInt8] {
        [UInt8](capacity: count) { output in
            for index in indices { output.append(self[index]) }
        }
    }
}
