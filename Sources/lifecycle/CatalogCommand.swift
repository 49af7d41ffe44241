#if CommandLineTool
import ArgumentParser
import Foundation
import Normalizer

/// `lifecycle catalog`
struct CatalogCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "catalog",
        abstract: "Reads your products from a provider, and prints your catalogue with them as JSON.",
        discussion: """
            Save it in a file, and name that file in LIFECYCLE_CATALOG for the commands that take events into a database, and in \
            products.catalog_file for the gateway.

            Google Play states the lengths of base plans and rentals. It does not state which subscription is the better one, or if \
            a product is used up or owned for good. Name your catalogue, and its groups, levels and types stay, with the products of \
            other stores. A base plan that is not in it gets group and level of its subscription, or a group of its own.

            \(ProviderAccess.help)

            Exit status: 1 if products were left out because their length cannot be read, 69 if the provider could not be asked.
            """
    )

    @OptionGroup var options: ProviderOptions

    @Argument(help: ArgumentHelp("Your catalogue so far, a JSON file.", valueName: "file"))
    var file: String?

    func run() async throws { try await options.withAccess(run) }

    private func run(with access: ProviderAccess) async throws {
        let known = try file.map { try ProductCatalog(path: $0) } ?? ProductCatalog([])
        guard let products = access.products else {
            throw ValidationError(
                "\(access.provider) has no list of products that can be read: the provider must be google"
            )
        }
        let read: ReadProducts
        do {
            read = try await products(known)
        } catch {
            StandardError.write("\(error)")
            throw ExitCode.unavailable
        }
        try StandardOutput.write(line: CanonicalJSON.bytes(read.catalog))
        for name in read.unreadable { StandardError.write("\(name) is left out: its length cannot be read") }
        if !read.unreadable.isEmpty { throw ExitCode.differs }
    }
}

/// A catalogue with a provider's products.
struct ReadProducts {
    var catalog: ProductCatalog
    /// The products that were left out.
    var unreadable: [ProductID] = []
}

extension ProductCatalog {
    /// - Throws: `ValidationError` for a file that holds no catalogue.
    init(path: String) throws {
        let bytes = try contents(of: path)
        do {
            self = try CanonicalJSON.value(from: bytes)
        } catch {
            throw ValidationError("\(path) is not a catalogue of products: \(error)")
        }
    }
}
#endif
