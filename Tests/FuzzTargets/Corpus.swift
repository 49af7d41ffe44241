package import ConformanceVectors
import FoundationEssentials
import Normalizer
import SignatureCore
import SignatureIssuing
import WireJSON

/// The test vectors, and the keys that theirs are signed with.
package enum Corpus {
    /// A text that must not appear in any error.
    static let canary = "c4n4ry-0123456789"

    package static let vectors: [Vector] = {
        let root = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("TestVectors")
        var vectors: [Vector] = []
        for provider in Provider.adapted.map(\.rawValue) {
            let folder = root.appendingPathComponent(provider)
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
            for name in names.sorted() where name.hasSuffix(".jsonl") {
                guard let contents = try? Data(contentsOf: folder.appendingPathComponent(name)) else { continue }
                vectors += (try? VectorReader.vectors(in: [UInt8](contents))) ?? []
            }
        }
        precondition(!vectors.isEmpty, "no test vectors at \(root.path)")
        return vectors
    }()

    /// The logs of the stories of states, and the events of each vector that states any, as JSON. Kept as bytes, since the
    /// leak detector takes a tree of indirect cases that a global holds for a leak.
    static let stories: [[[UInt8]]] = {
        let root = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("TestVectors/state/stories.jsonl")
        let lines = (try? Data(contentsOf: root)).map { [UInt8]($0).split(separator: UInt8(ascii: "\n")) } ?? []
        precondition(!lines.isEmpty, "no stories at \(root.path)")
        let stories = lines.compactMap { JSONTree(Array($0))?.elements(named: "events").map(\.bytes) }
        let events = vectors.filter { !$0.matchesSubset }.compactMap { $0.events?.map { Array($0.rawBytes) } }
        return (stories + events).filter { !$0.isEmpty }
    }()

    static func vectors(_ provider: Provider) -> [Vector] {
        vectors.filter { $0.provider == provider }
    }

    /// The values of the header `name` in the vectors of a provider.
    static func headers(_ provider: Provider, _ name: String) -> [String] {
        vectors(provider).flatMap { $0.headers.values(name) }
    }

    /// Every compact JWS that an Apple vector carries in the open.
    static let signedPayloads: [[UInt8]] = vectors(.apple).compactMap { vector in
        guard let body = try? ObjectReader(parsing: vector.body) else { return nil }
        return (try? body.utf8Slice("signedPayload")).map { Array($0) }
            ?? (try? body.utf8Slice("jws")).map { Array($0) }
    }
}

extension SigningKey {
    /// The same key for signing outside of the deterministic context, which is much faster.
    func rsa() throws -> RSAPrivateKey {
        let text = try privatePEM()
        return try RSAPrivateKey(pem: text.span)
    }

    func p256() throws -> P256PrivateKey {
        let text = try privatePEM()
        return try P256PrivateKey(pem: text.span)
    }
}
