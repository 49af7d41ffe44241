/// Writes the few JSON documents that are sent to Google.
enum JSONText {
    enum Value {
        case string(String)
        case integer(Int64)
        case strings([String])
    }

    static func object(_ members: [(String, Value)]) -> [UInt8] {
        let texts = members.map { "\(quoted($0)):\(text($1))" }
        return Array("{\(texts.joined(separator: ","))}".utf8)
    }

    private static func text(_ value: Value) -> String {
        switch value {
        case .string(let text): quoted(text)
        case .integer(let number): String(number)
        case .strings(let texts): "[\(texts.map(quoted).joined(separator: ","))]"
        }
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case _ where scalar.value < 0x20:
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
