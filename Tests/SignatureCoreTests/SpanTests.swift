import SignatureCore
import Testing

@Suite struct SpanTests {
    /// Around the eight octets that are looked at together, with octets that differ from the wanted one in one bit.
    @Test(arguments: 0...40) func findsTheFirst(count: Int) {
        let dot = UInt8(ascii: ".")
        for other in [dot ^ 1, dot ^ 0x80, 0, 0xFF, dot &+ 1] {
            let none = [UInt8](repeating: other, count: count)
            let absent = none.span.firstIndex(of: dot)
            #expect(absent == nil)
            for position in 0..<count {
                var octets = none
                for index in position..<count { octets[index] = dot }
                let found = octets.span.firstIndex(of: dot)
                #expect(found == position)
            }
        }
    }

    @Test(arguments: 0...40) func comparesEveryOctet(count: Int) {
        let octets = [UInt8](repeating: 7, count: count)
        let copy = [UInt8](repeating: 7, count: count)
        let same = octets.span.elementsEqual(copy.span)
        #expect(same)
        let longer = octets + [7]
        let isLonger = octets.span.elementsEqual(longer.span)
        #expect(!isLonger)
        for position in 0..<count {
            var other = octets
            other[position] = 6
            let isEqual = octets.span.elementsEqual(other.span)
            #expect(!isEqual)
        }
    }
}
