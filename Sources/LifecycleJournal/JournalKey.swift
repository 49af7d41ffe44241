import FoundationEssentials
import Normalizer
import SignatureCore

/// Keys and groups, as every database can store, compare and index them.
enum JournalKey {
    private static let longest = 500

    /// One text for several parts: different parts give different texts.
    static func text(_ parts: String...) -> String {
        let text = parts.map(escaped).joined(separator: "\n")
        guard text.utf8.count > longest else { return text }
        // An index entry has a limit of some kilobytes; an account's name has none.
        return String(text.unicodeScalars.prefix(60)) + "\n\\" + SHA256.hash(Array(text.utf8).span).hexadecimal
    }

    static func text(_ lineage: SubscriptionID) -> String { text(lineage.description) }

    static func text(_ account: Account.Identifier) -> String { text(account.lookupKey) }

    private static func escaped(_ part: String) -> String {
        guard part.utf8.contains(where: { $0 == 0 || $0 == 0x0A || $0 == UInt8(ascii: "\\") }) else { return part }
        var result = String.UnicodeScalarView()
        for scalar in part.unicodeScalars {
            switch scalar {
            case "\0": result.append(contentsOf: "\\0".unicodeScalars)
            case "\n": result.append(contentsOf: "\\n".unicodeScalars)
            case "\\": result.append(contentsOf: "\\\\".unicodeScalars)
            default: result.append(scalar)
            }
        }
        return String(result)
    }

    /// The key of a line of the log: a digest of all but the time of receipt, so that a repeated delivery is the same line. One that a
    /// history repeats has the key that the webhook gave it.
    ///
    /// - Parameter isOwn: true for the key that version 0.12 and earlier gave to a line from a history.
    static func text(_ line: LogLine, withOwnChannel isOwn: Bool = false) throws -> String {
        var line = line
        func channel(_ channel: Origin.Channel) -> Origin.Channel { channel == .history && !isOwn ? .webhook : channel }
        switch line {
        case .event(var event):
            event.receivedAt = Date(timeIntervalSince1970: 0)
            event.origin.channel = channel(event.origin.channel)
            line = .event(event)
        case .statement(var statement):
            statement.origin.channel = channel(statement.origin.channel)
            line = .statement(statement)
        }
        return digest(try CanonicalJSON.bytes(line))
    }

    static func digest(_ bytes: [UInt8]) -> String { SHA256.hash(bytes.span).hexadecimal }
}

extension Date {
    /// Milliseconds since 1970, for a row's order.
    var milliseconds: Int64 { millisecondsSince1970 }
}

extension Duration {
    /// Whole milliseconds, none for a duration below zero.
    var milliseconds: Int64 { max(0, wholeMilliseconds) }
}
