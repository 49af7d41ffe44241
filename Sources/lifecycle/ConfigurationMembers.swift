#if CommandLineTool
import ArgumentParser
import WireJSON

extension ObjectReader {
    /// What is misspelled must not silently stay without effect, least of all what narrows down whom to believe.
    func refuseMembers(otherThan known: Set<String>) throws(ValidationError) {
        for (name, _) in object.members where !known.contains(name) {
            // Shown as far as a name goes; whatever else stands there may be a secret.
            let shown = name.utf8.count <= 40 && name.utf8.allSatisfy { ($0 | 0x20) >= 0x61 && ($0 | 0x20) <= 0x7A }
            throw ValidationError(
                "the configuration's member \(shown ? name : "with a strange name") is none of "
                    + known.sorted().joined(separator: ", ")
            )
        }
    }
}
#endif
