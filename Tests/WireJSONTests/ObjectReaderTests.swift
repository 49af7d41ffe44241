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
    let lines: [Line]?
    let more: [Line]?

    init(reading reader: inout ObjectReader) throws(JSONError) {
        number = try reader.int64("number")
        lines = try reader.optionalObjects("lines")
        more = try reader.optionalObjects("more")
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
    }

    @Test(arguments: ["absent", "z"] as [MemberName])
    func optionalMembersMayBeAbsentOrNull(name: MemberName) throws {
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
        #expect(reader.descriptiveBool("b") == true)
        #expect(reader.descriptiveArray("a")?.count == 1)
        #expect(reader.descriptiveStrings("l") == ["x", "y"])
        #expect(reader.descriptiveString("absent") == nil)
        #expect(reader.descriptiveString("z") == nil)
        #expect(reader.anomalies.isEmpty && reader.anomalyCount == 0)

        #expect(reader.descriptiveString("i") == nil)
        #expect(reader.descriptiveInt64("d") == nil)
        #expect(reader.descriptiveBool("i") == nil)
        #expect(reader.descriptiveArray("s") == nil)
        #expect(reader.descriptiveStrings("a") == nil)
        #expect(reader.anomalies == ["i", "d", "i", "s", "a[0]"])
        #expect(reader.anomalyCount == 5)
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
            {"order": {"number": 7, "lines": [{"id": "b", "note": 1}, {"id": "c", "note": []}], "more": [{"id": "d", "note": "n"}]}}
            """
        )
        let order: Order = try reader.read(reader.value("order"))
        #expect(order.number == 7)
        #expect(order.lines?.map(\.id) == ["b", "c"])
        #expect(order.lines?.map(\.note) == [nil, nil])
        #expect(order.more?.map(\.note) == ["n"])
        #expect(reader.anomalies == ["order.lines[0].note", "order.lines[1].note"])
        #expect(reader.anomalyCount == 2)
    }

    @Test(arguments: [
        (#"{"order":{}}"#, "order.number"),
        (#"{"order":[]}"#, "order"),
        (#"{"order":{"number":1,"lines":null,"more":[{}]}}"#, "order.more[0].id"),
        (#"{"order":{"number":1,"lines":[{"id":"a"},{"id":"b"},{"id":null}]}}"#, "order.lines[2].id"),
        (#"{"order":{"number":1,"lines":[1]}}"#, "order.lines[0]"),
        (#"{"order":{"number":1,"lines":{}}}"#, "order.lines"),
    ])
    func errorsNameTheWay(text: String, path: String) throws {
        var reader = try reader(text)
        do throws(JSONError) {
            _ = try reader.read(reader.value("order"), as: Order.self)
            Issue.record("read")
        } catch {
            #expect(error.path == path)
            #expect(error.description.hasPrefix("\(path): "))
        }
    }

    @Test(arguments: ["[]", "1", "null", #""a""#])
    func objectsAlone(text: String) throws {
        let value = try parse(text)
        #expect(
            failure { () throws(JSONError) in try ObjectReader(value) }
                == .unexpectedKind(expected: .object, found: value.kind)
        )
    }
}
