import Foundation
import Glibc
import Normalizer
import NotificationSimulator
import Synchronization

/// Posts over several connections at once. Each posts the next request when the last one is answered, with little work of its own.
struct Load {
    let port: UInt16
    let connections: Int

    func run(_ customers: [String], _ cast: Cast) throws {
        let now = Date()
        let requests = try customers.flatMap { customer in
            try cast.notifications(of: customer).map { simulator, notification in
                let delivery = try simulator.delivery(of: notification, sentAt: now)
                return request(simulator.provider.rawValue, delivery)
            }
        }
        .shuffled()
        let results = Mutex<(seconds: [Double], refused: Int)>(([], 0))
        let group = DispatchGroup()
        let start = ContinuousClock.now
        for connection in 0..<connections {
            group.enter()
            let thread = Thread {
                var seconds: [Double] = []
                var refused = 0
                if let socket = LoadSocket(port: port) {
                    for index in stride(from: connection, to: requests.count, by: connections) {
                        let sent = ContinuousClock.now
                        if socket.post(requests[index]) != 200 { refused += 1 }
                        seconds.append((ContinuousClock.now - sent) / .seconds(1))
                    }
                }
                results.withLock { results in
                    results.seconds += seconds
                    results.refused += refused
                }
                group.leave()
            }
            thread.start()
        }
        group.wait()
        let passed = (ContinuousClock.now - start) / .seconds(1)
        let (seconds, refused) = results.withLock { ($0.seconds.sorted(), $0.refused) }
        func quantile(_ share: Double) -> String {
            let index = min(Int(Double(seconds.count) * share), seconds.count - 1)
            return String(format: "%.1f ms", seconds.isEmpty ? .nan : seconds[index] * 1000)
        }
        print(
            "\(seconds.count) deliveries, \(refused) refused, \(Int(Double(seconds.count) / passed))/s; "
                + "p50 \(quantile(0.5)), p99 \(quantile(0.99)), slowest \(quantile(1))"
        )
    }

    private func request(_ source: String, _ delivery: Delivery) -> [UInt8] {
        var head = "POST /hooks/\(source) HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(delivery.body.count)\r\n"
        for (name, value) in delivery.headers.all { head += "\(name): \(value)\r\n" }
        return Array((head + "\r\n").utf8) + delivery.body
    }
}

/// A connection on which one request after the other is answered.
private final class LoadSocket {
    private let descriptor: Int32
    private var buffer = [UInt8](repeating: 0, count: 16_384)

    init?(port: UInt16) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        var on: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        guard status == 0 else { return nil }
    }

    deinit { close(descriptor) }

    /// - Returns: the status; 0 if the connection was lost.
    func post(_ request: [UInt8]) -> Int {
        guard send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else { return 0 }
        var count = 0
        while true {
            let read = recv(descriptor, &buffer[count], buffer.count - count, 0)
            guard read > 0 else { return 0 }
            count += read
            let text = String(decoding: buffer[..<count], as: UTF8.self)
            guard let end = text.firstRange(of: "\r\n\r\n") else { continue }
            let head = text[..<end.lowerBound].lowercased()
            let length = head.firstRange(of: "content-length: ").flatMap {
                Int(head[$0.upperBound...].prefix { $0.isNumber })
            }
            guard text[end.upperBound...].utf8.count >= length ?? 0 else { continue }
            return Int(text.split(separator: " ").dropFirst().first ?? "") ?? 0
        }
    }
}
