package import Normalizer
import NotificationSimulator
import WireJSON

/// Every file of `TestVectors/` that the runner takes, made again.
package enum VectorFiles {
    /// A provider's files with their lines, by their paths under `TestVectors/`: from the cases in `Tests/Vectors`, and from
    /// those made by code.
    ///
    /// - Throws: `VectorError` that names the cases which do not come to what is stated of them.
    package static func all(of provider: Provider) async throws -> [(path: String, lines: [String])] {
        let files: [(path: String, lines: [String])] =
            switch provider {
            case .apple: try await lines(of: provider, AppleCaseSender())
            case .google: try await lines(of: provider, GoogleCaseSender(), ["matrix": GoogleVectors.matrix])
            case .revenuecat: try await lines(of: provider, RevenueCatCaseSender())
            case .stripe: try await lines(of: provider, StripeCaseSender())
            default: []
            }
        return try files.map { ("\(provider.rawValue)/\($0.path)", try SharingWriter($0.lines).lines()) }
    }

    /// The cases that state more of their events than the kinds.
    package static func detailed(of provider: Provider) throws -> Set<String> {
        Set(try CaseFile.names(of: provider).flatMap { try CaseFile(named: "\(provider.rawValue)/\($0)").detailed })
    }

    private static func lines(
        of provider: Provider,
        _ sender: any CaseSender,
        _ made: [String: JSONMembers] = [:]
    ) async throws -> [(path: String, lines: [String])] {
        var files: [(path: String, lines: [String])] = []
        for name in try CaseFile.names(of: provider) {
            let file = try CaseFile(named: "\(provider.rawValue)/\(name)")
            files.append(("\(name).jsonl", try await file.lines(signing: sender)))
        }
        for (name, cases) in made {
            files.append(("\(name).jsonl", try await CaseFile(cases.bytes).lines(signing: sender)))
        }
        return files
    }
}
