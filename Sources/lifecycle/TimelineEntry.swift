#if CommandLineTool
import Foundation
import Normalizer

/// An event on one line, for people.
struct TimelineEntry: CustomStringConvertible {
    let event: NormalizedEvent

    init(_ event: NormalizedEvent) { self.event = event }

    var description: String {
        let kind = event.kind.rawValue.padding(toLength: 26, withPad: " ", startingAt: 0)
        let origin = event.origin.subtype.map { "\(event.origin.type)/\($0)" } ?? event.origin.type
        return "  \(day(event.assertedAt))  \(kind)\(details.joined(separator: ", "))  [\(origin)]"
    }

    private var details: [String] {
        switch event.event {
        case .started(let detail):
            ["\(detail.origin)", "\(detail.phase)", product] + until(detail.period) + cost(detail.price)
        case .renewed(let detail):
            [words(detail.cause.name), "\(detail.phase)", product] + until(detail.period) + cost(detail.price)
        case .billingIssue(let detail):
            switch detail.access {
            case .grace(let end): ["access until \(day(end)) in grace"]
            case .suspended: ["no access while the store tries again"]
            }
        case .autoRenewDisabled(let detail):
            ["\(detail.reason)"] + (detail.accessUntil.map { ["access until \(day($0))"] } ?? [])
        case .expired(let detail): ["\(detail.reason)"]
        case .productChanged(let detail), .productChangeScheduled(let detail), .productChangeReverted(let detail):
            [(detail.from.map { "\($0) to " } ?? "to ") + detail.to, "\(detail.direction)"]
                + (detail.period.map(until) ?? [])
        case .refunded(let detail):
            [name(of: detail.scope), "\(detail.reason)"]
                + (detail.affectsCurrentPeriod == true ? ["access ends"] : [])
        case .oneTimePurchased(let detail): ["\(detail.type)", product] + cost(detail.price)
        default: event.product == nil ? [] : [product]
        }
    }

    private var product: String { event.product?.id ?? "" }

    private func until(_ period: ServicePeriod) -> [String] {
        [period.end.map { "until \(day($0))" } ?? "without end"]
    }

    private func cost(_ price: Price?) -> [String] {
        price.map { ["\($0.money)"] } ?? []
    }

    private func words(_ name: String) -> String { name.replacingOccurrences(of: "_", with: " ") }

    private func name(of scope: LifecycleEvent.Refund.Scope) -> String {
        switch scope {
        case .full: "in full"
        case .fraction(let fraction): "\(fraction) of it"
        case .quantity(let quantity): "\(quantity) of them"
        case .amount(let money): "\(money)"
        }
    }

}

/// An access decision in a few words.
struct AccessLine: CustomStringConvertible {
    let description: String

    init(_ decision: AccessDecision) {
        switch decision {
        case .granted(let until, let grant):
            description = "yes, \(until.map { "until \(day($0))" } ?? "without end"), \(grant.product)"
        case .denied(_, let denial):
            description = "no, \(denial.reason.rawValue)"
        }
    }
}

/// To the minute, in UTC.
private func day(_ date: Date) -> String {
    RFC3339.string(date.millisecondsSince1970).prefix(16).replacingOccurrences(of: "T", with: " ")
}
#endif
