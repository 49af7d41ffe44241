import SignatureCore
import Synchronization

/// The SHA-256 of raw bytes, in hexadecimal, computed when it is first asked for.
///
/// Hashing takes as long as proving a keyed signature, and a host that only switches over an event never reads the digest.
/// Until it is read, the bytes stay in memory, shared by all that was made from them.
package struct BodyDigest: Hashable, Sendable, Codable {
    private enum Contents {
        case text(String)
        case unread(Bytes)
    }

    private final class Bytes: Sendable {
        private enum State {
            case octets([UInt8])
            case text(String)
        }

        private let state: Mutex<State>

        init(_ octets: [UInt8]) { state = Mutex(.octets(octets)) }

        var text: String {
            state.withLock { state in
                switch state {
                case .text(let text):
                    return text
                case .octets(let octets):
                    let text = SHA256.hash(octets.span).hexadecimal
                    state = .text(text)
                    return text
                }
            }
        }
    }

    private let contents: Contents

    /// Keeps a digest that was computed elsewhere.
    package init(_ text: String) { contents = .text(text) }

    /// The digest of `bytes`.
    package init(of bytes: [UInt8]) { contents = .unread(Bytes(bytes)) }

    /// The digits.
    package var text: String {
        switch contents {
        case .text(let text): text
        case .unread(let bytes): bytes.text
        }
    }

    package static func == (left: BodyDigest, right: BodyDigest) -> Bool {
        if case (.unread(let left), .unread(let right)) = (left.contents, right.contents), left === right {
            return true
        }
        return left.text == right.text
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(text) }

    package init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(String.self))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

// The bytes are not for a log; the digest is.
extension BodyDigest: CustomStringConvertible, CustomReflectable {
    package var description: String { text }
    package var customMirror: Mirror { Mirror(self, children: [:], displayStyle: .struct) }
}
