/// Keys in the order of the starts that they are placed at.
struct StartOrder<Key: Hashable & Comparable & Sendable>: Sendable {
    struct Place: Comparable {
        var start: Int64
        var key: Key

        static func < (lhs: Self, rhs: Self) -> Bool {
            lhs.start == rhs.start ? lhs.key < rhs.key : lhs.start < rhs.start
        }
    }

    private(set) var places: [Place]

    init(_ places: [Place]) { self.places = places.sorted() }

    /// - Returns: the index where the key is now.
    mutating func insert(_ key: Key, at start: Int64) -> Int {
        let place = Place(start: start, key: key)
        let index = places.partitioningIndex { !($0 < place) }
        places.insert(place, at: index)
        return index
    }

    /// - Returns: the index where the key was; nil if it was not placed at that start.
    mutating func remove(_ key: Key, from start: Int64) -> Int? {
        let place = Place(start: start, key: key)
        let index = places.partitioningIndex { !($0 < place) }
        guard index < places.count, places[index] == place else { return nil }
        places.remove(at: index)
        return index
    }

    /// The keys that are placed at a moment or later.
    func keys(from start: Int64) -> [Key] { places[firstIndex(from: start)...].map(\.key) }

    /// The keys that are placed at a moment, give or take a tolerance.
    func keys(near start: Int64, within tolerance: Int64) -> [Key] {
        let last = start.addingClamped(tolerance)
        return places[firstIndex(from: start.addingClamped(-tolerance))...].prefix { $0.start <= last }.map(\.key)
    }

    func firstIndex(from start: Int64) -> Int { places.partitioningIndex { $0.start >= start } }
}
