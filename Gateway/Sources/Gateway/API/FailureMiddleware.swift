import Hummingbird
import LifecycleJournal
import Logging

/// Answers with 503 and `Retry-After` where the database cannot be used at this moment, and notes every failure
/// that is not the caller's mistake.
struct FailureMiddleware: RouterMiddleware {
    typealias Context = BasicRequestContext

    func handle(
        _ request: Request,
        context: BasicRequestContext,
        next: @concurrent (Request, BasicRequestContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await noting(context) { try await next(request, context) }
        } catch let error as any HTTPResponseError where request.method == .head {
            // A client would take a body for the beginning of the next answer.
            return try error.response(from: request, context: context).createHeadResponse()
        }
    }

    private func noting(
        _ context: BasicRequestContext,
        answer: @concurrent () async throws -> Response
    ) async throws -> Response {
        do {
            return try await answer()
        } catch let error as JournalError {
            let answer = Self.answer(to: error)
            if answer.status.kind == .serverError {
                // The error of a journal names no content of a row.
                context.logger.error("a request failed", metadata: ["error": "\(error)"])
            }
            throw answer
        } catch let error as any HTTPResponseError {
            throw error
        } catch {
            context.logger.error("a request failed", metadata: ["error": "\(type(of: error))"])
            throw HTTPError(.internalServerError)
        }
    }

    private static func answer(to error: JournalError) -> HTTPError {
        switch error.code {
        case .unavailable, .conflict, .notWritable:
            HTTPError(
                .serviceUnavailable,
                headers: HTTPError.later,
                message: "the database cannot be used now: \(error.code)"
            )
        case .invalidArgument: HTTPError(.badRequest, message: error.message)
        case .idTaken, .aheadOfLog: HTTPError(.conflict, message: error.message)
        default: HTTPError(.internalServerError, message: "the database: \(error.code)")
        }
    }
}
