import Normalizer

/// Text of an HTML document. Every interpolated value is text and never markup, unless it is `HTML` itself.
///
/// Payloads hold texts of customers and attackers, so escaping is the default.
struct HTML: Sendable, ExpressibleByStringInterpolation {
    private(set) var text: String

    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text = ""

        init(literalCapacity: Int, interpolationCount: Int) {
            text.reserveCapacity(literalCapacity + 16 * interpolationCount)
        }

        mutating func appendLiteral(_ literal: String) { text += literal }
        mutating func appendInterpolation(_ value: HTML) { text += value.text }
        mutating func appendInterpolation(_ values: [HTML]) { for value in values { text += value.text } }
        mutating func appendInterpolation(_ value: some BinaryInteger) { text += String(value) }
        mutating func appendInterpolation(_ value: String) { text += HTML.escaped(value) }
        mutating func appendInterpolation(_ value: some OpenValue) { text += HTML.escaped(value.rawValue) }
    }

    init(stringLiteral value: String) { text = value }
    init(stringInterpolation: StringInterpolation) { text = stringInterpolation.text }

    /// The text with everything escaped that means something in an element or in a quoted attribute, and with control
    /// characters, which HTML does not allow, made visible.
    static func escaped(_ value: String) -> String {
        var result = String.UnicodeScalarView()
        for scalar in value.unicodeScalars {
            switch scalar {
            case "&": result.append(contentsOf: "&amp;".unicodeScalars)
            case "<": result.append(contentsOf: "&lt;".unicodeScalars)
            case ">": result.append(contentsOf: "&gt;".unicodeScalars)
            case "\"": result.append(contentsOf: "&quot;".unicodeScalars)
            case "'": result.append(contentsOf: "&#39;".unicodeScalars)
            // They would change the order in which a reader sees the rest of the line.
            case "\u{202A}"..."\u{202E}", "\u{2066}"..."\u{2069}": result.append("\u{FFFD}")
            case _ where scalar.value < 0x20 && scalar != "\n" && scalar != "\t" || scalar.value == 0x7F:
                result.append("\u{FFFD}")
            default: result.append(scalar)
            }
        }
        return String(result)
    }
}
