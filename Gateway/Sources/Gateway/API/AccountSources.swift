import Hummingbird
import Normalizer

extension Account.Source {
    /// The source with a name.
    ///
    /// - Throws: `HTTPError` with 400 and the known names. Under a misspelled source no account has anything, which would
    ///   look like no access.
    static func named(_ name: String) throws(HTTPError) -> Account.Source {
        guard let source = known.first(where: { $0.rawValue == name }) else {
            let names = known.map(\.rawValue).joined(separator: ", ")
            throw HTTPError(.badRequest, message: "no account source has this name; the names are \(names)")
        }
        return source
    }
}

extension StoreEnvironment {
    /// The environment with a name.
    ///
    /// - Throws: `HTTPError` with 400 and the known names.
    static func named(_ name: String) throws(HTTPError) -> StoreEnvironment {
        let known: [StoreEnvironment] = [.production, .sandbox, .xcode, .localTesting, .unknown]
        guard let environment = known.first(where: { $0.rawValue == name }) else {
            let names = known.map(\.rawValue).joined(separator: ", ")
            throw HTTPError(.badRequest, message: "no environment has this name; the names are \(names)")
        }
        return environment
    }
}
