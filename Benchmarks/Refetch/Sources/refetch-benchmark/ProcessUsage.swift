import Foundation

/// The resources used by this process; the server is another one.
struct ProcessUsage {
    /// User and system time, in seconds.
    let processorTime: Double
    /// Memory in use, in bytes.
    let resident: Int
    let descriptors: Int

    static var now: ProcessUsage {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ")
        return ProcessUsage(
            processorTime: seconds(usage.ru_utime) + seconds(usage.ru_stime),
            resident: (pages.flatMap { $0.count > 1 ? Int($0[1]) : nil } ?? 0) * 4096,
            descriptors: (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd"))?.count ?? 0
        )
    }
}
