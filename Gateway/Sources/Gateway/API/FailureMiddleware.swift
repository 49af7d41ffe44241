import Hummingbird
import LifecycleJournal
import Logging

/// Answers with 503 and `Retry-After` where the database cannot be used at this moment, and notes every failure.
struct FailureMiddleware: RouterMiddleware {
    typealias Context = BasicRequestContext

    func handle(
        _ request: Request,
        context: BasicRequestContext,
        next: @concurrent (Request, BasicRequestContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as JournalError {
            // The error of a journal names no content of a row.
            context.logger.error("a request failed", metadata: ["error": "\(error)"])
            switch error.code {
            case .unavailable, .conflict, .notWritable:
                throw HTTPError(
                    .serviceUnavailable,
                    headers: [.retryAfter: "5"],
                    message: "the database cannot be used now: \(error.code)"
                )
            case .invalidArgument: throw HTTPError(.badRequest, message: error.message)
            case .idTaken: throw HTTPError(.conflict, message: error.message)
            default: throw HTTPError(.internalServerError, message: "the database: \(error.code)")
            }
        } catch let error as any HTTPResponseError {
            throw error
        } catch {
            context.logger.error("a request failed", metadata: ["error": "\(type(of: error))"])
            throw HTTPError(.internalServerError)
        }
    }
}
