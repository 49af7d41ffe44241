extension Dictionary where Key: Comparable {
    // An array is sorted, so that sorting is compiled once for each type of key and not for each type of dictionary.
    package var keysInOrder: [Key] { Array(keys).sorted() }

    /// The values in the order of their keys.
    package var valuesInOrder: [Value] { keysInOrder.compactMap { self[$0] } }
}
