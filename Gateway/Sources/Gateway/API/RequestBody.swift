import Hummingbird

/// The body of a request. It has no members but the known ones: a misspelled one would be about something else without a word.
protocol RequestBody: Decodable {
    associatedtype Member: CodingKey & CaseIterable
}

/// A body that was read with all of its members known.
struct Checked<Body: RequestBody>: Decodable {
    var body: Body

    /// - Throws: `HTTPError` with 400 and the known names.
    init(from decoder: any Decoder) throws {
        let known = Body.Member.allCases.map(\.stringValue)
        let stated = try decoder.container(keyedBy: AnyMember.self).allKeys.map(\.stringValue)
        guard stated.allSatisfy(known.contains) else {
            throw HTTPError(.badRequest, message: "the members are \(known.sorted().joined(separator: ", "))")
        }
        body = try Body(from: decoder)
    }

    private struct AnyMember: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}

extension Request {
    func body<Body: RequestBody>(as body: Body.Type, _ context: some RequestContext) async throws -> Body {
        try await decode(as: Checked<Body>.self, context: context).body
    }
}
