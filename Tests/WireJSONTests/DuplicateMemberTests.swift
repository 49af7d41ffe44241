import Glibc
import Testing
import WireJSON

@Suite struct DuplicateMemberTests {
    /// An object of `count` members whose names come from `name`, with the one at `second` called like that at `first`.
    private func object(_ count: Int, repeating first: Int?, at second: Int, name: (Int) -> String) -> [UInt8] {
        let members = (0..<count).map { index in
            "\"\(name(index == second ? first ?? index : index))\":\(index)"
        }
        return Array("{\(members.joined(separator: ","))}".utf8)
    }

    private static let spellings: [@Sendable (Int) -> String] = [
        { "m\($0)" },
        // Same length, same eight octets at both ends: nothing but the middle tells them apart.
        { "aaaaaaaa\(100_000 + $0)bbbbbbbb" },
        { "\\u0061aaaaaaa\(100_000 + $0)bbbbbbbb" },
    ]

    /// Both sides of the steps from comparing pairs to a table and to sorting.
    @Test(
        .timeLimit(.minutes(5)),
        arguments: [2, 3, 6, 7, 64, 120, 121, 1_000, 10_000],
        [0, 1, 2]
    )
    func findsOneAmongMany(count: Int, spelling: Int) {
        let name = Self.spellings[spelling]
        #expect(refusal(object(count, repeating: nil, at: 0, name: name)) == nil)
        for (first, second) in [(0, count - 1), (0, 1), (count - 2, count - 1), (count / 2 - 1, count - 1)] {
            let bytes = object(count, repeating: first, at: second, name: name)
            #expect(refusal(bytes)?.reason == .duplicateMember)
        }
    }

    /// Both sides of the steps from a walk to a table and back, and from one size of tables to the next.
    @Test(arguments: [0, 1, 6, 7, 8, 9, 16, 17, 63, 64, 65, 119, 120, 121], [0, 1, 2])
    func findsEachMemberAndNoOther(count: Int, spelling: Int) throws {
        let written = Self.spellings[spelling]
        // The last two spell the same names.
        let name = Self.spellings[min(spelling, 1)]
        let members = try parse(object(count, repeating: nil, at: 0, name: written)).object()
        let found = try (0..<count + 500).map { try members[MemberName(name($0))]?.int64() }
        #expect(found == (0..<count + 500).map { $0 < count ? Int64($0) : nil })
    }

    /// Their last eight octets and lengths make up for one another.
    @Test(arguments: [0, 10, 200]) func oneFingerprintTwoNames(others: Int) throws {
        let names = ["xxxxxxxxbaaaaaaa", "xxxxxxxxbaaaaaaaa"] + (0..<others).map { "other\($0)" }
        let text = "{" + names.map { "\"\($0)\":\($0.utf8.count)" }.joined(separator: ",") + "}"
        let object = try parse(text).object()
        for name in names { #expect(try object[MemberName(name)]?.int64() == Int64(name.utf8.count)) }
    }

    @Test func pointsAtTheSecond() {
        #expect(refusal(#"{"a":1,"b":2,"a":3}"#)?.offset == 13)
        #expect(refusal(#"[{"x":1},{"x":1,"\u0078":2}]"#)?.offset == 16)
    }

    @Test func plainAndEscapedAmongMany() {
        var members = (0..<5_000).map { "\"name of member \($0)\":0" }
        members.append(#""name of member\u0020\u0034321":0"#)
        #expect(refusal("{\(members.joined(separator: ","))}")?.reason == .duplicateMember)
        members[4321] = #""":0"#
        #expect(refusal("{\(members.joined(separator: ","))}") == nil)
    }

    /// Names of an object that is still open are kept apart from those of the objects inside it.
    @Test func innerObjectsDoNotInterfere() {
        let inner = "{" + (0..<40).map { "\"k\($0)\":{\"k\($0)\":1,\"z\":[{\"k0\":1}]}" }.joined(separator: ",") + "}"
        #expect(refusal(#"{"k0":\#(inner),"k1":\#(inner),"k2":\#(inner)}"#) == nil)
        #expect(refusal(#"{"k0":\#(inner),"k1":\#(inner),"k0":\#(inner)}"#)?.reason == .duplicateMember)
    }

    /// The costliest names for the comparison: long, alike for most of their length, with one fingerprint.
    @Test(.timeLimit(.minutes(5)), arguments: [6, 7, 120, 121, 500])
    func longNamesThatAreAlike(count: Int) {
        let filler = String(repeating: "x", count: 1_000_000 / count / 2 - 20)
        let bytes = object(count, repeating: nil, at: 0) { filler + "\(1_000 + $0)" + filler }
        #expect(refusal(bytes) == nil)
    }

    /// Processor time of this thread in nanoseconds.
    private func cost(_ bytes: [UInt8]) -> Int {
        func now() -> Int {
            var time = timespec()
            unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return time.tv_sec * 1_000_000_000 + time.tv_nsec
        }
        let start = now()
        #expect(refusal(bytes) == nil)
        return now() - start
    }

    /// The caller of an endpoint chooses the names, before anything is proven.
    @Test(arguments: [6, 7, 120, 121], ["", "\\u0078"])
    func namesOfOneFingerprintCostLittleMoreThanOthers(count: Int, escape: String) {
        let filler = String(repeating: "x", count: 1_000_000 / count - 40)
        let alike = object(count, repeating: nil, at: 0) { "\(escape)\(filler)\(1_000 + $0)xxxxxxxx" }
        let different = object(count, repeating: nil, at: 0) { "\(1_000 + $0)\(escape)\(filler)xxxxxxxx" }
        #expect(cost(alike) < 20 * cost(different))
    }
}
