import NotificationSimulator
import SignatureCore
import WireJSON

/// A case whose octets are made by code: certificates that no authority would issue.
struct AppleCase {
    var id: String
    var body: [UInt8]
    var config: JSONMembers
    /// The code of the refusal; nil where the test notification is taken.
    var code: String?
    /// The fine cause of a refusal.
    var reason: String?
    var tier = "must"
    var tags: [String] = []
    var note: String?

    /// The cases as a file of `Tests/Vectors/`.
    static func file(_ cases: [AppleCase]) -> JSONMembers {
        JSONMembers([
            ("provider", "apple"), ("now", .integer(AppleVectorWorld.received)), ("config", [:]),
            ("send", ["wrap": false]), ("cases", .array(cases.map(\.json))),
        ])
    }

    private var json: JSONText {
        var members = JSONMembers([
            ("id", .string(id)), ("tier", .string(tier)), ("tags", .array(tags.map { .string($0) })),
            ("base64", .string(base64(body))), ("config", .object(config)),
            (
                "expect",
                code.map { ["reject": .string($0)] }
                    ?? ["events": [["kind": "notice", "detail": ["facts": [:], "kind": "test"]]], "whole": true]
            ),
        ])
        if let reason { members.append("reason", .string(reason)) }
        if let note { members.append("note", .string(note)) }
        return .object(members)
    }
}

func base64(_ bytes: [UInt8]) -> String {
    String(decoding: Base64.encode(bytes.span), as: UTF8.self)
}
