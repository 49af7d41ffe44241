import LifecycleEvents
import SignatureCore

/// The names of things in a story: made from seed, story and purpose alone, so that the same seed gives the same names.
struct StoryIdentity: Sendable, Hashable {
    var seed: String
    var story: String

    private func hash(_ purpose: String) -> [UInt8] { SHA256.hash("\(seed)\n\(story)\n\(purpose)".utf8.span).bytes }

    /// So many lower-case hexadecimal digits, at most 64.
    func hexadecimal(_ purpose: String, _ count: Int) -> String {
        let digits = Array("0123456789abcdef")
        return String(hash(purpose).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }.prefix(count))
    }

    /// So many decimal digits, at most 32.
    func decimal(_ purpose: String, _ count: Int) -> String {
        hash(purpose).prefix(count).map { String($0 % 10) }.joined()
    }

    /// So many letters and digits, at most 32.
    func letters(_ purpose: String, _ count: Int, of alphabet: String = Self.alphanumeric) -> String {
        let letters = Array(alphabet)
        return String(hash(purpose).prefix(count).map { letters[Int($0) % letters.count] })
    }

    /// A UUID (RFC 9562, section 5.4) in lower case.
    func uuid(_ purpose: String) -> String {
        var digits = Array(hexadecimal(purpose, 32))
        digits[12] = "4"
        digits[16] = "a"
        let parts = [digits[..<8], digits[8..<12], digits[12..<16], digits[16..<20], digits[20...]]
        return parts.map { String($0) }.joined(separator: "-")
    }

    static let alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
}
