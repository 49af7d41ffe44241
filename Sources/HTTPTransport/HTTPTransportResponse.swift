/// A complete answer.
public struct HTTPTransportResponse: Sendable, Hashable {
    /// The status code.
    public var status: Int
    /// The header fields.
    public var headers: HTTPTransportHeaders
    /// The body, content-decoded.
    public var body: [UInt8]

    /// Makes an answer.
    public init(status: Int, headers: HTTPTransportHeaders = [:], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// True if the status is one of 200 to 299.
    public var isSuccess: Bool { (200..<300).contains(status) }
}

extension HTTPTransportResponse: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Status, header names and the body's length.
    public var description: String { "\(status) \(headers), body of \(body.count) bytes" }

    /// The same as the description.
    public var debugDescription: String { description }

    /// Shows nothing.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
