import Foundation

// refetch-benchmark compare PORT AUTHORITY [REQUESTS [ROUNDS]]
// refetch-benchmark growth PORT AUTHORITY [REQUESTS]
let arguments = Array(CommandLine.arguments.dropFirst())
guard arguments.count >= 3, let port = Int(arguments[1]) else {
    throw Failure(description: "usage: refetch-benchmark compare|growth PORT AUTHORITY [REQUESTS [ROUNDS]]")
}
let target = Target(port: port, authority: arguments[2])
func number(_ index: Int, _ fallback: Int) -> Int { arguments.count > index ? Int(arguments[index]) ?? fallback : fallback }

switch arguments[0] {
case "compare":
    try await compare(target, requests: number(3, 5000), rounds: number(4, 9))
case "growth":
    try await growth(target, requests: number(3, 100_000))
default:
    throw Failure(description: "neither compare nor growth")
}
