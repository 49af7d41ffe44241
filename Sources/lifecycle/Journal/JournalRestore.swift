#if CommandLineTool
import ArgumentParser
import LifecycleJournal

/// `lifecycle journal restore`
struct JournalRestore: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Puts a copy in the place of an SQLite database, and notes that the database was restored.",
        discussion: """
            Stop every process that uses the database first. For PostgreSQL, restore the database with its own tools, and run this \
            without a copy before you start anything.

            The note keeps positions of the feed from being given out twice, and has the gateway ask the providers about all \
            purchases. The copy is checked first, and the database is as it was if the copy is damaged.

            Exit status: 69 when the copy is damaged, or the database is in use.
            """
    )

    @OptionGroup var options: DatabaseOptions

    @Argument(help: ArgumentHelp("The copy of an SQLite database, a file that may be written to.", valueName: "file"))
    var copy: String?

    func run() async throws {
        if let copy { try await options.restore(from: copy) }
        let journal = try await options.journal(migrates: copy != nil)
        try await options.reachable { () async throws(JournalError) in try await journal.noteRestore() }
        StandardError.write("restored; events that come from now on have positions behind all that were given out")
    }
}
#endif
