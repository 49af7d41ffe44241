import ConformanceVectors
import Normalizer
import NotificationSimulator
import SignatureIssuing

/// Configurations that would verify nothing, or less than they seem to.
enum AppleConfigurationCases {
    typealias World = AppleVectorWorld

    static func all(_ world: World) throws -> [AppleCase] {
        let genuine = try world.sign(world.test())
        let certificates = world.production.certificates
        func refused(_ id: String, note: String? = nil, _ change: (inout JSONMembers) -> Void) -> AppleCase {
            world.refused(
                "configuration/\(id)",
                genuine,
                .configuration,
                "config",
                config: world.config(change),
                tags: ["config"],
                note: note
            )
        }
        func roots(_ texts: [String]) -> (inout JSONMembers) -> Void {
            { $0["roots"] = .array(texts.map(JSONText.string)) }
        }
        let root = base64(certificates.root.certificate)
        return [
            refused("roots-absent") { $0["roots"] = nil },
            refused("roots-empty", roots([])),
            refused("root-blank", roots([""])),
            refused("root-not-base64", roots(["not base64"])),
            refused("root-random", roots(["AAAA"])),
            refused("root-pem-in-base64", roots([base64(Array("-----BEGIN CERTIFICATE-----".utf8))])),
            refused("root-with-trailing-octet", roots([base64(certificates.root.certificate + [0])])),
            refused("root-is-a-leaf", roots([base64(certificates.leaf)])),
            refused("root-is-an-intermediate", roots([base64(certificates.intermediate.certificate)])),
            refused("one-of-two-roots-unreadable", roots([root, "AAAA"])),
            refused("bundle-id-absent") { $0["bundleId"] = nil },
            refused("bundle-id-empty") { $0["bundleId"] = "" },
            refused("bundle-id-blank") { $0["bundleId"] = " \t" },
            refused("one-of-two-bundle-ids-blank") {
                $0["bundleId"] = nil
                $0["bundleIds"] = ["com.example.app", " "]
            },
            refused("bundle-ids-empty") {
                $0["bundleId"] = nil
                $0["bundleIds"] = []
            },
            refused("production-without-app-apple-id") { $0["appAppleId"] = nil },
            refused("production-and-sandbox-without-app-apple-id") {
                $0["appAppleId"] = nil
                $0["environment"] = nil
                $0["environments"] = ["Sandbox", "Production"]
            },
            refused("environment-absent") { $0["environment"] = nil },
            refused("environment-unknown") { $0["environment"] = "Staging" },
            refused("environment-other-case") { $0["environment"] = "production" },
            refused("environments-empty") {
                $0["environment"] = nil
                $0["environments"] = []
            },
            refused("production-mixed-with-xcode", note: "unsigned data would pass for signed") {
                $0["environment"] = nil
                $0["environments"] = ["Production", "Xcode"]
            },
            refused("sandbox-mixed-with-local-testing") {
                $0["environment"] = nil
                $0["environments"] = ["Sandbox", "LocalTesting"]
            },
            refused("tolerance-negative") { $0["maxFutureSkewMs"] = -1 },
            refused("maximum-age-negative") { $0["maxSignedAgeMs"] = -1 },
            refused("maximum-body-zero") { $0["maxBodyBytes"] = 0 },
            refused("certificate-time-unknown") { $0["certTime"] = "never" },
            refused("kind-unknown") { $0["kind"] = "receipt" },
        ]
    }
}
