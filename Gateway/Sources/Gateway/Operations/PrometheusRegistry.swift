public import CoreMetrics
import Synchronization

/// Keeps the values that swift-metrics reports, and writes them in the text format that Prometheus reads
/// (<https://prometheus.io/docs/instrumenting/exposition_formats/>).
public final class PrometheusRegistry: MetricsFactory, Sendable {
    fileprivate struct Key: Hashable {
        var name: String
        var labels: String
    }

    fileprivate struct Distribution {
        var counts: [UInt64]
        var sum = 0.0
        var count: UInt64 = 0
    }

    fileprivate struct Values {
        var counters: [Key: Int64] = [:]
        var gauges: [Key: Double] = [:]
        var distributions: [Key: Distribution] = [:]
    }

    /// Upper limits of a distribution, in seconds for times.
    fileprivate static let limits: [Double] = [
        0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 60, 300, 3600, 21_600, 86_400,
    ]

    fileprivate let values = Mutex(Values())

    /// Makes an empty registry.
    public init() {}

    /// Makes a counter.
    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        CounterCell(registry: self, key: Self.key(label, dimensions))
    }

    /// Makes a recorder: a distribution if it aggregates, otherwise a gauge.
    public func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        RecorderCell(registry: self, key: Self.key(label, dimensions), aggregates: aggregate)
    }

    /// Makes a timer, whose times are written in seconds.
    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        RecorderCell(registry: self, key: Self.key(label + "_seconds", dimensions), aggregates: true)
    }

    /// Does nothing: the value of a counter outlives it.
    public func destroyCounter(_ handler: any CounterHandler) {}
    /// Does nothing.
    public func destroyRecorder(_ handler: any RecorderHandler) {}
    /// Does nothing.
    public func destroyTimer(_ handler: any TimerHandler) {}

    private static func key(_ label: String, _ dimensions: [(String, String)]) -> Key {
        let name = String(label.map { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") ? $0 : "_" })
        let labels = dimensions.map { name, value in
            let text = value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
            return "\(name)=\"\(text)\""
        }
        return Key(name: name, labels: labels.joined(separator: ","))
    }

    /// All values, in the order of their names.
    public var text: String {
        values.withLock { values in
            var lines: [String] = []
            func block(_ type: String, _ keys: some Collection<Key>, write: (Key) -> [String]) {
                var last = ""
                for key in keys.sorted(by: { ($0.name, $0.labels) < ($1.name, $1.labels) }) {
                    if key.name != last { lines.append("# TYPE \(key.name) \(type)") }
                    last = key.name
                    lines += write(key)
                }
            }
            func name(_ key: Key, suffix: String = "", _ extra: String = "") -> String {
                let labels = [key.labels, extra].filter { !$0.isEmpty }.joined(separator: ",")
                return key.name + suffix + (labels.isEmpty ? "" : "{\(labels)}")
            }
            block("counter", values.counters.keys) { ["\(name($0)) \(values.counters[$0] ?? 0)"] }
            block("gauge", values.gauges.keys) { ["\(name($0)) \(values.gauges[$0] ?? 0)"] }
            block("histogram", values.distributions.keys) { key in
                guard let distribution = values.distributions[key] else { return [] }
                var lines: [String] = []
                for (limit, count) in zip(Self.limits, distribution.counts) {
                    lines.append("\(name(key, suffix: "_bucket", "le=\"\(limit)\"")) \(count)")
                }
                lines.append("\(name(key, suffix: "_bucket", "le=\"+Inf\"")) \(distribution.count)")
                lines.append("\(name(key, suffix: "_sum")) \(distribution.sum)")
                lines.append("\(name(key, suffix: "_count")) \(distribution.count)")
                return lines
            }
            return lines.joined(separator: "\n") + "\n"
        }
    }
}

private final class CounterCell: CounterHandler {
    private let registry: PrometheusRegistry
    private let key: PrometheusRegistry.Key

    init(registry: PrometheusRegistry, key: PrometheusRegistry.Key) {
        self.registry = registry
        self.key = key
        increment(by: 0)
    }

    func increment(by amount: Int64) {
        registry.values.withLock { values in
            let (sum, overflow) = values.counters[key, default: 0].addingReportingOverflow(amount)
            values.counters[key] = overflow ? .max : sum
        }
    }

    func reset() { registry.values.withLock { $0.counters[key] = 0 } }
}

private final class RecorderCell: RecorderHandler, TimerHandler {
    private let registry: PrometheusRegistry
    private let key: PrometheusRegistry.Key
    private let aggregates: Bool

    init(registry: PrometheusRegistry, key: PrometheusRegistry.Key, aggregates: Bool) {
        self.registry = registry
        self.key = key
        self.aggregates = aggregates
    }

    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        registry.values.withLock { values in
            guard aggregates else {
                values.gauges[key] = value
                return
            }
            var distribution =
                values.distributions[key]
                ?? .init(counts: Array(repeating: 0, count: PrometheusRegistry.limits.count))
            for (index, limit) in PrometheusRegistry.limits.enumerated() where value <= limit {
                distribution.counts[index] += 1
            }
            distribution.sum += value
            distribution.count += 1
            values.distributions[key] = distribution
        }
    }

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
}
