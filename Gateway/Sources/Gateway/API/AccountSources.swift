import Hummingbird
import Normalizer

extension Account.Source {
    /// The source that a member of a request names.
    ///
    /// - Throws: `HTTPError` with 400 and the known names. Under another source no account has anything, which would look like
    ///   no access. So a missing one is not guessed.
    static func named(_ name: String?, in member: String) throws(HTTPError) -> Account.Source {
        guard let source = known.first(where: { $0.rawValue == name }) else {
            let names = known.map(\.rawValue).joined(separator: ", ")
            let problem = name == nil ? "\(member) is missing" : "no account source has this name"
            throw HTTPError(.badRequest, message: "\(problem); the names are \(names)")
        }
        return source
    }
}

extension PurchaseStore {
    /// The stores that this version has names for. RevenueCat may have purchases of others.
    static let known: [PurchaseStore] = [
        .appStore, .macAppStore, .playStore, .stripe, .amazon, .roku, .paddle, .rcBilling, .testStore, .promotional,
        .unknown,
    ]
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
