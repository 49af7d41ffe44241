import HTTPTransport

extension CurlHTTPTransport {
    /// The settings of a transport.
    public struct Configuration: Sendable {
        /// The certificates that a server's chain has to end in.
        public enum TrustRoots: Sendable {
            /// Those that libcurl was built to use, as a rule the operating system's.
            case system
            /// A file of PEM certificates, instead of the system's.
            case file(path: String)
            /// PEM certificates, instead of the system's.
            case pem([UInt8])
        }

        /// An HTTP proxy through which requests are tunneled (RFC 9110, section 9.3.6).
        public struct Proxy: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
            /// The host.
            public var host: String
            /// The port.
            public var port: Int
            let credentials: (username: String, password: String)?

            /// A proxy that asks for no credentials.
            public init(host: String, port: Int) {
                self.host = host
                self.port = port
                credentials = nil
            }

            /// A proxy with basic authentication.
            public init(host: String, port: Int, username: String, password: String) {
                self.host = host
                self.port = port
                credentials = (username, password)
            }

            /// Host and port.
            public var description: String { "\(host):\(port)" }

            /// The same as the description.
            public var debugDescription: String { description }

            /// Shows nothing.
            public var customMirror: Mirror { Mirror(self, children: [:]) }
        }

        /// The certificates that a server's chain has to end in.
        public var trustRoots: TrustRoots
        /// The proxy. Without one requests go straight to the server, whatever the environment says.
        public var proxy: Proxy?
        /// How long a connection may take to come about, TLS included; a request's own time-out can be shorter.
        public var connectTimeout: Duration
        /// How many connections to one host there are at most. Further requests wait, and their time-outs run.
        public var maximumConnectionsPerHost: Int
        /// How many connections without a request are kept for later.
        public var maximumIdleConnections: Int

        /// Makes a configuration.
        public init(
            trustRoots: TrustRoots = .system,
            proxy: Proxy? = nil,
            connectTimeout: Duration = .seconds(5),
            maximumConnectionsPerHost: Int = 64,
            maximumIdleConnections: Int = 64
        ) {
            self.trustRoots = trustRoots
            self.proxy = proxy
            self.connectTimeout = connectTimeout
            self.maximumConnectionsPerHost = maximumConnectionsPerHost
            self.maximumIdleConnections = maximumIdleConnections
        }

        func validate() throws(HTTPTransportError) {
            switch trustRoots {
            case .system: break
            case .file(let path):
                guard !path.isEmpty, !path.utf8.contains(0) else {
                    throw HTTPTransportError(.transportFailure, "path of the trust roots is empty or has a NUL")
                }
            case .pem(let octets):
                // libcurl would say so with the first connection only.
                guard String(decoding: octets, as: UTF8.self).contains("-----BEGIN CERTIFICATE-----") else {
                    throw HTTPTransportError(.transportFailure, "trust roots have no PEM certificate")
                }
            }
            if let proxy {
                do {
                    _ = try HTTPSURL(host: proxy.host, port: proxy.port)
                } catch {
                    throw HTTPTransportError(.transportFailure, "proxy's host or port is not one")
                }
                if let (username, password) = proxy.credentials {
                    guard !username.utf8.contains(where: { $0 < 0x20 || $0 == 0x3A }),
                        !password.utf8.contains(where: { $0 < 0x20 })
                    else {
                        throw HTTPTransportError(
                            .transportFailure,
                            "proxy's credentials have a control character, or its user name a colon"
                        )
                    }
                }
            }
            guard connectTimeout > .zero else {
                throw HTTPTransportError(.transportFailure, "connect time-out is not positive")
            }
            guard (1...65_535).contains(maximumConnectionsPerHost), (1...65_535).contains(maximumIdleConnections) else {
                throw HTTPTransportError(.transportFailure, "a number of connections is not one of 1 to 65535")
            }
        }
    }
}
