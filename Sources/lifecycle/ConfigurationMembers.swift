#if CommandLineTool
import ArgumentParser
import WireJSON

extension ObjectReader {
    /// What is misspelled must not silently stay without effect, least of all what narrows down whom to believe.
    func refuseMembers(otherThan known: Set<String>) throws(ValidationError) {
        for (name, _) in object.members where !known.contains(name) {
            throw ValidationError("the configuration has a member that is not one of \(known.sorted())")
        }
    }
}
#endif
