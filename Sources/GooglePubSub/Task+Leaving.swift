extension Task where Failure == Never {
    /// What the task comes to; nil as soon as whoever waits for it is canceled. The task itself goes on.
    var valueUnlessCanceled: Success? {
        get async {
            let (values, continuation) = AsyncStream.makeStream(of: Success.self)
            Task<Void, Never> {
                continuation.yield(await value)
                continuation.finish()
            }
            for await value in values { return value }
            return nil
        }
    }
}
