import Foundation
import FuzzDriver
import FuzzTargets

// libFuzzer has the main function and calls these two (https://llvm.org/docs/LibFuzzer.html).

private nonisolated(unsafe) var target = FuzzTarget.json
private nonisolated(unsafe) var limit: Int64 = 0

@c(LLVMFuzzerInitialize)
public func initialize(
    _ count: UnsafeMutablePointer<CInt>?,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>?
) -> CInt {
    do {
        if let folder = Driver.option("seeds") {
            try Driver.writeSeeds(to: folder)
            exit(0)
        }
        if let folder = Driver.option("measure") {
            try Driver.measure(folder)
            exit(0)
        }
    } catch { fatalError("\(error)") }
    guard let named = Driver.option("target").flatMap(FuzzTarget.init(rawValue:)),
        let milliseconds = Driver.option("limit-ms").flatMap(Int64.init)
    else { fatalError("--target=NAME --limit-ms=N, or --seeds=FOLDER, or --measure=FOLDER") }
    target = named
    limit = milliseconds * 1_000_000
    return 0
}

@c(LLVMFuzzerTestOneInput)
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    Driver.check(target, Array(UnsafeBufferPointer(start: bytes, count: count)), limit: limit)
    return 0
}
