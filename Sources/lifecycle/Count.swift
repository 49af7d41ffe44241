#if CommandLineTool
import ArgumentParser

/// A whole number from 1 on. With 0 a command would print nothing, and a program would take that for the end.
struct Count: ExpressibleByArgument, ExpressibleByIntegerLiteral {
    let number: Int

    init?(argument: String) {
        guard let number = Int(argument), number > 0 else { return nil }
        self.number = number
    }

    init(integerLiteral value: Int) { number = value }

    var defaultValueDescription: String { "\(number)" }
}
#endif
