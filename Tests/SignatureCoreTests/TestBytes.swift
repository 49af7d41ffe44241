import SignatureCore

func ascii(_ text: String) -> [UInt8] { Array(text.utf8) }

func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { byte in
        let digits = String(byte, radix: 16)
        return digits.count == 1 ? "0" + digits : digits
    }.joined()
}

func base64URL(_ text: String) throws(SignatureError) -> [UInt8] { try Base64URL.decode(text.utf8.span) }

/// The error that a call threw; nil when it returned.
func failure<Value>(_ call: () throws(SignatureError) -> Value) -> SignatureError? {
    do throws(SignatureError) {
        _ = try call()
        return nil
    } catch {
        return error
    }
}

/// Octets that look random and are the same in every run.
struct Scrambler: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
        return value ^ (value >> 31)
    }

    mutating func octets(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) }
    }
}
