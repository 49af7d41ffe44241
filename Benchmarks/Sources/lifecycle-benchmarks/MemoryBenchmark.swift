import Foundation

/// The peak memory of a process that handles very many deliveries of all providers.
struct MemoryBenchmark {
    let subjects: Subjects

    func run(count: Int) async throws {
        try await round()
        let first = try Self.peak()
        let rounds = max(1, count / 4)
        for _ in 0..<rounds / 10 { try await round() }
        let early = try Self.peak()
        for _ in 0..<rounds - rounds / 10 { try await round() }
        let last = try Self.peak()
        print(
            "\nPeak memory after 4, \(rounds / 10 * 4) and \(rounds * 4) mixed deliveries: "
                + "\(first / 1024), \(early / 1024), \(last / 1024) MiB   (flat, < 40 MiB)"
        )
    }

    private func round() async throws {
        try await subjects.apple.normalize()
        try await subjects.google.normalize()
        try await subjects.revenueCat.normalizeAndDigest()
        try await subjects.stripe.normalizeAndDigest()
    }

    /// In KiB.
    static func peak() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") }),
            let kibibytes = Int(line.filter(\.isNumber))
        else { throw BenchmarkError("the kernel does not tell peak memory") }
        return kibibytes
    }
}
