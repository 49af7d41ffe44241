/// All orders of the elements, the given order first.
package func permutations<Element>(of elements: [Element]) -> [[Element]] {
    if elements.isEmpty { return [[]] }
    return elements.indices.flatMap { index in
        var rest = elements
        let first = rest.remove(at: index)
        return permutations(of: rest).map { [first] + $0 }
    }
}
