import SignatureCore
import Synchronization

/// The chains that were found valid, by the protected header that carried them.
///
/// All JWS of one signer have the same header, octet for octet, so a look-up needs no JSON, no base64 and no DER. Only
/// successes are kept, so an attacker's deliveries cannot push out more than Apple's own could. Dates are not part of
/// an entry's truth; each payload's own date is judged against the chain's validity.
final class ChainCache: Sendable {
    private struct Entry {
        var header: [UInt8]
        var chain: ValidatedChain
        var lastUse: UInt64
    }

    private struct State {
        var entries: [Entry] = []
        var clock: UInt64 = 0
    }

    private let capacity: Int
    private let state = Mutex(State())

    init(capacity: Int) {
        self.capacity = capacity
    }

    func chain(for header: ArraySlice<UInt8>) -> ValidatedChain? {
        state.withLock { state in
            for index in state.entries.indices {
                let known = state.entries[index].header
                guard known.span.elementsEqual(header.span) else { continue }
                state.clock &+= 1
                state.entries[index].lastUse = state.clock
                return state.entries[index].chain
            }
            return nil
        }
    }

    /// The chain that proved something last.
    var latest: ValidatedChain? {
        state.withLock { $0.entries.max { $0.lastUse < $1.lastUse }?.chain }
    }

    func insert(_ chain: ValidatedChain, for header: ArraySlice<UInt8>) {
        state.withLock { state in
            guard !state.entries.contains(where: { $0.header[...] == header }) else { return }
            state.clock &+= 1
            let entry = Entry(header: Array(header), chain: chain, lastUse: state.clock)
            if state.entries.count < capacity {
                state.entries.append(entry)
            } else if let oldest = state.entries.indices.min(by: {
                state.entries[$0].lastUse < state.entries[$1].lastUse
            }) {
                state.entries[oldest] = entry
            }
        }
    }
}
