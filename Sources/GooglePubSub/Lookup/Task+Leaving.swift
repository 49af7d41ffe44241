extension Task where Failure == Never {
    /// The task's value; nil as soon as the waiting caller is canceled. The task itself continues.
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
