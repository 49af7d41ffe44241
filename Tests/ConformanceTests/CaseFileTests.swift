import ConformanceVectors
import Testing
@testable import VectorGenerator
import WireJSON

/// The reader of `Tests/Vectors`: a wrong expectation writes no line.
@Suite("Cases as data")
struct CaseFileTests {
    private static let detail = #""detail":{"kind":"test","facts":{}}"#
    private static let identity = #""id":["","stripe","production","evt_1","0"]"#

    private func lines(_ expect: String, case members: String = #""like":"ping""#) async throws -> [String] {
        let file = """
            {"provider":"stripe","now":1772366402000,"config":{"secrets":["\(StripeCaseSender.secret)"]},
             "objects":{
               "reported":{"kind":"notice",\(Self.detail),"environment":"sandbox"},
               "ping":{"id":"evt_1","object":"event","type":"ping","created":1772366400,"livemode":true,"x":[1]}
             },
             "cases":[{"id":"a/b","why":"a test",\(members),"expect":\(expect)}]}
            """
        return try await CaseFile(Array(file.utf8)).lines(signing: StripeCaseSender())
    }

    @Test(
        "the stated result writes a line",
        arguments: [
            #"{"events":[{"kind":"notice"}]}"#, #"{"events":[{"kind":"notice",\#(detail),\#(identity)}],"whole":true}"#,
            #"{"events":[{"detail":{"kind":"test"},"fact_kinds":[]}]}"#,
            #"{"events":[{"like":"reported","environment":"production"}],"whole":true}"#,
            #"{"events":[{"like":"reported","environment":null}]}"#,
        ]
    )
    func asStated(expect: String) async throws {
        #expect(try await lines(expect).count == 1)
    }

    @Test(
        "any other result writes nothing",
        arguments: [
            #"{"events":[{"kind":"unmapped"}]}"#, #"{"events":[{"kind":"notice"},{"kind":"notice"}]}"#,
            #"{"events":[]}"#,
            #"{"events":[{"id":["","stripe","production","evt_1","1"]}]}"#,
            #"{"events":[{"detail":{"kind":"other"}}]}"#,
            #"{"events":[{"detail":{"kind":"test"}}],"whole":true}"#, #"{"events":[{"kind":"notice"}],"whole":true}"#,
            #"{"events":[{"fact_kinds":["period"]}]}"#, #"{"events":[{"price":{}}]}"#,
            #"{"events":[{"like":"reported"}]}"#,
            #"{"events":[{"kind":"notice"}],"anomalies":["x"]}"#, #"{"nothing":"unchanged"}"#,
            #"{"reject":"malformed"}"#,
        ]
    )
    func otherwise(expect: String) async {
        await #expect(throws: VectorError.self) { try await lines(expect) }
    }

    @Test(
        "a case that is no delivery is refused",
        arguments: [
            #""like":"pong""#, #""like":"ping","remove":["/nothing"]"#, #""like":"ping","set":{"/a/b":1}"#,
            #""like":"ping","set":{"/x/1":1}"#, #""like":"ping","set":{"/id/x":1}"#, #""like":"ping","remove":[""]"#,
            #""like":"ping","send":{"by":"nobody"}"#,
            #""like":"ping","headers":{"Stripe-Signature":"t=1,v1={nothing}"}"#,
            #""like":"ping","headers":{"Stripe-Signature":"t=1,v1={code[1]}"}"#,
            #""like":"ping","headers":{"Stripe-Signature":"t=1,v1={code[0:900]}"}"#,
        ]
    )
    func noDelivery(members: String) async {
        await #expect(throws: VectorError.self) { try await lines(#"{"events":[{"kind":"notice"}]}"#, case: members) }
    }

    @Test(
        "a certificate that cannot be made is refused",
        arguments: [
            #"{"other":{}}"#, #"{"leaf":{"extension":[]}}"#, #"{"leaf":{"under":"nobody"}}"#,
            #"{"leaf":{"key":"nobody"}}"#, #"{"leaf":{"key":{"algorithm":"p521","label":"a"}}}"#,
            #"{"leaf":{"digest":"MD5"}}"#, #"{"leaf":{"keyUsage":["everything"]}}"#,
            #"{"leaf":{"serialNumber":-1}}"#, #"{"leaf":{"basicConstraints":{"pathLen":256}}}"#,
            #"{"leaf":{"der":"3"}}"#, #"{"leaf":{"der":"{nobody.hex}"}}"#,
        ]
    )
    func noCertificate(certificates: String) throws {
        let described = try JSONDocument(parsing: Array(certificates.utf8)).root
        #expect(throws: (any Error).self) { try AppleCaseCertificates().adding(CaseValues().text(described)) }
    }

    @Test(
        "values may be made of others",
        arguments: [
            (
                #""like":"ping","set":{"/x/-":{"like":"reported","remove":["/detail"]}}"#,
                #""x":[1,{"kind":"notice","environment":"sandbox"}]"#
            ),
            (#""like":"ping","set":{"/x":{"join":["a",{"repeat":"bc","times":3}]}}"#, #""x":"abcbcbc""#),
            (#""like":"ping","set":{"/x/0":{"base64":"a{"},"/y~1z":2}"#, #""x":["YXs="],"y/z":2"#),
        ]
    )
    func values(members: String, written: String) async throws {
        let line = try #require(try await lines(#"{"events":[{"kind":"notice"}]}"#, case: members).first)
        let vector = try Vector(line: Array(line.utf8)[...])
        #expect(String(decoding: vector.body, as: UTF8.self).hasSuffix("\(written)}"))
    }
}
