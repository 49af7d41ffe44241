#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Starts a detached thread that takes no signals.
///
/// The body gets `context`, which must stay valid until the body has taken it over. Signals are the application's: its
/// handlers should not run between libcurl's calls, and a broken connection must show as an error, not as `SIGPIPE`.
///
/// - Returns: 0, or the error number of `pthread_create`.
@unsafe func startDetachedThread(
    _ context: UnsafeMutableRawPointer,
    _ body: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?
) -> Int32 {
    var blocked = sigset_t()
    var previous = sigset_t()
    // The pointers below are to locals, and none of the calls keeps one.
    unsafe sigfillset(&blocked)
    for fault in [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT] { unsafe sigdelset(&blocked, fault) }
    // A new thread inherits the mask, so that there is no moment without it.
    unsafe pthread_sigmask(SIG_SETMASK, &blocked, &previous)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &previous, nil) }

    var thread = pthread_t()
    let code = unsafe pthread_create(&thread, nil, body, context)
    guard code == 0 else { return code }
    pthread_detach(thread)
    return 0
}
