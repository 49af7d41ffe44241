import FoundationEssentials
import HTTPTransport
public import LifecycleEvents
import WireJSON

/// The products of an app as the Play Console has them, for a `ProductCatalog`.
public struct PlayCatalogue: Hashable, Sendable {
    /// The place of a subscription among the others. Google does not rank them.
    public struct Rank: Hashable, Sendable {
        /// The group; only products of one group take one another's place.
        public var group: String
        /// The level of service; 1 is the highest.
        public var level: Int

        /// Ranks a subscription.
        public init(group: String, level: Int) {
            (self.group, self.level) = (group, level)
        }
    }

    /// The products.
    public var catalog: ProductCatalog
    /// The base plans and purchase options that were left out, because their period is in no form that Google documents.
    public var unreadable: [ProductID]
}

extension GooglePlayAdapter {
    /// Reads the app's subscriptions with the periods of their base plans, and its one-time products, from Google
    /// (`monetization.subscriptions.list`, `monetization.onetimeproducts.list`).
    ///
    /// Google states that a purchase option is a rental, and for how long. It does not state if a product that is bought is
    /// used up or owned for good.
    ///
    /// - Parameters:
    ///   - packageName: the app.
    ///   - ranks: by subscription, or by `subscription:plan` where base plans differ. The base plans of a subscription without a
    ///     rank form a group of their own.
    ///   - types: the types of products that are bought, by product, or by `product:option` where options differ. A
    ///     product that is not listed has no place in the catalogue.
    ///   - unlisted: the catalogue's type for other one-time products.
    /// - Throws: `DeliveryError` with `unavailable`, `denied` without the right to see products, or `malformed` if an answer is no
    ///   list. Half a catalogue is none, so every page must come.
    public func catalogue(
        of packageName: String,
        ranks: [ProductID: PlayCatalogue.Rank] = [:],
        types: [ProductID: LifecycleEvent.OneTimePurchase.ProductType] = [:],
        unlisted: LifecycleEvent.OneTimePurchase.ProductType? = nil
    ) async throws(DeliveryError) -> PlayCatalogue {
        guard let api else { throw DeliveryError(.denied, "the adapter has no API to ask") }
        var draft = CatalogueDraft(ranks: ranks, types: types)
        for resource in [MonetizationPage.Resource.subscriptions, .oneTimeProducts] {
            var seen: Set<String> = []
            var token: String?
            repeat {
                let page = try MonetizationPage(await api.products(resource, packageName: packageName, token), resource)
                for product in page.products { try draft.add(product, resource) }
                token = page.nextPageToken
                // A token that comes again would lead round in a circle.
                if let next = token, !seen.insert(next).inserted {
                    throw DeliveryError(.malformed, "the list of products has no end")
                }
            } while token != nil && seen.count < MonetizationPage.maximumPages
        }
        return PlayCatalogue(
            catalog: ProductCatalog(draft.products, oneTimeProducts: draft.oneTimeProducts, unlisted: unlisted),
            unreadable: draft.unreadable
        )
    }
}

extension GooglePlayAdapter {
    /// Reads the app's products as ``catalogue(of:ranks:types:unlisted:)`` does, and brings your catalogue up to date with them.
    ///
    /// The lengths of base plans and rentals are Google's. Groups, levels and types of your catalogue stay, and a new base plan
    /// gets those of its subscription. No product is removed: other stores' products are in no list of Google's, and an old
    /// customer may have a plan that Google no longer lists.
    ///
    /// - Parameters:
    ///   - packageName: the app.
    ///   - known: your catalogue.
    /// - Throws: `DeliveryError` as ``catalogue(of:ranks:types:unlisted:)``.
    public func catalogue(
        of packageName: String,
        updating known: ProductCatalog
    ) async throws(DeliveryError) -> PlayCatalogue {
        var ranks: [ProductID: PlayCatalogue.Rank] = [:]
        for product in known.products.values.sorted(by: { $0.id < $1.id }) {
            let rank = PlayCatalogue.Rank(group: product.group, level: product.level)
            ranks[product.id] = rank
            let subscription = product.id.subscription
            ranks[subscription] = ranks[subscription] ?? rank
        }
        var read = try await catalogue(of: packageName, ranks: ranks)
        read.catalog = ProductCatalog(
            Array(known.products.values) + read.catalog.products.values,
            oneTimeProducts: Array(known.oneTimeProducts.values) + read.catalog.oneTimeProducts.values,
            unlisted: known.unlisted
        )
        return read
    }
}

/// One page of a list of products.
struct MonetizationPage {
    /// Segment of the path and member of the answer have one name.
    enum Resource: String {
        case subscriptions
        case oneTimeProducts
    }

    static let maximumPages = 1000

    let products: [JSONValue]
    let nextPageToken: String?

    init(_ answer: PlayAnswer, _ resource: Resource) throws(DeliveryError) {
        guard answer.outcome == .found else { throw answer.error(about: "the list of products") }
        do throws(JSONError) {
            let reader = try ObjectReader(parsing: answer.body)
            products = try reader.optionalArray(MemberName(resource.rawValue)).map(Array.init) ?? []
            let token = try reader.optionalString("nextPageToken")
            nextPageToken = token?.isEmpty == true ? nil : token
        } catch {
            throw DeliveryError(.malformed, "the list of products: \(error)", underlying: error)
        }
    }
}

extension PlayDeveloperAPI {
    /// A page of the app's products.
    func products(_ resource: MonetizationPage.Resource, packageName: String, _ pageToken: String?) async -> PlayAnswer
    {
        var query: [HTTPSURL.QueryItem] = [.init("pageSize", "1000")]
        if let pageToken { query.append(.init("pageToken", pageToken)) }
        return await get(packageName, [.init(resource.rawValue)], query: query)
    }
}

private struct CatalogueDraft {
    let ranks: [ProductID: PlayCatalogue.Rank]
    let types: [ProductID: LifecycleEvent.OneTimePurchase.ProductType]
    var products: [ProductCatalog.Product] = []
    var oneTimeProducts: [ProductCatalog.OneTimeProduct] = []
    var unreadable: [ProductID] = []

    mutating func add(_ product: JSONValue, _ resource: MonetizationPage.Resource) throws(DeliveryError) {
        do throws(JSONError) {
            let reader = try ObjectReader(product)
            switch resource {
            case .subscriptions: try addSubscription(reader)
            case .oneTimeProducts: try addOneTimeProduct(reader)
            }
        } catch {
            throw DeliveryError(.malformed, "the list of products: \(error)", underlying: error)
        }
    }

    private mutating func addSubscription(_ reader: ObjectReader) throws(JSONError) {
        let id = ProductID(try reader.string("productId"))
        for plan in try reader.optionalArray("basePlans").map(Array.init) ?? [] {
            let plan = try ObjectReader(plan)
            let name = id.under(try plan.string("basePlanId"))
            var period: CalendarDuration?
            for kind in ["autoRenewingBasePlanType", "prepaidBasePlanType", "installmentsBasePlanType"] as [MemberName]
            {
                guard let type = plan.optionalValue(kind) else { continue }
                period = try ObjectReader(type).optionalString("billingPeriodDuration").flatMap(
                    CalendarDuration.init(period:)
                )
            }
            guard let period else {
                unreadable.append(name)
                continue
            }
            let rank = ranks[name] ?? ranks[id] ?? .init(group: id.rawValue, level: 1)
            products.append(.init(id: name, group: rank.group, level: rank.level, duration: period))
        }
    }

    private mutating func addOneTimeProduct(_ reader: ObjectReader) throws(JSONError) {
        let id = ProductID(try reader.string("productId"))
        if let type = types[id] { oneTimeProducts.append(.init(id: id, type: type)) }
        for option in try reader.optionalArray("purchaseOptions").map(Array.init) ?? [] {
            let option = try ObjectReader(option)
            let name = id.under(try option.string("purchaseOptionId"))
            if let rental = option.optionalValue("rentOption") {
                let period = try ObjectReader(rental).optionalString("rentalPeriod")
                guard let duration = period.flatMap(CalendarDuration.init(period:)) else {
                    unreadable.append(name)
                    continue
                }
                oneTimeProducts.append(.init(id: name, type: .nonRenewing, duration: duration))
            } else if let type = types[name] {
                oneTimeProducts.append(.init(id: name, type: type))
            }
        }
    }
}

extension CalendarDuration {
    /// Reads a period as Google writes one: `P1W`, `P1M`, `P1Y`, `P30D` (ISO 8601, without times of day).
    init?(period: String) {
        guard period.utf8.first == UInt8(ascii: "P") else { return nil }
        self.init()
        var units = Array("YMWD".utf8)[...]
        var digits = ""
        for octet in period.utf8.dropFirst() {
            if (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(octet), digits.utf8.count < 4 {
                digits.unicodeScalars.append(Unicode.Scalar(octet))
                continue
            }
            guard let count = Int(digits), let place = units.firstIndex(of: octet) else { return nil }
            switch octet {
            case UInt8(ascii: "Y"): months += 12 * count
            case UInt8(ascii: "M"): months += count
            case UInt8(ascii: "W"): days += 7 * count
            default: days += count
            }
            units = units[(place + 1)...]
            digits = ""
        }
        guard digits.isEmpty, months > 0 || days > 0 else { return nil }
    }
}
