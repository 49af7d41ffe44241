import Testing
import WireJSON

@Suite struct MemberTableTests {
    private func found(_ names: [MemberName], in text: String) throws -> FoundMembers {
        FoundMembers(MemberTable(names), in: try JSONDocument(parsing: Array(text.utf8)).root.object())
    }

    /// Lengths on both sides of what the index keeps of a name: its first eight octets and its last eight.
    private static let lengths = [0, 1, 3, 4, 7, 8, 9, 15, 16, 17, 23, 24, 25, 32, 33, 70]

    @Test(arguments: lengths) func nameOfLength(_ length: Int) throws {
        let name = String("abcdefghijklmnopqrstuvwxyz".prefix(13)) + String(repeating: "x", count: 80)
        let wanted = String(name.prefix(length))
        let found = try found([MemberName("other"), MemberName(wanted)], in: #"{"y":1,"\#(wanted)":"value"}"#)
        #expect(try found.optionalString(1) == "value")
        #expect(try found.optionalString(0) == nil)
    }

    /// Both ends are the same, and what lies between differs.
    @Test func namesThatDifferInTheMiddle() throws {
        let one = "aaaaaaaa-1-zzzzzzzz"
        let other = "aaaaaaaa-2-zzzzzzzz"
        let found = try found([MemberName(one), MemberName(other)], in: #"{"\#(other)":2,"\#(one)":1}"#)
        #expect(try found.optionalInt64(0) == 1)
        #expect(try found.optionalInt64(1) == 2)
    }

    @Test func escapedName() throws {
        let found = try found(["app_id", "price"], in: #"{"\u0061pp\u005fid":"one","pric\u0065":1.50}"#)
        #expect(try found.optionalString(0) == "one")
        #expect(try found.optionalDecimal(1)?.description == "1.5")
    }

    @Test func absentAndNull() throws {
        let found = try found(["null", "absent", "false"], in: #"{"null":null,"false":false}"#)
        for place in 0..<2 {
            #expect(found.optionalValue(place) == nil)
            #expect(try found.optionalString(place) == nil)
        }
        #expect(try found.optionalBool(2) == false)
        #expect((0..<3).map(found.contains) == [true, false, true])
    }

    /// Far more names than the table has places for a hash.
    @Test func manyNames() throws {
        let names = (0..<1000).map { "name \($0)" }
        let members = names.enumerated().map { #""\#($1)":\#($0)"# }.reversed().joined(separator: ",")
        let found = try found(names.map { MemberName($0) }, in: "{\(members)}")
        for place in names.indices { #expect(try found.optionalInt64(place) == Int64(place)) }
    }

    /// A member of the same name, of an object around it and of one inside of it.
    @Test func membersOfOthers() throws {
        let outer = try JSONDocument(parsing: Array(#"{"a":1,"o":{"o":{"a":3},"b":2},"b":4}"#.utf8)).root.object()
        let inner = try outer.required("o").object()
        let found = FoundMembers(MemberTable(["a", "b"]), in: inner)
        #expect(found.optionalValue(0) == nil)
        #expect(try found.optionalInt64(1) == 2)
    }

    @Test func empty() throws {
        #expect(try found(["a"], in: "{}").optionalValue(0) == nil)
        _ = try found([], in: #"{"a":1}"#)
    }

    @Test func unexpectedKind() throws {
        let outer = try JSONDocument(parsing: Array(#"{"event":{"id":1}}"#.utf8)).root.object()
        let found = FoundMembers(MemberTable(["id"]), in: try outer.required("event").object())
        let error = try #require(throws: JSONError.self) { try found.optionalString(0) }
        #expect(error.reason == .unexpectedKind(expected: .string, found: .number))
        #expect(error.path == "event.id")
        #expect(error.offset == 15)
    }
}
