package import HTTPTransport

/// Gives a vector's recorded answers; a request without one fails as if there were no connection.
package struct RecordedTransport: HTTPTransportProtocol {
    private let answers: [RecordedAnswer]

    package init(_ answers: [RecordedAnswer]) { self.answers = answers }

    package func send(_ request: HTTPTransportRequest) async throws(HTTPTransportError) -> HTTPTransportResponse {
        let url = request.url.absoluteString
        guard let answer = answers.first(where: { $0.method == request.method.name && $0.url == url }) else {
            throw HTTPTransportError(.connectionFailed, "no answer was recorded for the request")
        }
        var headers = HTTPTransportHeaders()
        for header in answer.headers { headers.add(header.name, header.value) }
        return HTTPTransportResponse(status: answer.status, headers: headers, body: answer.body)
    }
}
