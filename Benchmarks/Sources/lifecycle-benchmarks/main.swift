import Foundation

// `lifecycle-benchmarks` prints ratios; `lifecycle-benchmarks memory [COUNT]` runs one long process for its memory.
let arguments = CommandLine.arguments.dropFirst()
let benchmark = try AppleBenchmark()
if arguments.first == "apple" {
    try benchmark.run()
} else if arguments.first == "memory" {
    try benchmark.runMemory(count: arguments.dropFirst().first.flatMap(Int.init) ?? 100_000)
} else {
    try benchmark.run()
    try StateBenchmark().run()
}
