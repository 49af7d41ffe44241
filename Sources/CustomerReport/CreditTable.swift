import Normalizer

extension CustomerReportPage {
    /// The statement of credits: the grants, their ends, and the rest.
    func credits(_ statement: CreditStatement) -> HTML {
        let names = Dictionary(
            statement.grants.enumerated().map { ($0.element.id, "#\($0.offset + 1)") },
            uniquingKeysWith: { first, _ in first }
        )
        let grants = statement.grants.map { grant in
            """
            <tr><td>\(names[grant.id] ?? "")</td><td class="time">\(grant.from.text)</td>\
            <td class="time">\(grant.until.map(\.text) ?? "until used")</td><td>\(why(grant, names))</td>\
            <td>\(grant.product ?? "")</td><td>\(grant.credits)</td><td>\(grant.used)</td><td>\(grant.ended)</td>\
            <td>\(grant.left)</td></tr>
            """ as HTML
        }
        let changes =
            statement.endings.map {
                (at: $0.at, what: $0.reason.rawValue.replacing("_", with: " "), of: names[$0.grant] ?? "", $0.credits)
            }
            + statement.uses.map { (at: $0.at, what: $0.credits < 0 ? "given" : "used", of: $0.id, $0.credits) }
        let rows = changes.sorted { $0.at < $1.at }.map { change in
            """
            <tr><td class="time">\(change.at.text)</td><td>\(change.what)</td><td>\(change.of)</td><td>\(change.3)</td></tr>
            """ as HTML
        }
        return """
            <section aria-label="Credits"><h2>Credits <span class="badge">\(statement.balance) left at \(statement.at.text)</span></h2>
            <div class="scroll" tabindex="0" role="region" aria-label="Grants"><table>
            <thead><tr><th scope="col">Grant</th><th scope="col">From</th><th scope="col">Until</th><th scope="col">Why</th>\
            <th scope="col">Product</th><th scope="col">Credits</th><th scope="col">Used</th><th scope="col">Ended</th>\
            <th scope="col">Left</th></tr></thead><tbody>\(grants)</tbody></table></div>
            <h3>Uses and endings</h3><div class="scroll" tabindex="0" role="region" aria-label="Uses and endings"><table>
            <thead><tr><th scope="col">When</th><th scope="col">Change</th><th scope="col">Of</th><th scope="col">Credits</th>\
            </tr></thead><tbody>\(rows)</tbody></table></div></section>
            """
    }

    private func why(_ grant: CreditGrant, _ names: [CreditGrant.ID: String]) -> String {
        let name = grant.reason.name.replacing("_", with: " ")
        return switch grant.reason {
        case .carriedOver(let id): "\(name) from \(names[id] ?? id.rawValue)"
        case .instalment(let number): "\(name) \(number + 1)"
        default: name
        }
    }
}
