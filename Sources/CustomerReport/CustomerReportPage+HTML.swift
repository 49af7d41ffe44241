import FoundationEssentials
public import Normalizer
import SignatureCore

extension CustomerReportPage {
    /// A search field, for a page that is served: its address, and the searched text.
    public struct Search: Sendable {
        /// The address that the form asks.
        public var action: String
        /// The text that was searched for.
        public var query: String
        /// The time that was asked for, as it was written; empty for the present, whenever the form is sent.
        public var time: String

        /// Describes the form.
        public init(action: String, query: String, time: String = "") {
            self.action = action
            self.query = query
            self.time = time
        }
    }

    /// The whole document.
    ///
    /// - Parameters:
    ///   - title: the heading.
    ///   - search: shows a search field, and one for the time; absent, the document stands alone.
    ///   - notice: a sentence above the purchases, such as that nothing was found.
    ///   - credits: the statement of the customer's credits, which is shown below the purchases.
    ///   - deliveries: the providers' deliveries with their answers, as a table below the purchases.
    public func html(
        title: String,
        search: Search? = nil,
        notice: String? = nil,
        credits: CreditStatement? = nil,
        deliveries: ReportTable? = nil
    ) -> String {
        let form: HTML = search.map(self.form) ?? ""
        let notice: HTML = notice.map { "<p class=\"notice\" role=\"status\">\($0)</p>" } ?? ""
        let credits: HTML = credits.map(self.credits) ?? ""
        let deliveries: HTML =
            deliveries.map {
                "<section aria-label=\"Deliveries\"><h2>Deliveries</h2>\($0.markup(label: "Deliveries, newest first"))</section>"
            } ?? ""
        let page: HTML = """
            \(Self.head(title))<a class="skip" href="#purchases">Skip to the purchases</a>
            <header><h1>\(title)</h1>\(form)</header>
            <main id="purchases">\(notice)\(purchases.map(section))\(credits)\(deliveries)</main></body></html>
            """
        return page.text
    }

    /// The document up to the beginning of its body.
    static func head(_ title: String) -> HTML {
        """
        <!DOCTYPE html>
        <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
        <meta name="robots" content="noindex"><title>\(title)</title><style>\(HTML(stringLiteral: styleSheet))</style></head>
        <body>
        """
    }

    private func form(_ search: Search) -> HTML {
        """
        <form action="\(search.action)" method="get" role="search">
        <label>Account, transaction, subscription or order <input type="search" name="q" value="\(search.query)" autofocus></label>
        <label>Explain the time (UTC), such as 2026-01-31 12:00; empty for now \
        <input type="text" name="at" value="\(search.time)" size="28"></label>
        <button>Show</button></form>
        """
    }

    private func section(_ purchase: Purchase) -> HTML {
        let snapshot = purchase.state.snapshot(at: time)
        let explanation = ledger.explain(purchase.state, at: time)
        let name = purchase.state.subscription.description
        return """
            <section aria-label="\(name)"><h2>\(snapshot.product ?? "Purchase") \
            <span class="badge \(snapshot.access.isGranted ? "yes" : "no")">\(snapshot.status.rawValue)</span></h2>
            <p class="names">\(purchase.state.lineages.map(\.description).joined(separator: " · "))</p>
            <p class="decision">\(sentence(explanation))</p>
            \(PurchasePicture(purchase, at: time).svg)
            \(grounds(explanation))
            \(contradictions(explanation))
            \(events(purchase))</section>
            """
    }

    private func sentence(_ explanation: Explanation) -> String {
        let next = explanation.nextTransition.map { " Look again at \($0.text)." } ?? ""
        switch explanation.decision {
        case .granted(let until, let grant):
            let end = until.map { "until \($0.text)" } ?? "without an end"
            return "At \(time.text) there is access \(end), because of \(grant.basis.words) of \(grant.product).\(next)"
        case .denied(let since, let denial):
            let start = since.map { " since \($0.text)" } ?? ""
            return "At \(time.text) there is no access\(start): \(denial.reason.words).\(next)"
        }
    }

    private func grounds(_ explanation: Explanation) -> HTML {
        guard !explanation.grounds.isEmpty else { return "" }
        let rows = explanation.grounds.map { ground in
            """
            <tr><td>\(ground.says)</td><td>\(ground.by.provider.rawValue)</td><td>\(ground.by.type)\
            \(ground.by.subtype.map { " / \($0)" } ?? "")</td><td>\(ground.by.channel.rawValue)</td>\
            <td class="time">\(ground.by.assertedAt.text)</td></tr>
            """ as HTML
        }
        return """
            <h3>Why</h3><div class="scroll" tabindex="0" role="region" aria-label="Statements behind the decision"><table>
            <thead><tr><th scope="col">Says</th><th scope="col">Provider</th><th scope="col">Notification</th>\
            <th scope="col">Channel</th><th scope="col">Stated</th></tr></thead><tbody>\(rows)</tbody></table></div>
            """
    }

    private func contradictions(_ explanation: Explanation) -> HTML {
        guard !explanation.contradictions.isEmpty else { return "" }
        let items = explanation.contradictions.map { "<li>\($0.words)</li>" as HTML }
        return "<h3>Contradictions</h3><ul class=\"warning\">\(items)</ul>"
    }

    private func events(_ purchase: Purchase) -> HTML {
        let rows = purchase.lines.reversed().map { line -> HTML in
            switch line {
            case .event(let event):
                let disposition = purchase.oldNews[event]
                let price = event.kind.movesMoney ? event.price.map(\.text) ?? "" : ""
                let effect: HTML =
                    event.effectiveAt == event.occurredAt ? "" : "<br>takes effect \(event.effectiveAt.text)"
                return """
                    <tr\(disposition == nil ? "" : " class=\"quiet\"" as HTML)><td class="time">\(event.occurredAt.text)\(effect)</td>\
                    <td>\(event.kind.rawValue)</td><td>\(disposition?.words ?? "news")</td>\
                    <td class="name">\(event.product?.id ?? "")</td><td>\(price)</td><td>\(by(event.origin, event.provider))</td>\
                    <td class="name">\(event.transaction ?? "")<br><span class="id">\(event.id.description)</span></td></tr>
                    """
            case .statement(let statement):
                return """
                    <tr class="quiet"><td class="time">stated \(statement.assertedAt.text)</td><td>statement</td><td></td>\
                    <td></td><td></td><td>\(by(statement.origin, statement.provider))</td><td></td></tr>
                    """
            }
        }
        return """
            <h3>Events</h3><div class="scroll" tabindex="0" role="region" aria-label="Events, the last stated first"><table>
            <thead><tr><th scope="col">Happened</th><th scope="col">Event</th><th scope="col">News</th>\
            <th scope="col">Product</th><th scope="col">Price</th><th scope="col">Reported by</th>\
            <th scope="col">Transaction, and the event's id</th></tr></thead><tbody>\(Array(rows))</tbody></table></div>
            """
    }

    /// The provider with the channel, and the notification.
    private func by(_ origin: Origin, _ provider: Provider) -> HTML {
        "\(provider.rawValue), \(origin.channel.rawValue)<br>\(origin.type)\(origin.subtype.map { " / \($0)" } ?? "")"
    }

    /// The header field to serve the page with: nothing is loaded, no script runs, and no other site frames it.
    public static let contentSecurityPolicy: String = {
        let digest = SHA256.hash(Array(styleSheet.utf8).span)
        let hash = String(decoding: Base64.encode(digest.bytes.span), as: UTF8.self)
        return
            "default-src 'none'; style-src 'sha256-\(hash)'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    }()

    static let styleSheet = """
        :root{color-scheme:light dark;--fg:#1d2129;--bg:#fff;--soft:#f2f4f7;--line:#d0d5dd;--quiet:#5b6472;--yes:#0a7d4f;--no:#b42318;\
        --trial:#7a5af8;--a:#2563eb;--b:#0891b2;--c:#9333ea;--d:#b45309;--grace:#d97706}
        @media (prefers-color-scheme:dark){:root{--fg:#e6e8ec;--bg:#14171c;--soft:#1d2229;--line:#3a424e;--quiet:#9aa4b2;--yes:#3ccf91;\
        --no:#ff8a80;--trial:#a99cff;--a:#7aa5ff;--b:#4fc3d9;--c:#c084fc;--d:#e8a15a;--grace:#f2b155}}
        *{box-sizing:border-box}body{margin:0 auto;max-width:96rem;padding:1rem;font:1rem/1.5 system-ui,sans-serif;color:var(--fg);\
        background:var(--bg)}
        h1{font-size:1.4rem;overflow-wrap:anywhere}h2{font-size:1.15rem;margin:0;overflow-wrap:anywhere}h3{font-size:1rem;margin:1rem 0 .3rem}
        form{display:flex;flex-wrap:wrap;gap:.75rem;align-items:end}label{display:grid;gap:.2rem;font-size:.85rem;color:var(--quiet)}
        input,button{font:inherit;color:inherit;background:var(--soft);border:1px solid var(--line);border-radius:.4rem;padding:.4rem .6rem}
        input[type=search]{width:min(28rem,80vw)}button{cursor:pointer}
        :focus-visible{outline:3px solid var(--a);outline-offset:2px}
        .skip{position:absolute;left:-99rem}.skip:focus{left:1rem;background:var(--bg)}
        section{border:1px solid var(--line);border-radius:.6rem;padding:1rem;margin:1rem 0}
        .badge{font-size:.8rem;border:1px solid;border-radius:1rem;padding:.1rem .6rem;vertical-align:middle}
        .yes{color:var(--yes)}.no{color:var(--no)}.names,.quiet{color:var(--quiet)}.names{margin:.2rem 0;font-size:.85rem;overflow-wrap:anywhere}
        .decision{font-weight:600}.notice{background:var(--soft);padding:.6rem 1rem;border-radius:.4rem}.warning{color:var(--no)}
        a{color:var(--a)}td form{display:inline}.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.85rem;width:100%}
        th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid var(--line);vertical-align:top}th{color:var(--quiet)}
        .time{white-space:nowrap}
        .id{font-family:ui-monospace,monospace;font-size:.75rem}.name{overflow-wrap:anywhere;min-width:10rem}
        svg{display:block;width:100%;height:auto;margin:.75rem 0}svg text{fill:var(--fg);font:12px system-ui,sans-serif}svg .axis{fill:var(--quiet)}
        .tick{stroke:var(--line)}.now{stroke:var(--fg);stroke-dasharray:4 3}.granted{fill:var(--yes)}.denied{fill:var(--line)}
        .p0{fill:var(--a)}.p1{fill:var(--b)}.p2{fill:var(--c)}.p3{fill:var(--d)}.trial{fill:var(--trial)}.grace{fill:var(--grace)}
        .mark{fill:var(--bg);stroke:var(--fg);stroke-width:1.5}.mark.bad{stroke:var(--no)}
        """
}

extension Date {
    /// The time in UTC, without the milliseconds where there are none.
    var text: String {
        let text = RFC3339.string(millisecondsSince1970)
        return text.hasSuffix(".000Z") ? text.dropLast(5) + "Z" : text
    }
}

extension AccessDecision.Grant.Basis {
    /// The basis as a noun in a sentence.
    var words: String {
        switch self {
        case .grace: "the grace period"
        default: rawValue == "period" ? "a paid period" : "a \(rawValue.replacing("_", with: " "))"
        }
    }
}

extension AccessDecision.Denial.Reason {
    /// The reason as a clause.
    var words: String {
        switch self {
        case .never: "nothing that gives access was ever reported"
        case .notBegun: "what was bought begins later"
        case .renewalDue: "the period has ended, and the store has not said yet if it was renewed"
        case .customer: "the customer canceled"
        case .billing: "a charge failed"
        case .priceIncreaseDeclined: "the customer did not agree to a higher price"
        case .productUnavailable: "the product is not for sale any more"
        case .paused: "the subscription is paused"
        case .replaced: "another product took its place"
        case .developer: "the developer ended it"
        case .refunded: "the money went back"
        case .unknown: "the store does not say why"
        }
    }
}

extension Contradiction {
    /// The contradiction in words, with the statements behind it.
    fileprivate var words: String {
        let what =
            switch kind {
            case .simultaneousStatements: "two statements of one moment differ (\(subject))"
            case .endedBeforePaidEnd: "it ended before the end that was paid for (\(subject))"
            case .endTakenBack: "an end was taken back (\(subject))"
            case .negativePeriod: "it ends before it begins (\(subject))"
            case .linkAcrossEnvironments: "it is linked to a purchase of another environment"
            case .ownership: "another account claims the purchase"
            default: "\(kind.rawValue.replacing("_", with: " ")) (\(subject))"
            }
        return statements.isEmpty ? what : what + ": " + statements.map(\.description).joined(separator: "; ")
    }
}

extension AppliedEvent.Disposition {
    fileprivate var words: String {
        switch self {
        case .applied: "news"
        case .duplicate: "known before"
        case .superseded: "overtaken"
        case .unrelated: ""
        }
    }
}

extension LifecycleEvent.Kind {
    /// True if the price of the transaction was paid or went back by such an event. Behind another one it would read as a charge.
    fileprivate var movesMoney: Bool {
        let moving: Set<Self> = [
            .started, .renewed, .productChanged, .oneTimePurchased, .refunded, .refundReversed, .chargeback,
        ]
        return moving.contains(self)
    }
}

extension Price {
    /// The money, with its role unless it was charged.
    fileprivate var text: String {
        "\(money.amount.description) \(money.currency)" + (role == .charged ? "" : " (\(role.rawValue))")
    }
}
