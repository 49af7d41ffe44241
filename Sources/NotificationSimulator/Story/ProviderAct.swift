public import LifecycleEvents

/// An act that one provider alone has, or has in more detail than the acts of all.
public protocol ProviderAct: Sendable, Hashable {
    /// The provider that has it.
    static var provider: Provider { get }

    /// Its name, in words.
    var name: String { get }

    /// The expected outcome of the act.
    var kinds: [LifecycleEvent.Kind] { get }

    /// The act of all providers that has the same effect on the customer's subscription; nil if it has none.
    var general: CustomerStory.Act? { get }
}

extension CustomerStory {
    /// An act that one provider alone has.
    public struct OwnAct: Sendable, Hashable {
        /// The act in the provider's terms.
        public let act: any ProviderAct

        /// Carries an act of a provider's own.
        public init(_ act: some ProviderAct) {
            self.act = act
        }

        /// The provider that has it.
        public var provider: Provider { type(of: act).provider }

        /// True for the same act of the same provider.
        public static func == (first: OwnAct, second: OwnAct) -> Bool { first.act.isEqual(to: second.act) }

        /// Hashes the act.
        public func hash(into hasher: inout Hasher) { act.hash(into: &hasher) }
    }
}

extension ProviderAct {
    fileprivate func isEqual(to other: any ProviderAct) -> Bool { (other as? Self) == self }
}
