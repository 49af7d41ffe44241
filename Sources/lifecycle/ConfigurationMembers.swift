#if CommandLineTool
import ArgumentParser
import WireJSON

extension ObjectReader {
    /// Refuses unknown members. A misspelled one would silently have no effect, such as one that says which app to accept.
    func refuseMembers(otherThan known: Set<String>) throws(ValidationError) {
        for (name, _) in object.members where !known.contains(name) {
            // Only a name of letters is shown; another text may be a secret.
            let shown = name.utf8.count <= 40 && name.utf8.allSatisfy { ($0 | 0x20) >= 0x61 && ($0 | 0x20) <= 0x7A }
            throw ValidationError(
                "the configuration has an unknown member\(shown ? " \(name)" : ""); its members are "
                    + known.sorted().joined(separator: ", ")
            )
        }
    }
}
#endif
