package import LifecycleEvents
package import Stripe
package import WireJSON

extension StripeAdapter.Policy {
    private static let memberNames: Set = [
        "pastDue", "graceSeconds", "collectionPause", "refundSource", "sellsByInvoice", "sentInvoices", "addOnProducts",
        "oneTimeProducts", "accountMetadataKeys",
    ]

    /// Reads the choices from the member `policy` of a configuration: its members have the names of the properties, and a time of grace
    /// is `"pastDue": "grace"` with `graceSeconds`. Without that member they are the defaults.
    ///
    /// - Throws: `ConfigurationError` for an unknown member or value: a misspelled one would silently have no effect on access.
    package init(_ value: JSONValue?) throws(ConfigurationError) {
        self.init()
        guard let value else { return }
        do throws(JSONError) {
            let reader = try ObjectReader(value)
            guard reader.object.members.allSatisfy({ Self.memberNames.contains($0.name) }) else {
                throw value.error(.missing)
            }
            func choice<Value>(_ name: MemberName, _ values: [String: Value]) throws(JSONError) -> Value? {
                guard let text = try reader.optionalString(name) else { return nil }
                guard let value = values[text] else { throw try reader.value(name).error(.missing) }
                return value
            }
            let grace = try reader.optionalInt64("graceSeconds").map { PastDueAccess.grace(.seconds($0)) }
            var accesses = ["keeps": PastDueAccess.keeps, "suspends": .suspends]
            accesses["grace"] = grace
            pastDue = try choice("pastDue", accesses) ?? pastDue
            if let grace, pastDue != grace { throw try reader.value("graceSeconds").error(.missing) }
            collectionPause = try choice("collectionPause", ["keeps": .keeps, "pauses": .pauses]) ?? collectionPause
            refundSource =
                try choice("refundSource", ["byVersion": .byVersion, "refunds": .refunds, "charges": .charges])
                ?? refundSource
            sentInvoices =
                try choice("sentInvoices", ["keeps": .keeps, "waitsForPayment": .waitsForPayment]) ?? sentInvoices
            sellsByInvoice = try reader.optionalBool("sellsByInvoice") ?? sellsByInvoice
            addOnProducts = Set(try reader.optionalStrings("addOnProducts") ?? [])
            accountMetadataKeys = try reader.optionalStrings("accountMetadataKeys") ?? []
            if let types = try reader.optionalValue("oneTimeProducts")?.object() {
                for (name, value) in types.members {
                    guard let type = LifecycleEvent.OneTimePurchase.ProductType(rawValue: try value.string()) else {
                        throw value.error(.missing)
                    }
                    oneTimeProducts[name] = type
                }
            }
        } catch {
            throw ConfigurationError(
                "config: \(error.path) is none of \(Self.memberNames.sorted().joined(separator: ", ")) with one of its values"
            )
        }
    }
}
