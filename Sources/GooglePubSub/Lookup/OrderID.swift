/// The form of an order id, such as `GPA.1234-5678-9012-34567..3`.
enum OrderID {
    static func isValid(_ id: String) -> Bool {
        1...128 ~= id.utf8.count
            && id.utf8.contains { $0 != UInt8(ascii: ".") }
            && id.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
                    || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "_")
            }
    }
}
