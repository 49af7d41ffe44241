import Foundation

// With the name of a benchmark, that one alone. `single` is all that take one thread, `memory [COUNT]` and
// `journal-memory [COUNT]` are each one long process,
// `counted NAME` does a fixed amount of work for Scripts/budget, and `loop COUNT` is Stripe's part for a profiler.
let arguments = Array(CommandLine.arguments.dropFirst())
let subjects = try Subjects()
let providers = Providers(subjects: subjects)
defer { Scratch.remove() }
switch arguments.first {
case "apple": try await providers.apple()
case "google": try await providers.google()
case "revenuecat": try await providers.revenueCat()
case "stripe": try await providers.stripe()
case "threads": try await providers.threads()
case "json": try await ReaderBenchmark().run()
case "state": try await StateBenchmark().run()
case "memory":
    try await MemoryBenchmark(subjects: subjects).run(count: arguments.dropFirst().first.flatMap { Int($0) } ?? 100_000)
case "journal":
    try await JournalBenchmark(subjects: subjects, floor: RawFloor(lengths: providers.signedLengths())).run()
case "journal-memory":
    try await JournalBenchmark(subjects: subjects, floor: RawFloor(lengths: providers.signedLengths()))
        .memory(count: arguments.dropFirst().first.flatMap { Int($0) } ?? 100_000)
case "counted": try CountedWork(subjects: subjects).run(arguments.dropFirst().first ?? "")
case "loop":
    try await subjects.stripe.works.normalize.run(arguments.dropFirst().first.flatMap { Int($0) } ?? 100_000)
case "single":
    try await providers.apple()
    try await providers.google()
    try await providers.revenueCat()
    try await providers.stripe()
    try await ReaderBenchmark().run()
    try await StateBenchmark().run()
default: throw BenchmarkError("no benchmark is called \(arguments.first ?? "")")
}
