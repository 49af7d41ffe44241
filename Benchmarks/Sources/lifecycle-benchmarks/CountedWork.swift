import CountedRegion
import Foundation
import GooglePubSub
import Normalizer
import ReaderUnderTest

/// A fixed amount of work, whose instructions `Scripts/budget` counts.
struct CountedWork {
    static let iterations = 20

    private final class Box {
        let work: () throws -> Void
        var error: (any Error)?

        init(_ work: @escaping () throws -> Void) { self.work = work }
    }

    let subjects: Subjects

    func run(_ name: String) throws {
        let work = try work(name)
        // Caches are filled and statics made before anything is counted.
        for _ in 0..<3 { try work() }
        let box = Box { for _ in 0..<Self.iterations { try work() } }
        withExtendedLifetime(box) {
            counted_region(
                { context in
                    guard let context else { return }
                    let box = Unmanaged<Box>.fromOpaque(context).takeUnretainedValue()
                    do { try box.work() } catch { box.error = error }
                },
                Unmanaged.passUnretained(box).toOpaque()
            )
        }
        if let error = box.error { throw error }
    }

    private func work(_ name: String) throws -> () throws -> Void {
        switch name {
        case "apple":
            let subject = subjects.apple
            return { _ = try subject.adapter.normalize(subject.adapter.authenticate(subject.delivery)) }
        case "google":
            let (subject, message) = (subjects.google, try pulled(subjects.google.delivery.body))
            let receivedAt = subject.delivery.receivedAt
            return { _ = try subject.adapter.receive(pulled: message, receivedAt: receivedAt) }
        case "revenuecat":
            let subject = subjects.revenueCat
            return { _ = try subject.adapter.normalize(subject.adapter.authenticate(subject.delivery)) }
        case "stripe":
            let subject = subjects.stripe
            return { _ = try subject.adapter.normalize(subject.adapter.authenticate(subject.delivery)) }
        case "json":
            let body = try Subjects.fixture("customer.subscription.updated")
            return { _ = try JSONDocument(parsing: body) }
        default:
            throw BenchmarkError("no work is called \(name)")
        }
    }

    private func pulled(_ body: [UInt8]) throws -> PubSubMessage {
        let envelope = try ObjectReader(parsing: body)
        let message = try ObjectReader(envelope.value("message"))
        guard let data = try Data(base64Encoded: message.string("data")) else {
            throw BenchmarkError("the push holds no message")
        }
        return PubSubMessage(
            subscription: try envelope.string("subscription"),
            messageID: try message.string("messageId"),
            data: Array(data)
        )
    }
}
