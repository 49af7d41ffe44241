import Foundation

/// The description of the API, as it is served at `/openapi.json`: `openapi.json`, with all schemas as components.
///
/// The schemas come from `answer-schema.json` and from the published ones in `docs/`, which have definitions in common. Calls
/// that need a token get the responses that all of them have.
enum OpenAPI {
    /// The document, which is put together once.
    static let document = Result { try whole }

    private static var whole: [UInt8] {
        get throws {
            var document = try object(PackageResources.openapi_json)
            var components = document["components"] as? Object ?? [:]
            var schemas = components["schemas"] as? Object ?? [:]
            for (name, part) in try [("event", event), ("state", state), ("", answers)] {
                var schema = part
                schemas.merge(schema["$defs"] as? Object ?? [:]) { first, _ in first }
                for member in ["$defs", "$schema"] { schema[member] = nil }
                if !name.isEmpty { schemas[name] = schema }
            }
            components["schemas"] = schemas
            document["components"] = components
            document["paths"] = (document["paths"] as? [String: [String: Object]] ?? [:])
                .mapValues { $0.mapValues(withCommonResponses) }
            return Array(
                try JSONSerialization.data(withJSONObject: document, options: [.sortedKeys, .withoutEscapingSlashes])
            )
        }
    }

    typealias Object = [String: Any]

    /// The schemas, each of which names its definitions as the document names components.
    static var event: Object { get throws { try object(PackageResources.event_schema_json) } }
    static var state: Object { get throws { try object(PackageResources.state_schema_json) } }
    static var answers: Object { get throws { try object(PackageResources.answer_schema_json) } }

    private static func object(_ bytes: [UInt8]) throws -> Object {
        let text = String(decoding: bytes, as: UTF8.self).replacing("#/$defs/", with: "#/components/schemas/")
        return try JSONSerialization.jsonObject(with: Data(text.utf8)) as? Object ?? [:]
    }

    private static func withCommonResponses(_ operation: Object) -> Object {
        if let security = operation["security"] as? [Any], security.isEmpty { return operation }
        var operation = operation
        var responses = operation["responses"] as? Object ?? [:]
        var common = [("400", "bad_request"), ("401", "unauthorized"), ("403", "forbidden"), ("5XX", "failed")]
        if operation["requestBody"] != nil { common += [("408", "late"), ("413", "too_long")] }
        for (status, name) in common where responses[status] == nil {
            responses[status] = ["$ref": "#/components/responses/\(name)"]
        }
        operation["responses"] = responses
        return operation
    }
}
