import Foundation

// Without an argument, every benchmark; with one, that one alone. `memory [COUNT]` is one long process.
let arguments = CommandLine.arguments.dropFirst()
switch arguments.first {
case "apple":
    try AppleBenchmark().run()
case "stripe":
    try StripeBenchmark().run()
case "state":
    try StateBenchmark().run()
case "memory":
    try AppleBenchmark().runMemory(count: arguments.dropFirst().first.flatMap(Int.init) ?? 100_000)
default:
    try AppleBenchmark().run()
    try StripeBenchmark().run()
    try StateBenchmark().run()
}
