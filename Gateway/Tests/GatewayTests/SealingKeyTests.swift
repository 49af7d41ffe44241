import Configuration
import Foundation
@testable import Gateway
import Testing

@Suite("The keys that tokens are sealed with") struct SealingKeyTests {
    @Test(
        "a sealing key that is short or the example's stops the start, and is not shown",
        arguments: ["short-key-9f", "set SEALING_KEY to a secret of your own", ""]
    )
    func sealingKey(key: String) throws {
        let bench = try Bench()
        let changes: [String: ConfigValue?] = ["sealing_key": .init(.string(key), isSecret: true)]
        let error = #expect(throws: SettingError.self) { try GatewayConfiguration(bench.settings(changes)) }
        #expect(error?.setting == "sealing_key")
        #expect(error.map { key.isEmpty || !"\($0)".contains(key) } == true)
    }

    @Test("a sealing key comes from the environment or a file, which may end with a line feed")
    func sealingKeyFile() throws {
        let bench = try Bench()
        let key = "9f0c1d6b5a4e38271605f4e3d2c1b0a9"
        let path = bench.folder.appending(path: "sealing").path
        try Data((key + "\n").utf8).write(to: URL(fileURLWithPath: path))
        let inFile: [String: ConfigValue?] = ["sealing_key_file": .init(.string(path), isSecret: false)]
        let inText: [String: ConfigValue?] = ["sealing_key": .init(.string(key), isSecret: true)]
        for changes in [inFile, inText] {
            let configuration = try GatewayConfiguration(bench.settings(changes))
            #expect(configuration.sealingKey != nil)
            #expect(!configuration.summary.joined().contains(key))
        }
        let both = inFile.merging(inText) { $1 }
        let error = #expect(throws: SettingError.self) { try GatewayConfiguration(bench.settings(both)) }
        #expect(error?.setting == "sealing_key_file")
    }

    @Test(
        "a former sealing key that is short, the example's or without a present key stops the start, and is not shown",
        arguments: [
            ("short-key-9f", true, true), ("set FORMER_SEALING_KEYS to secrets of your own", true, true),
            ("1e2d3c4b5a69788796a5b4c3d2e1f009", true, false), ("1e2d3c4b5a69788796a5b4c3d2e1f009", false, true),
        ]
    )
    func formerSealingKeys(key: String, hasKey: Bool, isRefused: Bool) throws {
        let bench = try Bench()
        let settings = bench.settings([
            "sealing_key": hasKey ? .init(.string("9f0c1d6b5a4e38271605f4e3d2c1b0a9"), isSecret: true) : nil,
            "former_sealing_keys": .init(.stringArray([key]), isSecret: true),
        ])
        if !isRefused { return #expect(try GatewayConfiguration(settings).formerSealingKeys.count == 1) }
        let error = #expect(throws: SettingError.self) { try GatewayConfiguration(settings) }
        #expect(error?.setting == "former_sealing_keys")
        #expect(error.map { !"\($0)".contains(key) } == true)
    }
}
