/// The host's products: which can take one another's place, which of them ranks higher, how long each lasts.
///
/// Products are named as in ``Fact/Period/product``.
public struct ProductCatalog: Hashable, Sendable, Codable {
    /// A product of the catalogue.
    public struct Product: Hashable, Sendable, Codable {
        /// The store's product id.
        public var id: String
        /// The group; only products of one group take one another's place.
        public var group: String
        /// The level of service; 1 is the highest.
        public var level: Int
        /// How long a period lasts.
        public var duration: CalendarDuration

        /// Describes a product.
        public init(id: String, group: String, level: Int, duration: CalendarDuration) {
            self.id = id
            self.group = group
            self.level = level
            self.duration = duration
        }
    }

    /// The products by id.
    public private(set) var products: [String: Product]

    /// Makes a catalogue; of two products with one id the later counts.
    public init(_ products: some Sequence<Product>) {
        self.products = Dictionary(products.map { ($0.id, $0) }) { _, later in later }
    }

    /// The product of an id.
    public subscript(id: String) -> Product? { products[id] }

    /// Reads a list of products.
    public init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode([Product].self))
    }

    /// Writes the products in the order of their ids.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(products.valuesInOrder)
    }
}

/// A length of time as calendars count it.
public struct CalendarDuration: Hashable, Sendable, Codable {
    /// Whole months.
    public var months: Int
    /// Whole days, beside the months.
    public var days: Int

    /// Makes a duration.
    public init(months: Int = 0, days: Int = 0) {
        self.months = months
        self.days = days
    }

    /// Seven days.
    public static let week = CalendarDuration(days: 7)
    /// One month.
    public static let month = CalendarDuration(months: 1)
    /// Three months.
    public static let quarter = CalendarDuration(months: 3)
    /// Twelve months.
    public static let year = CalendarDuration(months: 12)
}
