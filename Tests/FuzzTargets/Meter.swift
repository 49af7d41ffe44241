import Glibc
import Normalizer
import Synchronization

/// Measures calls by the processor time of this thread, which a busy machine does not change.
struct Meter {
    private(set) var slowest: Int64 = 0

    mutating func callAsFunction<Value, Failure>(_ call: () throws(Failure) -> Value) throws(Failure) -> Value {
        let start = Self.now
        defer { slowest = max(slowest, Self.now - start) }
        return try call()
    }

    private static var now: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

/// Runs asynchronous code that never waits to its end, on the calling thread.
final class CallingThread: TaskExecutor {
    private let jobs = Mutex<[UnownedJob]>([])

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
    }

    private final class Box<Value: Sendable>: Sendable {
        let value = Mutex<Value?>(nil)
    }

    static func run<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) -> Value {
        let executor = CallingThread()
        let result = Box<Value>()
        Task(executorPreference: executor) {
            let value = await body()
            result.value.withLock { $0 = value }
        }
        while let job = executor.next() { unsafe job.runSynchronously(on: executor.asUnownedTaskExecutor()) }
        guard let value = result.value.withLock({ $0 }) else { fatalError("waits for another thread") }
        return value
    }

    static func result<Value: Sendable>(
        _ body: @escaping @Sendable () async throws(DeliveryError) -> Value
    ) -> Swift.Result<Value, DeliveryError> {
        run {
            do throws(DeliveryError) { return .success(try await body()) } catch { return .failure(error) }
        }
    }

    private func next() -> UnownedJob? {
        jobs.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    }
}
