/// As much of HTTP/2 (RFC 9113) as it takes to see streams open and close and to answer them.
package struct HTTP2Connection: ~Copyable {
    /// The events that a client caused.
    package enum Event: Sendable, Hashable {
        /// It has sent a whole request.
        case request(stream: UInt32)
        /// It has given a request up.
        case reset(stream: UInt32)
    }

    private let connection: Connection

    init(_ connection: Connection) {
        self.connection = connection
    }

    func start() -> Bool {
        connection.read(24) != nil && connection.write(Self.frame(type: 4, flags: 0, stream: 0, []))
    }

    /// Waits for the client's next doing; nothing when the connection has ended.
    package mutating func next() -> Event? {
        while let header = connection.read(9) {
            let length = header[..<3].reduce(0) { $0 << 8 | Int($1) }
            let stream = header[5...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
            guard let payload = connection.read(length) else { return nil }
            let flags = header[4]
            switch header[3] {
            case 0 where flags & 1 != 0, 1 where flags & 1 != 0: return .request(stream: stream)
            case 3: return .reset(stream: stream)
            case 4 where flags & 1 == 0: connection.write(Self.frame(type: 4, flags: 1, stream: 0, []))
            case 6 where flags & 1 == 0: connection.write(Self.frame(type: 6, flags: 1, stream: 0, payload))
            case 7: return nil
            default: continue
            }
        }
        return nil
    }

    /// Answers 200 with a body of less than a frame.
    package mutating func respond(stream: UInt32, body: [UInt8]) {
        // Static table entry 8 is `:status: 200` (RFC 7541, appendix A).
        connection.write(
            Self.frame(type: 1, flags: 4, stream: stream, [0x88]) + Self.frame(type: 0, flags: 1, stream: stream, body)
        )
    }

    /// Gives a request up, with an error code of section 7.
    package mutating func reset(stream: UInt32, code: UInt8) {
        connection.write(Self.frame(type: 3, flags: 0, stream: stream, [0, 0, 0, code]))
    }

    /// Says that the connection ends, and that streams above `last` are not answered any more (section 6.8).
    package mutating func goAway(last stream: UInt32) {
        let number = (0..<4).map { UInt8(stream >> (24 - 8 * $0) & 0xFF) }
        connection.write(Self.frame(type: 7, flags: 0, stream: 0, number + [0, 0, 0, 0]))
    }

    private static func frame(type: UInt8, flags: UInt8, stream: UInt32, _ payload: [UInt8]) -> [UInt8] {
        let length = UInt32(payload.count)
        return [UInt8(length >> 16 & 0xFF), UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF), type, flags]
            + (0..<4).map { UInt8(stream >> (24 - 8 * $0) & 0xFF) } + payload
    }
}
