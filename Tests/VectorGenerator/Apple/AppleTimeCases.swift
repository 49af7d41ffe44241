import ConformanceVectors
import FoundationEssentials
import Normalizer
import NotificationSimulator
import SignatureCore
import SignatureIssuing

/// Times: of signing, of receipt, and of the certificates, each edge to the millisecond.
enum AppleTimeCases {
    typealias World = AppleVectorWorld

    static func all(_ world: World) throws -> [AppleCase] {
        try windows(world) + validity(world) + values(world)
    }

    private static func windows(_ world: World) throws -> [AppleCase] {
        func one(
            _ id: String,
            ahead: Int64,
            config change: (inout JSONMembers) -> Void = { _ in },
            _ expectation: AppleCase.Expectation
        ) throws -> AppleCase {
            let reason: String? = if case .reject = expectation { "time" } else { nil }
            return AppleCase(
                id: "time/\(id)",
                body: World.body(try world.sign(world.test(at: World.received + ahead))),
                config: world.config(change),
                expectation: expectation,
                reason: reason,
                tags: ["time"]
            )
        }
        let accept = AppleCase.Expectation.accept([World.testEvent])
        func skew(_ value: Int64) -> (inout JSONMembers) -> Void { { $0["maxFutureSkewMs"] = .integer(value) } }
        func age(_ value: Int64) -> (inout JSONMembers) -> Void { { $0["maxSignedAgeMs"] = .integer(value) } }
        let year = 365 * World.day
        return [
            try one("signed-at-receipt", ahead: 0, accept),
            try one("ahead-as-far-as-allowed", ahead: 300_000, accept),
            try one("ahead-a-millisecond-too-far", ahead: 300_001, .reject(.stale)),
            try one("ahead-as-far-as-configured", ahead: 5000, config: skew(5000), accept),
            try one("ahead-of-what-is-configured", ahead: 5001, config: skew(5000), .reject(.stale)),
            try one("ahead-without-tolerance", ahead: 1, config: skew(0), .reject(.stale)),
            try one("ahead-by-years", ahead: 4 * year, .reject(.stale)),
            try one("old-and-no-maximum-age", ahead: -year, accept),
            try one("as-old-as-allowed", ahead: -86_400_000, config: age(86_400_000), accept),
            try one("a-millisecond-too-old", ahead: -86_400_001, config: age(86_400_000), .reject(.stale)),
            try one("no-age-allowed", ahead: -1, config: age(0), .reject(.stale)),
            try one("no-age-needed", ahead: 0, config: age(0), accept),
        ]
    }

    private static func validity(_ world: World) throws -> [AppleCase] {
        let genuine = world.production.certificates
        let start = World.start
        let end = World.start + 10 * World.day
        // Both ends of a validity are included.
        let short = try AppleCertificates.makeLeaf(under: genuine.intermediate, key: genuine.leafKey) {
            $0.notBefore = start
            $0.notAfter = end
        }
        let shortAuthority = try AppleCertificates.makeIntermediate(under: genuine.root, key: genuine.intermediate.key)
        {
            $0.notBefore = start
            $0.notAfter = end
        }
        let underShort = try AppleCertificates.makeLeaf(under: shortAuthority, key: genuine.leafKey)
        let shortRoot = try AppleCertificates.makeRoot(key: genuine.root.key) {
            $0.notBefore = start
            $0.notAfter = end
        }
        func one(
            _ id: String,
            _ x5c: [[UInt8]],
            signed: Int64,
            received: Int64? = nil,
            root: [UInt8]? = nil,
            now: Bool = false,
            _ accepted: Bool,
            note: String? = nil
        ) throws -> AppleCase {
            let jws = try JWSIssuer.es256(
                header: JWSIssuer.header(algorithm: "ES256", certificates: x5c),
                payload: world.test(at: signed).bytes,
                key: genuine.leafKey
            )
            return AppleCase(
                id: "time/\(id)",
                body: World.body(jws),
                config: world.config {
                    $0["now"] = .integer(received ?? signed)
                    if let root { $0["roots"] = [.string(base64(root))] }
                    if now { $0["certTime"] = "now" }
                },
                expectation: accepted ? .accept([World.testEvent]) : .reject(.untrusted),
                reason: accepted ? nil : "chain",
                tags: ["time", "x5c"],
                note: note
            )
        }
        let leaf = [short, genuine.intermediate.certificate, genuine.root.certificate]
        let authority = [underShort, shortAuthority.certificate, genuine.root.certificate]
        let later = end + 400 * World.day
        return [
            try one("leaf-first-millisecond", leaf, signed: start, true),
            try one("leaf-a-millisecond-early", leaf, signed: start - 1, false),
            try one("leaf-last-millisecond", leaf, signed: end, true),
            try one("leaf-a-millisecond-late", leaf, signed: end + 1, false),
            try one("intermediate-early", authority, signed: start - 1, false),
            try one("intermediate-in-time", authority, signed: end, true),
            try one("intermediate-late", authority, signed: end + 1, false),
            try one("root-early", genuine.x5c, signed: start - 1, root: shortRoot.certificate, false),
            try one("root-in-time", genuine.x5c, signed: end, root: shortRoot.certificate, true),
            try one("root-late", genuine.x5c, signed: end + 1, root: shortRoot.certificate, false),
            try one(
                "leaf-expired-since",
                leaf,
                signed: end,
                received: later,
                true,
                note: "judged at the time of signing: old data verifies for ever unless a maximum age is set"
            ),
            try one("leaf-expired-since-judged-now", leaf, signed: end, received: later, now: true, false),
            try one("leaf-valid-now", leaf, signed: end - 1000, received: end, now: true, true),
            try one(
                "leaf-valid-now-not-when-signed",
                leaf,
                signed: start - 5000,
                received: start,
                now: true,
                true,
                note: "with certTime now, the time of receipt alone counts"
            ),
        ]
    }

    private static func values(_ world: World) throws -> [AppleCase] {
        func outer(
            _ id: String,
            _ value: JSONText?,
            _ code: DeliveryError.Code = .malformed
        ) throws -> AppleCase {
            world.refused(
                "time/signed-date-\(id)",
                try world.sign(world.test { $0["signedDate"] = value }),
                code,
                code == .malformed ? "payload" : "time",
                tags: ["time", "payload"]
            )
        }
        func inner(_ id: String, _ member: String, _ value: JSONText) throws -> AppleCase {
            world.refused(
                "time/\(id)",
                body: World.body(try world.sign(world.renewal { $0[member] = value }), under: "jws"),
                .malformed,
                "payload",
                config: world.config { $0["kind"] = "transaction" },
                tags: ["time", "payload", "transaction"]
            )
        }
        return [
            try outer("absent", nil),
            try outer("null", .null),
            try outer("string", .string("\(World.signed)")),
            try outer("fraction", .raw("\(World.signed).5")),
            try outer("fraction-of-zero", .raw("\(World.signed).0")),
            try outer("exponent", .raw("1.767225602e12")),
            try outer("bool", true),
            try outer("array", [.integer(World.signed)]),
            try outer("negative", -1),
            try outer("int64-minimum", .integer(.min)),
            try outer("int64-maximum", .integer(.max)),
            try outer("beyond-int64", .raw("9223372036854775808")),
            try outer("huge-exponent", .raw("1e400")),
            try outer("beyond-year-9999", 253_402_300_800_000),
            try outer("year-9999", 253_402_300_799_999, .stale),
            try outer("in-seconds", .integer(World.signed / 1000), .untrusted),
            try outer("epoch", 0, .untrusted),
            try inner("purchase-date-string", "purchaseDate", .string("\(World.start)")),
            try inner("purchase-date-fraction", "purchaseDate", .raw("\(World.start).25")),
            try inner("purchase-date-negative", "purchaseDate", -62_135_769_600_000),
            try inner("expires-date-int64-maximum", "expiresDate", .integer(.max)),
            try inner("expires-date-int64-minimum", "expiresDate", .integer(.min)),
            try inner("expires-date-absent", "expiresDate", .null),
            try inner("revocation-date-bool", "revocationDate", false),
            try inner("nested-signed-date-absent", "signedDate", .null),
        ]
    }
}
