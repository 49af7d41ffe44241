#if CommandLineTool
import ArgumentParser
import Foundation
import Normalizer

/// A point in time, as an option gives it: RFC 3339, or a date alone for its midnight in UTC.
struct Moment: CustomStringConvertible {
    static let form = "RFC 3339 such as 2026-01-31T09:30:00Z, or a date for its midnight in UTC"

    let date: Date

    init(_ date: Date) { self.date = date }

    init(_ text: String) throws(ValidationError) {
        let isDate = text.utf8.count == 10
        guard let milliseconds = RFC3339.milliseconds(isDate ? text + "T00:00:00Z" : text) else {
            throw ValidationError("expected \(Self.form)")
        }
        date = Date(millisecondsSince1970: milliseconds)
    }

    var description: String { RFC3339.string(date.millisecondsSince1970) }
}
#endif
