import Testing
import WireJSON

@Test func smoke() throws {
    let text =
        #"{"a" : {"b\u0049d":[1, -2.50, true ,null,"x\u00e9😀y"],"longer name here":"v"}, "n":9223372036854775807,"m":-9223372036854775808}"#
    let document = try JSONDocument(parsing: Array(text.utf8))
    let root = try document.root.object()
    #expect(root.count == 3)
    #expect(try root["m"]?.int64() == .min)
    #expect(try root["n"]?.int64() == .max)
    var reader = try ObjectReader(root.required("a"))
    #expect(try reader.string("longer name here") == "v")
    let array = try reader.array("bId")
    #expect(array.count == 5)
    let values = Array(array)
    #expect(try values[1].decimal().description == "-2.5")
    #expect(try values[4].string() == "xé😀y")
    #expect(reader.descriptiveBool("bId") == nil)
    #expect(reader.anomalies == ["a.bId"])
    #expect(values[3].path == "a.bId[3]")
    #expect(throws: JSONError.self) { try JSONDocument(parsing: Array(#"{"bundle\u0049d":1,"bundleId":2}"#.utf8)) }
}
