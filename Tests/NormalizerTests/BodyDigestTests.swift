import FoundationEssentials
import Normalizer
import Testing

@Suite struct BodyDigestTests {
    // The first example of FIPS 180-4.
    private static let body = Array("abc".utf8)
    private static let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

    private func origin(_ digest: BodyDigest) -> Origin {
        Origin(type: "t", channel: .webhook, evidence: .init(.hmac), digest: digest, mapper: "test/1")
    }

    @Test func readsAsTheDigestOfTheBody() {
        let delivery = Delivery(body: Self.body, receivedAt: Date(timeIntervalSince1970: 0))
        #expect(delivery.bodyDigest.text == Self.text)
        #expect(delivery.digest == Self.text)
        #expect(origin(delivery.bodyDigest).digest == Self.text)
    }

    /// A value is the same if it was read before or not.
    @Test func isEqualHoweverItCameAbout() throws {
        let unread = origin(BodyDigest(of: Self.body))
        let other = origin(BodyDigest(of: Self.body))
        let stated = origin(BodyDigest(Self.text))
        #expect(unread == other)
        #expect(unread == stated)
        #expect(Set([unread, other, stated]).count == 1)
        #expect(unread != origin(BodyDigest(of: Self.body + [0])))
    }

    @Test func isWrittenAsTextAndReadBack() throws {
        let unread = origin(BodyDigest(of: Self.body))
        let data = try JSONEncoder().encode(unread)
        #expect(String(decoding: data, as: UTF8.self).contains(#""digest":"\#(Self.text)""#))
        #expect(try JSONDecoder().decode(Origin.self, from: data) == unread)
    }

    @Test func settingTheTextOfACopyLeavesTheOther() {
        let original = origin(BodyDigest(of: Self.body))
        var copy = original
        copy.digest = "0"
        #expect(copy.digest == "0")
        #expect(original.digest == Self.text)
    }

    @Test func showsTheDigestAndNotTheBytes() {
        let unread = origin(BodyDigest(of: Self.body))
        var text = ""
        dump(unread, to: &text)
        #expect(text.contains(Self.text))
        #expect(String(reflecting: unread).contains(Self.text))
    }

    @Test func isReadFromManyTasks() async {
        let body = [UInt8](repeating: 7, count: 100_000)
        let digest = BodyDigest(of: body)
        let texts = await withTaskGroup(of: String.self) { group in
            for _ in 0..<16 { group.addTask { digest.text } }
            return await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(texts == [Delivery(body: body, receivedAt: Date(timeIntervalSince1970: 0)).digest])
    }
}
