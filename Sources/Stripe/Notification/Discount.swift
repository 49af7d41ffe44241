import LifecycleEvents
import WireJSON

/// A coupon's discount: stated whole until acacia, and since basil by its id unless it was expanded.
struct Discount: Sendable {
    /// From when on; nil if only its id is known.
    let start: Milliseconds?
    let end: Milliseconds?
    /// True if it never ends by itself, as far as is known.
    let isForever: Bool

    private init(_ value: JSONValue) throws(JSONError) {
        guard value.kind == .object else {
            _ = try value.referenceID()
            (start, end, isForever) = (nil, nil, false)
            return
        }
        let reader = try ObjectReader(value)
        start = try reader.time("start")
        end = try reader.time("end")
        // Since clover it is the source that names the coupon.
        var coupon = try reader.reader("coupon")
        if coupon == nil { coupon = try reader.reader("source")?.reader("coupon") }
        isForever = try coupon?.optionalString("duration") == "forever"
    }

    /// The discounts of an object: several, or the one of older versions, which may come with the ids of several.
    ///
    /// - Parameter note: takes the path of an invalid discount. The event loses only the terms by it.
    static func all(
        in source: ObjectReader,
        one: MemberName,
        several: MemberName,
        note: (_ path: String) -> Void
    ) -> [Discount] {
        var discounts: [Discount] = []
        do throws(JSONError) {
            if let values = try source.list(several) {
                for value in values { discounts.append(try Discount(value)) }
            }
            if let one = source.optionalValue(one) { discounts.append(try Discount(one)) }
        } catch {
            note(error.path)
        }
        return discounts
    }

    /// True if it reduces the price of a period that begins at a moment; nil if its start is not known. The minute is
    /// for objects that are made together.
    func covers(_ moment: Milliseconds) -> Bool? {
        guard let start else { return nil }
        return start <= moment + 60_000 && moment < end ?? .max
    }
}
