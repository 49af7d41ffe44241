#if CommandLineTool
import Foundation

/// Shows on a terminal how far long work is. Nothing is shown of work that is over within a second, nor where standard error
/// is not a terminal.
struct Progress {
    private static let interval: Duration = .milliseconds(500)

    private let unit: String
    private let total: Int?
    private var count = 0
    private var next = ContinuousClock.now + .seconds(1)

    /// - Parameter unit: the counted things, such as "lines".
    init(_ unit: String, of total: Int? = nil) {
        self.unit = unit
        self.total = total
    }

    /// One more is done.
    mutating func advance() {
        count += 1
        guard StandardError.isTerminal, ContinuousClock.now >= next else { return }
        next = .now + Self.interval
        StandardError.showProgress("\(count)\(total.map { " of \($0)" } ?? "") \(unit)")
    }

    /// Shows how long work lasts that cannot be counted.
    static func during<Value>(_ work: String, _ body: () async throws -> Value) async rethrows -> Value {
        guard StandardError.isTerminal else { return try await body() }
        let start = ContinuousClock.now
        let ticker = Task {
            while !Task.isCancelled {
                try await Task.sleep(for: .seconds(1))
                StandardError.showProgress("\(work), \(start.duration(to: .now).components.seconds) s")
            }
        }
        defer { ticker.cancel() }
        return try await body()
    }
}
#endif
