import Foundation
import LifecycleJournal
import Synchronization

@testable import Normalizer

/// A provider that answers what a test says, and remembers what it was asked.
final class Answerer: LineageQuestions {
    let provider: Provider
    let pace: Duration = .zero
    private let state: Mutex<(asked: [LineageQuestion], answer: Result<LineageAnswer, DeliveryError>)>

    init(_ provider: Provider = .apple, _ answer: Result<LineageAnswer, DeliveryError> = .success(.unknown)) {
        self.provider = provider
        state = Mutex(([], answer))
    }

    var asked: [LineageQuestion] { state.withLock { $0.asked } }

    func answer(_ answer: Result<LineageAnswer, DeliveryError>) { state.withLock { $0.answer = answer } }

    func ask(_ question: LineageQuestion) async throws(DeliveryError) -> LineageAnswer {
        let answer = state.withLock { state in
            state.asked.append(question)
            return state.answer
        }
        return try answer.get()
    }
}
