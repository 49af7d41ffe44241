package import FoundationEssentials
package import HTTPTransport
package import NotificationSimulator

/// A provider's API in a story, which answers as of a moment: look-ups, lists of purchases, and the memory of what the
/// provider has sent.
package struct StoryAPI: Sendable {
    /// A request as it arrives.
    package struct Request: Sendable {
        package var method: String
        /// The encoded path, and the query behind `?`.
        package var target: String
        package var authorization: String?
        package var body: [UInt8]
        /// The time on the host's clock, if that is not the story's.
        package var arrivedAt: Date?

        package init(
            _ method: String,
            target: String,
            authorization: String? = nil,
            body: [UInt8] = [],
            arrivedAt: Date? = nil
        ) {
            self.method = method
            self.target = target
            self.authorization = authorization
            self.body = body
            self.arrivedAt = arrivedAt
        }

        /// The path without the query.
        var path: String { String(target.prefix { $0 != "?" }) }

        /// The decoded value of a parameter of the query.
        subscript(name: String) -> String? {
            let query = target.drop { $0 != "?" }.dropFirst().split(separator: "&")
            let item = query.map { $0.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false) }
                .first { Self.decoded($0[0]) == name }
            return item.flatMap { $0.count > 1 ? Self.decoded($0[1]) : nil }
        }

        private static func decoded(_ text: Substring) -> String {
            var octets: [UInt8] = []
            var rest = Array(text.utf8)[...]
            while let octet = rest.popFirst() {
                guard octet == UInt8(ascii: "%"), rest.count > 1,
                    let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
                else {
                    octets.append(octet)
                    continue
                }
                octets.append(value)
                rest = rest.dropFirst(2)
            }
            return String(decoding: octets, as: UTF8.self)
        }
    }

    /// An answer in JSON.
    package struct Answer: Sendable {
        package var status: Int
        package var body: [UInt8]
        package var headers: [String: String] = ["Content-Type": "application/json; charset=UTF-8"]

        package init(_ status: Int, _ body: [UInt8]) { (self.status, self.body) = (status, body) }

        fileprivate func dated(_ time: Date) -> Answer {
            var answer = self
            answer.headers["Date"] = HTTPDateText.text(time)
            return answer
        }
    }

    /// The credentials that a provider's API asks for.
    package enum Credentials: Sendable {
        /// A token that the provider's token endpoint gave out.
        case accessToken
        /// A secret key, by how it may begin.
        case secretKey([String])
        /// A token that the host signs; the API verifies it itself.
        case signedToken
    }

    /// The provider's notifications, in the order in which it makes them.
    package let notifications: [SimulatedNotification]
    /// The key that Apple's API is asked with; nil for other providers.
    package let appStoreServer: AppStoreServerSimulator?
    /// The credentials that requests need.
    package var credentials: Credentials { lists.credentials }
    private let lists: any StoryLists
    private let start: Date

    /// Plays stories of several customers, which begin at one time.
    ///
    /// - Parameter lost: the places of the notifications that never reach the host.
    /// - Throws: `SimulatorError` if the provider has no such story.
    package init(
        _ stories: [CustomerStory],
        by simulator: any StorySimulator,
        from start: Date,
        losing lost: Set<Int> = []
    ) throws(SimulatorError) {
        var made: [SimulatedNotification] = []
        for story in stories { made += try simulator.notifications(story, from: start) }
        // One story's keep their order.
        notifications = made.enumerated()
            .sorted { ($0.element.occurredAt, $0.offset) < ($1.element.occurredAt, $1.offset) }
            .map(\.element)
        self.start = start
        let unheard = Set(notifications.enumerated().filter { lost.contains($0.offset) }.map(\.element.id))
        switch simulator {
        case let apple as AppleSimulator:
            let server = try AppStoreServerSimulator(apple)
            var signed: [AppleSimulator.Notification] = []
            for story in stories { signed += try server.apple.unsignedNotifications(story, from: start) }
            (appStoreServer, lists) = (server, AppleLists(server: server, notifications: signed, lost: unheard))
        case is GoogleSimulator: (appStoreServer, lists) = (nil, GoogleLists())
        case is RevenueCatSimulator: (appStoreServer, lists) = (nil, RevenueCatLists())
        case is StripeSimulator: (appStoreServer, lists) = (nil, StripeLists())
        default: (appStoreServer, lists) = (nil, NoLists())
        }
    }

    /// The provider's answer at `now`.
    ///
    /// - Throws: `SimulatorError` if it cannot be signed.
    package func answer(_ request: Request, at now: Date) throws -> Answer {
        try answer(request, after: notifications.prefix { $0.occurredAt <= now }.count, at: now)
    }

    /// The provider's answer at `now`, when it has made so many notifications.
    ///
    /// - Throws: as ``answer(_:at:)``.
    package func answer(_ request: Request, after count: Int, at now: Date) throws -> Answer {
        let made = notifications.prefix(count)
        let date = lists.isSigned ? request.arrivedAt ?? now : now
        if let answer = try lists.answer(request, after: Array(made), at: now) { return answer.dated(date) }
        let resources = made.isEmpty ? [] : notifications.resources(upTo: made.count - 1)
        guard request.method == "GET", let resource = resources.first(where: { $0.path == request.target }) else {
            return lists.refusal(404, at: now).dated(date)
        }
        return Answer(resource.status, resource.body).dated(date)
    }

    /// The provider's answer when it has made so many notifications: a second after the last of them.
    ///
    /// - Throws: as ``answer(_:at:)``.
    package func answer(_ request: Request, after count: Int) throws -> Answer {
        let last = notifications.prefix(count).last?.occurredAt ?? start
        return try answer(request, after: count, at: last.addingTimeInterval(1))
    }

    /// The provider's answer to a request that it refuses with a status, whatever was asked.
    ///
    /// - Parameter now: the time on the clock of the one who asks.
    package func refusal(_ status: Int, at now: Date) -> Answer { lists.refusal(status, at: now).dated(now) }

    /// The length of the path's part by which requests are the provider's; nil if they are another's. Of two providers, the one
    /// with the longer part is asked.
    package func claim(on target: String) -> Int? {
        lists.paths.filter { target.hasPrefix($0) }.map(\.utf8.count).max()
    }
}

/// The part of a provider's API that does not stand in a story's notifications.
protocol StoryLists: Sendable {
    /// The answer to a request that it knows; nil for a resource.
    func answer(
        _ request: StoryAPI.Request,
        after made: [SimulatedNotification],
        at now: Date
    ) throws -> StoryAPI.Answer?

    /// The answer to a request that is refused, in the provider's form.
    func refusal(_ status: Int, at now: Date) -> StoryAPI.Answer

    /// The beginnings of the paths of the API.
    var paths: [String] { get }

    /// The credentials that the API asks for.
    var credentials: StoryAPI.Credentials { get }

    /// True if the answers state their time by themselves. Otherwise the time of an answer is its `Date`.
    var isSigned: Bool { get }
}

extension StoryLists {
    var isSigned: Bool { false }
}

/// Of a provider without lists: the resources of its notifications are all that there is to ask for.
private struct NoLists: StoryLists {
    func answer(
        _ request: StoryAPI.Request,
        after made: [SimulatedNotification],
        at now: Date
    ) -> StoryAPI.Answer? { nil }

    func refusal(_ status: Int, at now: Date) -> StoryAPI.Answer { StoryAPI.Answer(status, []) }

    var paths: [String] { [] }
    var credentials: StoryAPI.Credentials { .secretKey([]) }
}

extension StoryAPI {
    /// A transport that reaches the provider alone, at the time that a clock shows.
    package func transport(now: @escaping @Sendable () -> Date) -> any HTTPTransportProtocol {
        Transport(api: self, now: now)
    }

    private struct Transport: HTTPTransportProtocol {
        let api: StoryAPI
        let now: @Sendable () -> Date

        func send(_ request: HTTPTransportRequest) async throws(HTTPTransportError) -> HTTPTransportResponse {
            let time = now()
            let asked = Request(
                request.method.name,
                target: request.url.path + (request.url.query.map { "?\($0)" } ?? ""),
                authorization: request.headers["Authorization"],
                body: request.body
            )
            guard let answer = try? api.answer(asked, at: time) else {
                throw HTTPTransportError(.connectionLost, "the simulator could not answer")
            }
            var headers = HTTPTransportHeaders()
            for (name, value) in answer.headers { headers.add(name, value) }
            return HTTPTransportResponse(status: answer.status, headers: headers, body: answer.body)
        }
    }
}
