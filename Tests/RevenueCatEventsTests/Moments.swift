import FoundationEssentials

// The times of these tests, in milliseconds since 1970.

/// 1 January 2026.
let t0: Int64 = 1_767_225_600_000
/// 1 February 2026.
let t1: Int64 = 1_769_904_000_000
/// 1 March 2026.
let t2: Int64 = 1_772_323_200_000

let minute: Int64 = 60_000
let hour: Int64 = 3_600_000
let day: Int64 = 86_400_000

func date(_ milliseconds: Int64) -> Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }
