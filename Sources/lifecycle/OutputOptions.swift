#if CommandLineTool
import ArgumentParser
import Foundation
import Normalizer

/// The form of the output: for people on a terminal, JSON Lines for programs.
struct OutputOptions: ParsableArguments {
    enum Form: String, EnumerableFlag {
        case json, text

        static func help(for value: Form) -> ArgumentHelp? {
            switch value {
            case .json: "Print JSON Lines, as into a pipe or a file."
            case .text: "Print for people, as on a terminal."
            }
        }
    }

    @Flag(exclusivity: .exclusive)
    var form: Form?

    var isForPeople: Bool { form.map { $0 == .text } ?? (isatty(STDOUT_FILENO) == 1) }

    /// Prints rows: a table for people, else JSON Lines.
    func print<Row: Encodable>(_ rows: [Row], heads: [String], _ cells: (Row) -> [String]) throws {
        guard isForPeople else {
            for row in rows { try StandardOutput.write(line: CanonicalJSON.bytes(row)) }
            return
        }
        try StandardOutput.write(table: [heads] + rows.map(cells))
    }

    /// Prints values that say themselves in words.
    func print<Value: Encodable & CustomStringConvertible>(_ values: [Value]) throws {
        for value in values {
            if isForPeople {
                try StandardOutput.write("\(value)")
            } else {
                try StandardOutput.write(line: CanonicalJSON.bytes(value))
            }
        }
    }
}
#endif
