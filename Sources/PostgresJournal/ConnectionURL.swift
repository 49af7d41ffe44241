import CLifecyclePostgres
public import LifecycleJournal

extension PostgresJournalStorage.Configuration {
    /// Checks the settings without connecting. ``PostgresJournalStorage/init(_:migrates:)`` does the same.
    ///
    /// - Throws: `JournalError` with `configuration`. It shows nothing of the URL: of a wrong one, any part may be the password.
    public func validate() throws(JournalError) {
        guard maximumConnections > 0 else {
            throw JournalError(.configuration, "maximumConnections must be positive")
        }
        guard ["postgres://", "postgresql://"].contains(where: url.text.hasPrefix) else {
            throw JournalError(.configuration, "the URL must begin with postgresql://")
        }
        guard !url.text.utf8.contains(0), !trustRoots.utf8.contains(0) else {
            throw JournalError(.configuration, "a setting must not contain NUL")
        }
        guard url.canBeRead else {
            throw JournalError(
                .configuration,
                "the URL cannot be read; encode reserved characters of the user and the password, such as %40 for @, %2F for / and %25 for %"
            )
        }
        // libpq would refuse another one with each connection.
        let modes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]
        if let mode = unsafe Address.option("sslmode", of: url.text), !mode.isEmpty, !modes.contains(mode) {
            throw JournalError(.configuration, "sslmode must be one of \(modes.joined(separator: ", "))")
        }
    }
}

extension PostgresJournalStorage.Configuration.Address {
    /// True if libpq can read it, and no plain `@` or `/` of a password has become part of the host, the port or the database.
    /// libpq's errors name these.
    fileprivate var canBeRead: Bool {
        let (at, slash) = (UInt8(ascii: "@"), UInt8(ascii: "/"))
        let rest = text.utf8.drop { $0 != slash }.dropFirst(2)
        let end = rest.firstIndex { $0 == at || $0 == slash } ?? rest.endIndex
        let place = rest[end...].first == at ? rest[end...].dropFirst() : rest
        guard !place.prefix(while: { $0 != UInt8(ascii: "?") }).contains(at) else { return false }
        // There are several for several hosts.
        guard let ports = unsafe Self.option("port", of: text) else { return false }
        return ports.split(separator: ",", omittingEmptySubsequences: false).allSatisfy { port in
            port.isEmpty || (port.utf8.allSatisfy { (0x30...0x39).contains($0) } && UInt16(port) ?? 0 > 0)
        }
    }

    /// How many hosts it has, of which libpq takes the first that it can use.
    var hostCount: Int { lists.map(\.values.count).max() ?? 1 }

    /// The settings that make another host the first one, and those before it the last.
    func hosts(beginningAt first: Int) -> [(name: String, value: String)] {
        lists.filter { $0.values.count > 1 }.map { name, values in
            let first = first % values.count
            return (name, (values[first...] + values[..<first]).joined(separator: ","))
        }
    }

    /// The options that it has for each host. One that is the same for all, or that it leaves out, has one value.
    private var lists: [(name: String, values: [Substring])] {
        ["host", "hostaddr", "port"].map { name in
            (name, (unsafe Self.option(name, of: text) ?? "").split(separator: ",", omittingEmptySubsequences: false))
        }
    }

    /// An option as libpq reads it, empty if the URL does not have it; nil if libpq cannot read the URL.
    @unsafe fileprivate static func option(_ name: String, of text: String) -> String? {
        // The list and its texts are libpq's, and valid until they are freed here. An entry without a keyword ends it.
        guard let options = unsafe PQconninfoParse(text, nil) else { return nil }
        defer { unsafe PQconninfoFree(options) }
        var option = unsafe options
        while let keyword = unsafe option.pointee.keyword {
            if unsafe String(cString: keyword) == name {
                return unsafe option.pointee.val.map { unsafe String(cString: $0) } ?? ""
            }
            unsafe option += 1
        }
        return ""
    }
}
