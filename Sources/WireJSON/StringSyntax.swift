/// Strings as RFC 8259 §7 writes them: where they end, whether they are sound, what they decode to.
enum StringSyntax {
    static let quotationMark = UInt8(ascii: "\"")
    static let reverseSolidus = UInt8(ascii: "\\")

    // MARK: Validation

    /// The position of the closing quotation mark of the string whose first octet is at `start`, and whether the string
    /// holds an escape.
    ///
    /// A document has less than 2³¹ octets. Positions of 32 bits say so to the optimizer, which then leaves out most checks.
    @inline(__always)
    static func end(of text: Span<UInt8>, from start: UInt32) throws(JSONError) -> (UInt32, hasEscape: Bool) {
        var end = start
        if Int(start) &+ 16 < text.count {
            let words = text.words(at: Int(start))
            end &+= clearOctets(remarkable(words.0), remarkable(words.1))
            if text[Int(end)] == quotationMark { return (end, false) }
        }
        return try endAfterMore(of: text, from: end)
    }

    /// The same for a member name, and its fingerprint.
    @inline(__always)
    static func endOfName(
        in text: Span<UInt8>,
        from start: UInt32
    ) throws(JSONError) -> (UInt32, hasEscape: Bool, Fingerprint) {
        var end = start
        if Int(start) &+ 16 < text.count {
            let words = text.words(at: Int(start))
            let remarkable = (remarkable(words.0), remarkable(words.1))
            end &+= clearOctets(remarkable.0, remarkable.1)
            if text[Int(end)] == quotationMark {
                return (end, false, Fingerprint(NameEnds(of: words, before: remarkable)))
            }
        }
        return try endOfLongName(in: text, from: start, after: end)
    }

    @inline(never)
    private static func endOfLongName(
        in text: Span<UInt8>,
        from start: UInt32,
        after next: UInt32
    ) throws(JSONError) -> (UInt32, hasEscape: Bool, Fingerprint) {
        // Mostly it ends within the next sixteen octets.
        if next == start &+ 16, Int(next) &+ 16 < text.count {
            let words = text.words(at: Int(next))
            let end = next &+ clearOctets(remarkable(words.0), remarkable(words.1))
            if text[Int(end)] == quotationMark {
                return (end, false, Fingerprint(NameEnds(of: text, Int(start), Int(end))))
            }
        }
        let (end, hasEscape) = try endAfterMore(of: text, from: next)
        let fingerprint =
            hasEscape
            ? Fingerprint(ofEscaped: text, Int(start), Int(end))
            : Fingerprint(NameEnds(of: text.extracting(Int(start)..<Int(end))))
        return (end, hasEscape, fingerprint)
    }

    @inline(never)
    private static func endAfterMore(
        of text: Span<UInt8>,
        from start: UInt32
    ) throws(JSONError) -> (UInt32, hasEscape: Bool) {
        var next = start
        var hasEscape = false
        while true {
            if Int(next) &+ 16 <= text.count {
                let words = text.words(at: Int(next))
                let first = remarkable(words.0)
                let second = remarkable(words.1)
                if first | second == 0 {
                    next &+= 16
                    continue
                }
                next &+= clearOctets(first, second)
            }
            let index = Int(next)
            guard index < text.count else { throw JSONError(.unexpectedEnd, offset: text.count) }
            let octet = text[index]
            if octet == quotationMark { return (next, hasEscape) }
            if octet >= 0x80 {
                next = UInt32(truncatingIfNeeded: try sequences(in: text, from: index))
            } else if octet == reverseSolidus {
                hasEscape = true
                next = UInt32(truncatingIfNeeded: try escape(in: text, at: index))
            } else if octet < 0x20 {
                throw JSONError(.unescapedControl, offset: index)
            } else {
                next &+= 1
            }
        }
    }

    /// Sets the top bit of the lowest octet that is a quotation mark, a reverse solidus, a control or not ASCII.
    /// Bits above that one mean nothing: a borrow may have reached them.
    @inline(__always)
    static func remarkable(_ word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        // With its second bit changed, a quotation mark is a space, and what comes before the space stays there.
        let quotesAndControls = (word ^ (ones &* 0x02)) &- (ones &* 0x21)
        let solidi = (word ^ (ones &* 0x5C)) &- ones
        // An octet that is not ASCII has its top bit in one of the two words.
        return (quotesAndControls | solidi) & (ones &* 0x80)
    }

    /// The end of a run of multi-octet sequences, each well-formed as in table 3-7 of the Unicode Standard.
    @inline(never)
    private static func sequences(in text: Span<UInt8>, from start: Int) throws(JSONError) -> Int {
        var index = start
        while index < text.count {
            let lead = text[index]
            let continuations: Int
            var low: UInt8 = 0x80
            var high: UInt8 = 0xBF
            switch lead {
            case 0..<0x80: return index
            case 0xC2...0xDF: continuations = 1
            case 0xE0:
                continuations = 2
                low = 0xA0
            case 0xED:
                continuations = 2
                high = 0x9F
            case 0xE1...0xEF: continuations = 2
            case 0xF0:
                continuations = 3
                low = 0x90
            case 0xF1...0xF3: continuations = 3
            case 0xF4:
                continuations = 3
                high = 0x8F
            default: throw JSONError(.invalidUTF8, offset: index)
            }
            guard index &+ continuations < text.count else { throw JSONError(.invalidUTF8, offset: index) }
            let second = text[index &+ 1]
            guard low <= second, second <= high else { throw JSONError(.invalidUTF8, offset: index) }
            if continuations > 1 {
                guard text[index &+ 2] & 0xC0 == 0x80 else { throw JSONError(.invalidUTF8, offset: index) }
            }
            if continuations > 2 {
                guard text[index &+ 3] & 0xC0 == 0x80 else { throw JSONError(.invalidUTF8, offset: index) }
            }
            index &+= continuations &+ 1
        }
        return index
    }

    @inline(never)
    private static func escape(in text: Span<UInt8>, at index: Int) throws(JSONError) -> Int {
        switch Escape(in: text, at: index) {
        case .scalar(_, let next): return next
        case .truncated: throw JSONError(.unexpectedEnd, offset: text.count)
        case .malformed: throw JSONError(.invalidEscape, offset: index)
        case .loneSurrogate: throw JSONError(.loneSurrogate, offset: index)
        }
    }

    // MARK: Decoding

    /// The octets a validated string stands for.
    static func decode(_ text: Span<UInt8>, _ range: Range<Int>) -> [UInt8] {
        var octets: [UInt8] = []
        octets.reserveCapacity(range.count)
        var cursor = DecodedOctets(range)
        while let octet = cursor.next(in: text) { octets.append(octet) }
        return octets
    }
}

/// The escape that a reverse solidus starts.
enum Escape {
    case scalar(UInt32, next: Int)
    case truncated
    case malformed
    /// Half of a surrogate pair stands for no character and has no UTF-8: replaced, two different names could become one.
    case loneSurrogate

    init(in text: Span<UInt8>, at index: Int) {
        guard index &+ 1 < text.count else {
            self = .truncated
            return
        }
        let plain: UInt32
        switch text[index &+ 1] {
        case UInt8(ascii: "\""): plain = 0x22
        case UInt8(ascii: "\\"): plain = 0x5C
        case UInt8(ascii: "/"): plain = 0x2F
        case UInt8(ascii: "b"): plain = 0x08
        case UInt8(ascii: "f"): plain = 0x0C
        case UInt8(ascii: "n"): plain = 0x0A
        case UInt8(ascii: "r"): plain = 0x0D
        case UInt8(ascii: "t"): plain = 0x09
        case UInt8(ascii: "u"):
            self = Self.unicode(in: text, at: index)
            return
        default:
            self = .malformed
            return
        }
        self = .scalar(plain, next: index &+ 2)
    }

    private static func unicode(in text: Span<UInt8>, at index: Int) -> Escape {
        guard index &+ 6 <= text.count else { return .truncated }
        guard let unit = hexadecimal(text, at: index &+ 2) else { return .malformed }
        switch unit {
        case 0xDC00...0xDFFF: return .loneSurrogate
        case 0xD800...0xDBFF: break
        default: return .scalar(unit, next: index &+ 6)
        }
        guard index &+ 12 <= text.count else { return .loneSurrogate }
        guard text[index &+ 6] == UInt8(ascii: "\\"), text[index &+ 7] == UInt8(ascii: "u"),
            let other = hexadecimal(text, at: index &+ 8), 0xDC00...0xDFFF ~= other
        else { return .loneSurrogate }
        return .scalar(0x10000 &+ (unit &- 0xD800) &<< 10 &+ (other &- 0xDC00), next: index &+ 12)
    }

    private static func hexadecimal(_ text: Span<UInt8>, at index: Int) -> UInt32? {
        var value: UInt32 = 0
        for position in index..<index &+ 4 {
            let octet = text[position]
            let digit: UInt8
            switch octet {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = octet &- UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = octet &- UInt8(ascii: "a") &+ 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = octet &- UInt8(ascii: "A") &+ 10
            default: return nil
            }
            value = value &<< 4 | UInt32(digit)
        }
        return value
    }
}

/// Walks over a validated string and gives the octets it stands for, without storing them.
struct DecodedOctets {
    private var index: Int
    private let end: Int
    /// Octets of an escape not given out yet, the next one lowest.
    private var pending: UInt32 = 0
    private var pendingCount = 0

    init(_ range: Range<Int>) {
        index = range.lowerBound
        end = range.upperBound
    }

    mutating func next(in text: Span<UInt8>) -> UInt8? {
        if pendingCount > 0 {
            pendingCount &-= 1
            defer { pending &>>= 8 }
            return UInt8(truncatingIfNeeded: pending)
        }
        guard index < end else { return nil }
        let octet = text[index]
        guard octet == StringSyntax.reverseSolidus else {
            index &+= 1
            return octet
        }
        guard case .scalar(let scalar, let next) = Escape(in: text, at: index) else { return nil }
        index = next
        switch scalar {
        case 0..<0x80:
            return UInt8(truncatingIfNeeded: scalar)
        case 0x80..<0x800:
            pending = 0x80 | scalar & 0x3F
            pendingCount = 1
            return UInt8(truncatingIfNeeded: 0xC0 | scalar &>> 6)
        case 0x800..<0x10000:
            pending = (0x80 | scalar &>> 6 & 0x3F) | (0x80 | scalar & 0x3F) &<< 8
            pendingCount = 2
            return UInt8(truncatingIfNeeded: 0xE0 | scalar &>> 12)
        default:
            pending =
                (0x80 | scalar &>> 12 & 0x3F) | (0x80 | scalar &>> 6 & 0x3F) &<< 8 | (0x80 | scalar & 0x3F) &<< 16
            pendingCount = 3
            return UInt8(truncatingIfNeeded: 0xF0 | scalar &>> 18)
        }
    }
}
