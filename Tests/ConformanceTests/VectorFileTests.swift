import ConformanceVectors
import Foundation
import Normalizer
import Testing
import VectorGenerator
import WireJSON

/// The committed files against what makes them. To make a file, each case is run and has to come to what is stated of it, so
/// that a file which is made again the same is as expected, too.
@Suite("Test vectors")
struct VectorFileTests {
    private static let isLong = ProcessInfo.processInfo.environment["LIFECYCLE_LONG"] == "1"
    static let providers = Provider.adapted

    @Test("the committed files are what the cases make, line by line", arguments: providers)
    func generated(provider: Provider) async throws {
        let made = try await VectorFiles.all(of: provider)
        let paths = try CommittedVectors.paths(of: provider)
        #expect(made.map(\.path).sorted() == paths)
        for file in made {
            let committed = try CommittedVectors.text(file.path).split(separator: "\n").map(String.init)
            #expect(committed.count == file.lines.count, "\(file.path)")
            for (number, pair) in zip(committed, file.lines).enumerated() {
                // Not compared inside the expectation: a failure would print both lines.
                let isSame = pair.0 == pair.1
                #expect(isSame, "\(file.path):\(number + 1): Scripts/vectors")
            }
        }
    }

    @Test("every committed case comes to what its line expects", .enabled(if: isLong), arguments: providers)
    func expected(provider: Provider) async throws {
        for path in try CommittedVectors.paths(of: provider) {
            for vector in try CommittedVectors.vectors(path) {
                let outcome = await VectorRunner.run(vector)
                #expect(outcome.matched == true, "\(vector.id): \(outcome.difference ?? "without expectation")")
            }
        }
    }

    @Test("every case has an id of its own")
    func identifiers() throws {
        var ids: Set<String> = []
        for path in try Self.providers.flatMap({ try CommittedVectors.paths(of: $0) }) {
            for vector in try CommittedVectors.vectors(path) {
                #expect(ids.insert(vector.id).inserted, "\(vector.id)")
                #expect(vector.id.hasPrefix("\(vector.provider.rawValue)/"))
            }
        }
        #expect(ids.count > 2000)
    }

    /// Vectors of other people have each line written out.
    @Test("a line that says everything itself is the same case", arguments: providers)
    func inline(provider: Provider) async throws {
        for path in try CommittedVectors.paths(of: provider) {
            let lines = try CommittedVectors.text(path).split(separator: "\n").map { Array($0.utf8)[...] }
            let first = try #require(lines.first)
            #expect(try SharedParts.read(first) != nil, "\(path)")
            let vectors = try CommittedVectors.vectors(path).filter { vector in
                Set(vector.headers.all.map(\.name)).count == vector.headers.all.count
            }
            for vector in vectors.prefix(3) {
                let body = Data(vector.body).base64EncodedString()
                let config = String(decoding: vector.config.rawBytes, as: UTF8.self)
                let headers = vector.headers.all.map { "\"\($0.name)\":\"\($0.value)\"" }.joined(separator: ",")
                let line = """
                    {"id":"x","provider":"\(provider.rawValue)","headers":{\(headers)},"body_base64":"\(body)","config":\(config)}
                    """
                let inline = try Vector(line: Array(line.utf8)[...])
                #expect(inline.body == vector.body, "\(vector.id)")
                #expect(inline.headers.all.map(\.value) == vector.headers.all.map(\.value), "\(vector.id)")
                #expect(inline.config.rawBytes == vector.config.rawBytes, "\(vector.id)")
            }
        }
    }

    @Test("a shared object is changed by what stands beside its name")
    func sharedObjects() throws {
        let object = #"{"a":1,"b":{"c":[1],"d":{"e":true}},"f":"x","n":null}"#
        var reader = VectorReader()
        #expect(try reader.read(Array(#"{"shared":{"objects":{"o":\#(object)}}}"#.utf8)[...]) == nil)
        let cases = [
            ("", object),
            (#","a":2"#, #"{"a":2,"b":{"c":[1],"d":{"e":true}},"f":"x","n":null}"#),
            (#","b":null,"n":1"#, #"{"a":1,"f":"x","n":1}"#),
            (#","b":{"c":[2],"d":{"e":null}}"#, #"{"a":1,"b":{"c":[2],"d":{}},"f":"x","n":null}"#),
            (
                #","b":"x","f":{"g":null},"h":{"i":null},"j":null"#,
                #"{"a":1,"b":"x","f":{"g":null},"n":null,"h":{"i":null},"j":null}"#
            ),
        ]
        for (changes, whole) in cases {
            let line = """
                {"id":"x","provider":"stripe","config":{"now":1},"events":[{"base":"o"\(changes)}]}
                """
            let vector = try #require(try reader.read(Array(line.utf8)[...]))
            #expect(vector.events?.map { String(decoding: $0.rawBytes, as: UTF8.self) } == [whole])
        }
    }

    @Test("a shared text is made of those before it")
    func sharedTexts() throws {
        var reader = VectorReader()
        let shared = #"{"shared":{"texts":{"t1":"ab","t2":{"base64":[{"text":"t1"},"c"]},"t3":[{"text":"t2"},"."]}}}"#
        #expect(try reader.read(Array(shared.utf8)[...]) == nil)
        let line =
            #"{"id":"x","provider":"stripe","config":{"now":1},"body":[{"text":"t3"},{"base64url":{"text":"t2"}}]}"#
        let vector = try #require(try reader.read(Array(line.utf8)[...]))
        #expect(String(decoding: vector.body, as: UTF8.self) == "YWJj.WVdKag")
    }

    @Test(
        "a line that refers to an entry that the file does not share is no case",
        arguments: [
            #"{"id":"x","provider":"stripe","headers":{},"body":{"text":"t9"},"config":{"now":1}}"#,
            #"{"id":"x","provider":"stripe","headers":{"a":{"text":"t9"}},"body":"","config":{"now":1}}"#,
            #"{"id":"x","provider":"stripe","headers":{},"body":"","config":{"base":"c9","now":1}}"#,
            #"{"id":"x","provider":"stripe","headers":{},"body":[1],"config":{"now":1}}"#,
            #"{"id":"x","provider":"stripe","headers":{},"body":"","config":{"now":1},"events":[{"base":"e9"}]}"#,
            #"{"id":"x","provider":"stripe","headers":{},"body":"","config":{"now":1},"http":[{"base":"a9"}]}"#,
            #"{"shared":{"texts":{"t1":1}}}"#, #"{"shared":{"texts":{"t1":{"text":"t2"},"t2":"x"}}}"#,
            #"{"shared":[]}"#,
        ]
    )
    func unknown(line: String) {
        var reader = VectorReader()
        #expect(throws: VectorError.self) { try reader.read(Array(line.utf8)[...]) }
    }
}
