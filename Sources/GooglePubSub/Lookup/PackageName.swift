/// The form of an application id: letters, digits and underscores in at least two parts, each beginning with a letter.
enum PackageName {
    static func isValid(_ name: String) -> Bool {
        guard name.utf8.count <= 255 else { return false }
        let parts = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count >= 2
            && parts.allSatisfy { part in
                guard let first = part.first, isLetter(first) else { return false }
                return part.allSatisfy { isLetter($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "_") }
            }
    }

    private static func isLetter(_ octet: UInt8) -> Bool {
        (0x41...0x5A).contains(octet) || (0x61...0x7A).contains(octet)
    }
}
