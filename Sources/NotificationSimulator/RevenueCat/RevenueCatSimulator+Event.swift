package import WireJSON

extension RevenueCatSimulator {
    /// The `event` object of a webhook, with the fields that RevenueCat fills for a purchase in the App Store.
    package struct Event: Sendable {
        package var members: JSONMembers

        /// Makes an event about a period of the subscription `O1` of the customer `u1`.
        ///
        /// - Parameter changes: members to set; nil takes one out.
        package init(
            _ type: String,
            id: String,
            at milliseconds: Int64,
            _ period: Period = .first,
            changing changes: KeyValuePairs<String, JSONText?> = [:]
        ) {
            members = JSONMembers([
                ("type", .string(type)), ("id", .string(id)), ("event_timestamp_ms", .integer(milliseconds)),
                ("app_id", "app0123456789"), ("app_user_id", "u1"), ("original_app_user_id", "u1"),
                ("aliases", ["u1"]), ("environment", "PRODUCTION"), ("store", "APP_STORE"), ("product_id", "pro_m"),
                ("entitlement_ids", ["pro"]), ("period_type", "NORMAL"), ("purchased_at_ms", .integer(period.start)),
                ("expiration_at_ms", .integer(period.end)), ("transaction_id", .string(period.transaction)),
                ("original_transaction_id", "O1"), ("is_family_share", false), ("country_code", "DE"),
            ])
            for (name, value) in changes { members[name] = value }
        }

        /// Makes an event of these members alone.
        package init(_ members: KeyValuePairs<String, JSONText>) {
            self.members = JSONMembers(members.map { ($0.key, $0.value) })
        }

        /// The same event with members changed; nil takes one out.
        package func with(_ changes: KeyValuePairs<String, JSONText?>) -> Event {
            var event = self
            for (name, value) in changes { event.members[name] = value }
            return event
        }

        /// The same event with the price of its period.
        package func priced(_ usd: String, local: String? = nil, currency: String = "USD") -> Event {
            with([
                "price": .raw(usd), "price_in_purchased_currency": .raw(local ?? usd), "currency": .string(currency),
            ])
        }

        /// The body of the webhook.
        package var body: [UInt8] { Array("{\"api_version\":\"1.0\",\"event\":\(members.text)}".utf8) }
    }

    /// A period with its transaction.
    package struct Period: Sendable, Hashable {
        package var start: Int64
        package var end: Int64
        package var transaction: String

        package init(_ start: Int64, to end: Int64, _ transaction: String) {
            self.start = start
            self.end = end
            self.transaction = transaction
        }

        /// January 2026.
        package static let first = Period(1_767_225_600_000, to: 1_769_904_000_000, "O1")
        /// February 2026.
        package static let second = Period(1_769_904_000_000, to: 1_772_323_200_000, "O1-2")
    }
}
