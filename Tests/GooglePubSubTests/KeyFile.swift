import FoundationEssentials
import GooglePubSub
import Normalizer
import SignatureCore
import SignatureIssuing

/// The key file of a service account, with members replaced (nil removes one). Values are JSON.
enum KeyFile {
    static let pem = Result { String(decoding: try Google.keys.get().current.privatePEM(), as: UTF8.self) }

    static func escaped(_ text: String) -> String {
        let escaped = text.unicodeScalars.map { scalar in
            switch scalar {
            case "\\": "\\\\"
            case "\n": "\\n"
            case "\r": "\\r"
            default: String(scalar)
            }
        }
        return "\"\(escaped.joined())\""
    }

    static func text(_ changes: KeyValuePairs<String, String?> = [:]) throws -> String {
        var members: [(String, String)] = [
            ("type", "\"service_account\""), ("project_id", "\"project-one\""), ("private_key_id", "\"key-1\""),
            ("private_key", escaped(try pem.get())),
            ("client_email", "\"reader@project-one.iam.gserviceaccount.com\""), ("client_id", "\"1\""),
            ("auth_uri", "\"https://accounts.google.com/o/oauth2/auth\""),
            ("token_uri", "\"https://oauth2.googleapis.com/token\""), ("universe_domain", "\"googleapis.com\""),
        ]
        for (name, value) in changes {
            members.removeAll { $0.0 == name }
            if let value { members.append((name, value)) }
        }
        return "{" + members.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
    }

    static func account(_ changes: KeyValuePairs<String, String?> = [:]) throws -> ServiceAccount {
        try ServiceAccount(keyFile: SecretBytes(text(changes)))
    }
}
