package import ConformanceVectors
import JSONWebSignature
package import Normalizer
import SignatureCore
import WireJSON

/// The provider's own words that decide the result of a notification: one row of its table.
package struct NativeCase: Hashable, Sendable {
    package let provider: Provider
    /// The provider's type.
    package let type: String
    /// The difference between notifications of one type; empty if there is none.
    package let subtype: String
    /// The provider's answer to the look-up; empty if there is none.
    package let state: String

    package init(_ provider: Provider, _ type: String, subtype: String = "", state: String = "") {
        self.provider = provider
        self.type = type
        self.subtype = subtype
        self.state = state
    }

    /// Reads a delivery's own type, by the provider's documentation and not through an adapter; nil if it is
    /// unreadable.
    package init?(_ vector: Vector) {
        guard let body = try? ObjectReader(parsing: vector.body) else { return nil }
        switch vector.provider {
        case .apple: self.init(apple: body, vector)
        case .google: self.init(google: body, vector)
        case .revenuecat: self.init(revenueCat: body)
        case .stripe: self.init(stripe: body, vector.http)
        // Any other body names its type itself.
        default:
            guard let type = body.text("type") else { return nil }
            self.init(vector.provider, type)
        }
    }

    private init?(apple body: ObjectReader, _ vector: Vector) {
        for member in ["signedPayload", "jws"] as [MemberName] {
            guard let slice = try? body.utf8Slice(member), let jws = try? CompactJWS(Array(slice)),
                let bytes = try? Base64URL.decode(Array(slice), jws.payloadRange),
                let payload = try? ObjectReader(parsing: bytes)
            else { continue }
            if member == "signedPayload" {
                guard let type = payload.text("notificationType") else { return nil }
                self.init(.apple, type, subtype: payload.text("subtype") ?? "")
            } else {
                let kind = (try? ObjectReader(vector.config))?.text("kind") ?? ""
                self.init(.apple, "uploaded \(kind)", subtype: payload.text("type") ?? "")
            }
            return
        }
        return nil
    }

    private init?(google body: ObjectReader, _ vector: Vector) {
        if body.text("purchaseToken") != nil {
            self.init(.google, "uploaded token", subtype: body.text("kind") ?? "", state: Self.state(vector.http))
            return
        }
        var notification = body
        if let message = try? ObjectReader(body.value("message")) {
            guard let data = try? message.utf8Slice("data"), let bytes = try? Base64.decode(Array(data).span),
                let inner = try? ObjectReader(parsing: bytes)
            else { return nil }
            notification = inner
        }
        let contents = notification.object.members.filter { $0.name.hasSuffix("Notification") }
        guard contents.count == 1, let content = try? ObjectReader(contents[0].value) else { return nil }
        let subtype: String
        switch contents[0].name {
        case "voidedPurchaseNotification":
            subtype = "product \(content.text("productType") ?? "-"), refund \(content.text("refundType") ?? "-")"
        default:
            subtype = content.text("notificationType") ?? ""
        }
        self.init(.google, contents[0].name, subtype: subtype, state: Self.state(vector.http))
    }

    private static func state(_ http: [RecordedAnswer]?) -> String {
        guard let http else { return "not asked" }
        guard let answer = http.first else { return "no answer" }
        guard answer.status == 200 else { return "HTTP \(answer.status)" }
        guard let purchase = try? ObjectReader(parsing: answer.body) else { return "not JSON" }
        if let state = purchase.text("subscriptionState") {
            return String(state.dropFirst(state.hasPrefix("SUBSCRIPTION_STATE_") ? 19 : 0))
        }
        let context = try? ObjectReader(purchase.value("purchaseStateContext"))
        return context?.text("purchaseState") ?? "no state"
    }

    private init?(revenueCat body: ObjectReader) {
        guard let event = try? ObjectReader(body.value("event")), let type = event.text("type") else { return nil }
        switch type {
        case "CANCELLATION": self.init(.revenuecat, type, subtype: event.text("cancel_reason") ?? "")
        case "EXPIRATION": self.init(.revenuecat, type, subtype: event.text("expiration_reason") ?? "")
        case "INITIAL_PURCHASE", "RENEWAL", "NON_RENEWING_PURCHASE":
            self.init(.revenuecat, type, subtype: event.text("period_type") ?? "")
        default: self.init(.revenuecat, type)
        }
    }

    private init?(stripe body: ObjectReader, _ http: [RecordedAnswer]?) {
        if let kind = body.text("kind") {
            guard let answer = http?.first, let object = try? ObjectReader(parsing: answer.body) else { return nil }
            let members = ["mode", "status", "payment_status"].compactMap { object.text($0) }
            self.init(.stripe, "asked \(kind)", subtype: members.joined(separator: " "))
            return
        }
        guard let type = body.text("type") else { return nil }
        guard let data = try? ObjectReader(body.value("data")), let object = try? ObjectReader(data.value("object"))
        else {
            self.init(.stripe, type)
            return
        }
        let previous = try? data.value("previous_attributes").object()
        let changed = (previous.map { Array($0.members) } ?? []).map(\.name).sorted()
        let status = object.text("status") ?? ""
        switch type.split(separator: ".").first {
        case "invoice": self.init(.stripe, type, subtype: object.text("billing_reason") ?? "")
        case "checkout":
            self.init(.stripe, type, subtype: "\(object.text("mode") ?? ""), \(object.text("payment_status") ?? "")")
        case "customer", "subscription_schedule", "refund":
            if changed.contains("status") {
                let before = previous?["status"].flatMap { try? $0.string() } ?? "null"
                self.init(.stripe, type, subtype: "\(before) → \(status)")
            } else if type.hasSuffix(".updated"), object.text("object") != "customer" {
                self.init(.stripe, type, subtype: changed.isEmpty ? "nothing named" : changed.joined(separator: ", "))
            } else {
                self.init(.stripe, type, subtype: status)
            }
        case "charge" where object.text("object") == "dispute": self.init(.stripe, type, subtype: status)
        default: self.init(.stripe, type)
        }
    }
}

extension ObjectReader {
    /// A string, or a number as it was written.
    fileprivate func text(_ name: MemberName) -> String? {
        guard let value = object[name] else { return nil }
        switch value.kind {
        case .string: return try? value.string()
        case .number: return String(decoding: value.rawBytes, as: UTF8.self)
        default: return nil
        }
    }
}
