import Foundation
public import FuzzTargets

/// What both executables do, by their arguments.
public enum Driver {
    /// The value of `--name=value` on the command line.
    public static func option(_ name: String) -> String? {
        let prefix = "--\(name)="
        return CommandLine.arguments.first { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
    }

    /// Writes the seeds of every target into a folder each.
    public static func writeSeeds(to path: String) throws {
        for target in FuzzTarget.allCases {
            let folder = URL(fileURLWithPath: path).appendingPathComponent(target.rawValue)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let seeds = target.seeds()
            for (index, seed) in seeds.enumerated() {
                try Data(seed).write(to: folder.appendingPathComponent("seed-\(index)"))
            }
            print("\(target.rawValue): \(seeds.count) seeds")
        }
    }

    /// Runs every file of a corpus once and prints what the calls took, for each target.
    public static func measure(_ path: String) throws {
        for target in FuzzTarget.allCases {
            let folder = URL(fileURLWithPath: path).appendingPathComponent(target.rawValue)
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
            let inputs = try names.sorted().map { try Data(contentsOf: folder.appendingPathComponent($0)) }
            for input in inputs.prefix(50) { _ = target.run(Array(input)) }
            var slowest: (nanoseconds: Int64, name: String) = (0, "")
            var total: Int64 = 0
            var accepted = 0
            for (name, input) in zip(names.sorted(), inputs) {
                let run = target.run(Array(input))
                total += run.slowestCall
                if run.isAccepted { accepted += 1 }
                if run.slowestCall > slowest.nanoseconds { slowest = (run.slowestCall, name) }
            }
            let mean = inputs.isEmpty ? 0 : total / Int64(inputs.count)
            print(
                "\(target.rawValue): \(inputs.count) inputs, \(accepted) accepted, mean \(mean / 1000) µs,",
                "slowest \(slowest.nanoseconds / 1000) µs (\(slowest.name))"
            )
        }
    }

    /// Runs one input and ends the process where a promise is broken or a call took too long.
    public static func check(_ target: FuzzTarget, _ input: [UInt8], limit: Int64) {
        var run = target.run(input)
        if let violation = run.violation { fatalError("broken promise: \(violation)") }
        // What a call takes the first time, for libraries that set themselves up, it does not take again.
        for _ in 0..<2 where run.slowestCall > limit { run = target.run(input) }
        if run.slowestCall > limit { fatalError("slow input: \(run.slowestCall / 1000) µs of processor time") }
    }
}
