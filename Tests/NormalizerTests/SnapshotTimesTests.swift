import Foundation
import Testing

@testable import Normalizer

@Suite("When snapshots stated a transaction")
struct SnapshotTimesTests {
    private static let base: Int64 = 1_767_225_600_000

    private static func joined(_ times: [Int64]) throws -> SnapshotTimes {
        var joined = SnapshotTimes(try #require(times.first))
        for time in times.dropFirst() { joined.merge(SnapshotTimes(time)) }
        return joined
    }

    @Test("are the same in any order and grouping, and few", arguments: [1, 2, 9, 10, 50, 1000])
    func order(count: Int) throws {
        var random = SystemRandomNumberGenerator()
        for span: Int64 in [1000, 3_600_000, 34_560_000_000] {
            let times: [Int64] = (0..<count).map { _ in Self.base + Int64.random(in: 0...span, using: &random) }
            let expected = try Self.joined(times)
            #expect(try Self.joined(times.shuffled()) == expected)
            #expect(try Self.joined(times + times) == expected)
            let (left, right) = (times.prefix(count / 2), times.dropFirst(count / 2))
            var halves = try Self.joined(Array(right))
            if !left.isEmpty { halves.merge(try Self.joined(Array(left))) }
            #expect(halves == expected)
            #expect(expected.last == times.max())
            #expect(expected.earlier.count <= 8)
            let stored = StoredSnapshot(transaction: "1", times: expected)
            let read = try JSONDecoder().decode(StoredSnapshot.self, from: Data(try CanonicalJSON.bytes(stored)))
            #expect(read.times == expected)
        }
    }

    @Test("are exact as long as they are few, and late by no more than a stretch beyond that")
    func first() throws {
        let day: Int64 = 86_400_000
        let few = try Self.joined((0..<8).map { Self.base + $0 * day })
        for index in 0..<7 {
            #expect(few.first(after: Self.base + Int64(index) * day) == Self.base + Int64(index + 1) * day)
        }
        #expect(few.first(after: Self.base + 7 * day) == nil)
        let many = try Self.joined((0..<60).map { Self.base + $0 * day })
        for index in 0..<59 {
            let after = Self.base + Int64(index) * day
            let found = try #require(many.first(after: after))
            #expect(found > after && found - after <= 16 * day)
        }
    }

    @Test("the times of a stored state are bounded, whatever it says")
    func hostile() throws {
        let text =
            #"{"transaction":"1","at":"2026-01-01T00:00:00.000Z","earlier":["2026-02-01T00:00:00.000Z"],"exponent":9000}"#
        let read = try JSONDecoder().decode(StoredSnapshot.self, from: Data(text.utf8))
        #expect(read.times.last == 1_769_904_000_000)
        #expect(read.times.first(after: 0) != nil)
    }
}
