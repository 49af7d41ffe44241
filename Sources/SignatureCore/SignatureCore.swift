package struct Digest { package var hexadecimal: String { String(repeating: "0", count: 64) } }
package enum SHA256 { package static func hash(_ b: Span<UInt8>) -> Digest { Digest() } }
