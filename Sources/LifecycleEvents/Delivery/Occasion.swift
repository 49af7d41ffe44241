/// The occasion on which an adapter maps a provider's answers: a notification that the provider sent, or a question that
/// the host asked by itself.
///
/// Only a notification is proven, and has an id and a time of its own. A question is no notification with absent members:
/// code that depends on these switches over the two.
package enum Occasion<Notification: Sendable, Question: Sendable>: Sendable {
    case notification(Notification)
    case question(Question)
}
