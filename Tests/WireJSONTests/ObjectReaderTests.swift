import Testing
import WireJSON

private struct Line: JSONReadable, Equatable {
    let id: String
    let note: String?

    init(reading reader: inout ObjectReader) throws(JSONError) {
        id = try reader.string("id")
        note = reader.descriptiveString("note")
    }
}

private struct Order: JSONReadable {
    let number: Int64
    let first: Line
    let second: Line?
    let lines: [Line]
    let more: [Line]?
    let extra: Line?

    init(reading reader: inout ObjectReader) throws(JSONError) {
        number = try reader.int64("number")
        first = try reader.object("first")
        second = try reader.optionalObject("second")
        lines = try reader.objects("lines")
        more = try reader.optionalObjects("more")
        extra = reader.descriptiveObject("extra")
    }
}

@Suite struct ObjectReaderTests {
    private func reader(_ text: String) throws(JSONError) -> ObjectReader {
        try ObjectReader(parsing: Array(text.utf8))
    }

    private static let present = #"{"s":"x","i":1,"d":1.5,"b":true,"a":[1],"l":["x","y"],"z":null}"#

    @Test func requiredMembers() throws {
        let reader = try reader(Self.present)
        #expect(try reader.string("s") == "x")
        #expect(try Array(reader.utf8Slice("s")) == [0x78])
        #expect(try reader.int64("i") == 1)
        #expect(try reader.decimal("d").description == "1.5")
        #expect(try reader.bool("b"))
        #expect(try reader.array("a").count == 1)
        #expect(try reader.strings("l") == ["x", "y"])
        #expect(try reader.value("z").isNull)
        #expect(failure { () throws(JSONError) in try reader.string("absent") } == .missing)
        #expect(
            failure { () throws(JSONError) in try reader.string("z") }
                == .unexpectedKind(expected: .string, found: .null)
        )
        #expect(
            failure { () throws(JSONError) in try reader.string("i") }
                == .unexpectedKind(expected: .string, found: .number)
        )
        #expect(failure { () throws(JSONError) in try reader.int64("d") } == .notAnInteger)
        #expect(
            failure { () throws(JSONError) in try reader.bool("i") } == .unexpectedKind(expected: .bool, found: .number)
        )
    }

    @Test(arguments: ["absent", "z"] as [MemberName])
    func optionalMembersMayBeAbsentOrNull(_ name: MemberName) throws {
        let reader = try reader(Self.present)
        #expect(try reader.optionalString(name) == nil)
        #expect(try reader.optionalUTF8Slice(name) == nil)
        #expect(try reader.optionalInt64(name) == nil)
        #expect(try reader.optionalDecimal(name) == nil)
        #expect(try reader.optionalBool(name) == nil)
        #expect(try reader.optionalArray(name) == nil)
        #expect(try reader.optionalStrings(name) == nil)
        #expect(reader.optionalValue(name) == nil)
    }

    @Test func optionalMembersOfAnotherKindThrow() throws {
        let reader = try reader(Self.present)
        #expect(try reader.optionalString("s") == "x")
        #expect(try reader.optionalInt64("i") == 1)
        #expect(try reader.optionalDecimal("i")?.int64 == 1)
        #expect(try reader.optionalBool("b") == true)
        #expect(try reader.optionalStrings("l") == ["x", "y"])
        #expect(failure { () throws(JSONError) in try reader.optionalString("i") } != nil)
        #expect(failure { () throws(JSONError) in try reader.optionalInt64("s") } != nil)
        #expect(failure { () throws(JSONError) in try reader.optionalDecimal("s") } != nil)
        #expect(failure { () throws(JSONError) in try reader.optionalBool("i") } != nil)
        #expect(failure { () throws(JSONError) in try reader.optionalArray("s") } != nil)
        #expect(failure { () throws(JSONError) in try reader.optionalStrings("a") } != nil)
    }

    @Test func descriptiveMembersOfAnotherKindAreCounted() throws {
        var reader = try reader(Self.present)
        #expect(reader.descriptiveString("s") == "x")
        #expect(reader.descriptiveInt64("i") == 1)
        #expect(reader.descriptiveDecimal("d")?.description == "1.5")
        #expect(reader.descriptiveBool("b") == true)
        #expect(reader.descriptiveArray("a")?.count == 1)
        #expect(reader.descriptiveStrings("l") == ["x", "y"])
        #expect(reader.descriptiveString("absent") == nil)
        #expect(reader.descriptiveString("z") == nil)
        #expect(reader.anomalies.isEmpty && reader.anomalyCount == 0)

        #expect(reader.descriptiveString("i") == nil)
        #expect(reader.descriptiveInt64("d") == nil)
        #expect(reader.descriptiveDecimal("s") == nil)
        #expect(reader.descriptiveBool("i") == nil)
        #expect(reader.descriptiveArray("s") == nil)
        #expect(reader.descriptiveStrings("a") == nil)
        #expect(reader.anomalies == ["i", "d", "s", "i", "s", "a[0]"])
        #expect(reader.anomalyCount == 6)
    }

    @Test func anomaliesAreBounded() throws {
        var reader = try reader(Self.present)
        for _ in 0..<1_000 { _ = reader.descriptiveString("i") }
        #expect(reader.anomalies.count == ObjectReader.maximumAnomalies)
        #expect(reader.anomalyCount == 1_000)
    }

    @Test func nestedModels() throws {
        var reader = try reader(
            """
            {"order": {"number": 7, "first": {"id": "a", "note": 1}, "second": null,
             "lines": [{"id": "b"}, {"id": "c", "note": []}], "more": [{"id": "d", "note": "n"}],
             "extra": {"id": 5}}}
            """
        )
        let order: Order = try reader.object("order")
        #expect(order.number == 7)
        #expect(order.first.id == "a" && order.first.note == nil)
        #expect(order.second == nil)
        #expect(order.lines.map(\.id) == ["b", "c"])
        #expect(order.more?.map(\.note) == ["n"])
        #expect(order.extra == nil)
        #expect(reader.anomalies == ["order.first.note", "order.lines[1].note", "order.extra.id"])
        #expect(reader.anomalyCount == 3)
    }

    @Test(arguments: [
        (#"{"order":{}}"#, "order.number"),
        (#"{"order":[]}"#, "order"),
        (#"{"order":{"number":1,"first":{"id":2}}}"#, "order.first.id"),
        (#"{"order":{"number":1,"first":{"id":"a"},"second":{},"lines":[]}}"#, "order.second.id"),
        (
            #"{"order":{"number":1,"first":{"id":"a"},"lines":[{"id":"a"},{"id":"b"},{"id":null}]}}"#,
            "order.lines[2].id"
        ),
        (#"{"order":{"number":1,"first":{"id":"a"},"lines":[1]}}"#, "order.lines[0]"),
        (#"{"order":{"number":1,"first":{"id":"a"},"lines":{}}}"#, "order.lines"),
    ])
    func errorsNameTheWay(_ text: String, _ path: String) throws {
        var reader = try reader(text)
        do throws(JSONError) {
            _ = try reader.object("order", as: Order.self)
            Issue.record("read")
        } catch {
            #expect(error.path == path)
            #expect(error.description.hasPrefix("\(path): "))
        }
    }

    @Test(arguments: ["[]", "1", "null", #""a""#])
    func objectsAlone(_ text: String) throws {
        let value = try parse(text)
        #expect(
            failure { () throws(JSONError) in try ObjectReader(value) }
                == .unexpectedKind(expected: .object, found: value.kind)
        )
    }
}
