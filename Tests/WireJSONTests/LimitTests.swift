import Testing
import WireJSON

@Suite struct LimitTests {
    private func nested(_ open: String, _ close: String, depth: Int) -> [UInt8] {
        Array(String(repeating: open, count: depth).utf8) + Array(String(repeating: close, count: depth).utf8)
    }

    @Test(.timeLimit(.minutes(5)), arguments: [65, 100, 10_000, 100_000, 300_000])
    func refusesDeepNesting(depth: Int) {
        for bytes in [
            nested("[", "]", depth: depth), nested("[", "", depth: depth), nested(#"{"a":"#, "}", depth: depth),
            nested("[{\"a\":", "", depth: depth),
        ] {
            var limits = JSONLimits()
            limits.maximumBytes = .max
            let error = refusal(bytes, limits: limits)
            #expect(error?.reason == .tooDeep(limit: 64))
            #expect(error.map { $0.offset < 64 * 6 } == true)
        }
    }

    /// Depth takes no stack: where it is allowed, the document is read.
    @Test(.timeLimit(.minutes(5))) func readsDeepNestingWhereAllowed() throws {
        var limits = JSONLimits()
        limits.maximumDepth = .max
        limits.maximumNodes = .max
        limits.maximumBytes = .max
        #expect(refusal(nested("[", "]", depth: 300_000), limits: limits) == nil)
        #expect(refusal(nested(#"{"a":"#, "}", depth: 300_000), limits: limits)?.reason == .unexpectedOctet)
        #expect(refusal(nested("[", "", depth: 300_000), limits: limits)?.reason == .unexpectedEnd)
    }

    @Test func countsOpenContainersAlone() {
        var limits = JSONLimits()
        limits.maximumDepth = 0
        #expect(refusal("1", limits: limits) == nil)
        #expect(refusal("[]", limits: limits)?.reason == .tooDeep(limit: 0))
        limits.maximumDepth = 2
        #expect(refusal("[[],[],{},[1]]", limits: limits) == nil)
        #expect(refusal("[[],[{}]]", limits: limits)?.reason == .tooDeep(limit: 2))
    }

    @Test func comparesSizeFirst() {
        var limits = JSONLimits()
        limits.maximumBytes = 8
        #expect(refusal("[1,2,34]", limits: limits) == nil)
        #expect(refusal("[1,2,345]", limits: limits)?.reason == .tooLarge(limit: 8))
        #expect(refusal("not JSON at all", limits: limits)?.reason == .tooLarge(limit: 8))
    }

    @Test func sizeIsOneMebibyteUnlessSet() {
        let full = [0x22] + [UInt8](repeating: 0x61, count: 1 << 20 - 2) + [0x22]
        #expect(refusal(full) == nil)
        #expect(refusal(full + [0x20])?.reason == .tooLarge(limit: 1 << 20))
    }

    @Test func countsValuesAndNames() {
        var limits = JSONLimits()
        limits.maximumNodes = 5
        #expect(refusal("[1,2,3,4]", limits: limits) == nil)
        #expect(refusal("[1,2,3,4,5]", limits: limits)?.reason == .tooManyNodes(limit: 5))
        #expect(refusal(#"{"a":1,"b":2}"#, limits: limits) == nil)
        #expect(refusal(#"{"a":1,"b":[2]}"#, limits: limits)?.reason == .tooManyNodes(limit: 5))
        #expect(refusal(#"{"a":1,"b":2,"c":3}"#, limits: limits)?.reason == .tooManyNodes(limit: 5))
    }

    /// An even limit, which the last pair of an object reaches or exceeds by its value alone.
    @Test func countsTheLastPair() {
        var limits = JSONLimits()
        limits.maximumNodes = 4
        #expect(refusal(#"[{"a":1}]"#, limits: limits) == nil)
        #expect(refusal(#"{"a":1,"b":2}"#, limits: limits)?.reason == .tooManyNodes(limit: 4))
        #expect(refusal(#"{"a":1,"b":2}"#, limits: limits)?.offset == 11)
    }

    /// More names than there is room for at first, in one object and in objects within each other.
    @Test(arguments: [119, 120, 121, 500])
    func manyNamesAtOnce(count: Int) throws {
        let flat = "{" + (0..<count).map { #""\#($0)":\#($0)"# }.joined(separator: ",") + "}"
        let object = try JSONDocument(parsing: Array(flat.utf8)).root.object()
        #expect(try object.required(MemberName("\(count - 1)")).int64() == Int64(count - 1))
        #expect(object.count == count)
        var limits = JSONLimits()
        limits.maximumDepth = count + 1
        let nested = String(repeating: #"{"a":0,"b":"#, count: count) + flat + String(repeating: "}", count: count)
        var inner = try JSONDocument(parsing: Array(nested.utf8), limits: limits).root.object()
        for _ in 0..<count { inner = try inner.required("b").object() }
        #expect(inner.count == count)
    }

    @Test func manyNodesAreRefusedUnlessSet() {
        let bytes = Array(("[" + String(repeating: "1,", count: 200_000) + "1]").utf8)
        #expect(refusal(bytes)?.reason == .tooManyNodes(limit: 1 << 17))
    }

    @Test(arguments: [Int.min, -1, 0])
    func limitsBelowOneRefuseEverything(limit: Int) {
        var limits = JSONLimits()
        limits.maximumBytes = limit
        #expect(refusal("1", limits: limits)?.reason == .tooLarge(limit: limit))
        limits = JSONLimits()
        limits.maximumNodes = limit
        #expect(refusal("1", limits: limits)?.reason == .tooManyNodes(limit: limit))
        limits = JSONLimits()
        limits.maximumDepth = limit
        #expect(refusal("[]", limits: limits)?.reason == .tooDeep(limit: limit))
    }
}
