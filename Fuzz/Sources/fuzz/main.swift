import Foundation
import FuzzDriver
import FuzzTargets

/// libFuzzer as a library (https://llvm.org/docs/LibFuzzer.html#using-libfuzzer-as-a-library): an executable of SwiftPM has
/// a main function already.
@_silgen_name("LLVMFuzzerRunDriver")
private func runFuzzer(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    test: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

private nonisolated(unsafe) var target = FuzzTarget.json
private nonisolated(unsafe) var limit: Int64 = 0

if let folder = Driver.option("seeds") {
    try Driver.writeSeeds(to: folder)
    exit(0)
}
if let folder = Driver.option("measure") {
    try Driver.measure(folder)
    exit(0)
}
guard let named = Driver.option("target").flatMap(FuzzTarget.init(rawValue:)),
    let milliseconds = Driver.option("limit-ms").flatMap(Int64.init)
else { fatalError("--target=NAME --limit-ms=N, or --seeds=FOLDER, or --measure=FOLDER") }
target = named
limit = milliseconds * 1_000_000

var count = CommandLine.argc
var arguments = CommandLine.unsafeArgv
let status = runFuzzer(&count, &arguments) { bytes, count in
    Driver.check(target, Array(UnsafeBufferPointer(start: bytes, count: count)), limit: limit)
    return 0
}
exit(status)
