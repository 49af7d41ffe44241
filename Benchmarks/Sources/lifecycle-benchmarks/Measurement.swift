import Foundation

/// Times two pieces of work in turn, A B A B …, so that both meet the same machine.
struct Measurement {
    /// Seconds for one run of each piece, a pair a round.
    private(set) var rounds: [(Double, Double)] = []

    init(rounds count: Int = 31, iterations: Int, _ first: () throws -> Void, against second: () throws -> Void) rethrows {
        for _ in 0..<iterations { try first() }
        for _ in 0..<iterations { try second() }
        for _ in 0..<count {
            rounds.append((try Self.seconds(iterations, first), try Self.seconds(iterations, second)))
        }
    }

    private static func seconds(_ iterations: Int, _ work: () throws -> Void) rethrows -> Double {
        let clock = ContinuousClock()
        let elapsed = try clock.measure { for _ in 0..<iterations { try work() } }
        return elapsed.seconds / Double(iterations)
    }

    var first: Double { rounds.map(\.0).median }
    var second: Double { rounds.map(\.1).median }

    /// The median of the rounds' own ratios, which a machine that slows down for a while does not move.
    var ratio: Double { rounds.map { $0.0 / $0.1 }.median }
}

extension Duration {
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}

extension [Double] {
    var median: Double {
        let sorted = sorted()
        guard !sorted.isEmpty else { return .nan }
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }
}

/// One line of the report.
func report(_ name: String, _ figure: String, _ bound: String = "") {
    let columns = [name.padding(toLength: 58, withPad: " ", startingAt: 0), figure.padding(toLength: 40, withPad: " ", startingAt: 0)]
    print((columns + [bound]).joined(separator: " "))
}

func microseconds(_ seconds: Double) -> String { String(format: "%.1f µs", seconds * 1e6) }

func times(_ ratio: Double) -> String { String(format: "%.2f×", ratio) }
