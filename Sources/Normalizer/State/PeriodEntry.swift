import FoundationEssentials

extension SubscriptionState {
    /// Everything known about one period. Copies of a state share entries, and replace them rather than change them.
    package struct PeriodEntry: Hashable, Sendable, Codable {
        // As a struct, a decision over ten periods takes 82 µs for 44, and over a thousand 214 for 136.
        private final class Contents: Sendable {
            let statement: Register<Fact.Period>
            let startStatement: Assertion<Fact.Period>?
            let named: Mentions
            let firstStated: Int64?
            /// The end by the statement of that moment, if the last statement has another one.
            let firstEnd: Int64?
            let lineages: Set<SubscriptionID>
            let products: [ProductID: Int64]?
            let phases: [PeriodPhase: Int64]?
            let paidPhase: PeriodPhase?

            init(
                _ statement: Register<Fact.Period>,
                startStatement: Assertion<Fact.Period>? = nil,
                named: Mentions = Mentions(),
                firstStated: Int64?,
                firstEnd: Int64? = nil,
                lineages: Set<SubscriptionID>,
                products: [ProductID: Int64]? = nil,
                phases: [PeriodPhase: Int64]? = nil,
                paidPhase: PeriodPhase?
            ) {
                self.statement = statement
                self.startStatement = startStatement
                self.named = named
                self.firstStated = firstStated
                self.firstEnd = firstEnd
                self.lineages = lineages
                self.products = products
                self.phases = phases
                self.paidPhase = paidPhase
            }
        }

        private var contents: Contents

        package var statement: Register<Fact.Period> { contents.statement }
        /// The statement that its start is read from: the last one that states it, else the one with the earliest moment in its
        /// place. Nil if the period is only inferred.
        private var startStatement: Assertion<Fact.Period>? {
            let latest = contents.statement.latest
            return contents.startStatement ?? (latest.value.isProvisional ? nil : latest)
        }

        /// The statements about something else that name it while it runs.
        var named: Mentions {
            var named = contents.named
            if contents.statement.latest.value.isRunning { named.insert(contents.statement.latest) }
            return named
        }

        /// The latest end that may count.
        var latestEnd: Int64 {
            contents.named.inOrder.reduce(fact.period.endMilliseconds) { max($0, $1.value.period.endMilliseconds) }
        }

        /// When it began, as far as is known.
        package var start: Int64 { (otherStart ?? contents.statement.latest).value.period.startMilliseconds }

        /// The statement that its start is read from, if that is not the last one.
        private var otherStart: Assertion<Fact.Period>? {
            let latest = contents.statement.latest.value
            return contents.startStatement
                ?? (latest.isProvisional && latest.isStartInferred ? contents.named.withStart : nil)
        }

        /// True if no statement of it states its start.
        package var isStartInferred: Bool { startStatement?.value.isStartInferred ?? true }

        /// The last statement of it, with its start, and with the terms that its payment shows: a store may not state the
        /// price of a period.
        package var fact: Fact.Period {
            var fact = contents.statement.latest.value
            if otherStart != nil {
                let start = min(start, fact.period.endMilliseconds)
                fact.period = ServicePeriod(start: Date(millisecondsSince1970: start), end: fact.period.end)
            }
            fact.phase = phase
            if let paid = contents.paidPhase, fact.phase == .regular { fact.phase = paid }
            return fact
        }
        package var by: Citation { contents.statement.latest.by }
        /// When the period itself was first stated: earlier statements about the lineage may be out of date.
        package var firstStated: Int64? { contents.firstStated }
        /// The end that its first statement has, or the latest time there is.
        private var firstEnd: Int64 { contents.firstEnd ?? Self.storable(contents.statement.latest.value) }

        private static func storable(_ period: Fact.Period) -> Int64 {
            min(period.period.endMilliseconds, Limits.milliseconds.upperBound)
        }

        /// The end that its charge was for, if it was put off since. One that leaves most of the period is that of an earlier period whose
        /// name this one has. Of two products, each has an end of its own; but some channels leave out the base plan of one.
        var endBeforeDelay: Int64? {
            let (start, end) = (start, contents.statement.latest.value.period.endMilliseconds)
            guard let first = contents.firstEnd, first < end, end < .max, products.keys.allSatisfy(fact.product.mayBe)
            else { return nil }
            return first - start > (end - start) / 4 ? first : nil
        }

        /// The lineages that it was stated for; more than one where lineages are linked.
        package var lineages: Set<SubscriptionID> { contents.lineages }

        /// The products that the period was stated with, each with its first statement: the present one replaced the
        /// others.
        package var products: [ProductID: Int64] {
            contents.products ?? firstStated.map { [fact.product: $0] } ?? [:]
        }

        /// The terms that the period was stated with, and when each was stated first.
        package var phases: [PeriodPhase: Int64] {
            contents.phases ?? Self.phases(of: contents.statement, firstStated: firstStated)
        }

        /// The terms of a period all of whose statements say the same.
        private static func phases(of statement: Register<Fact.Period>, firstStated: Int64?) -> [PeriodPhase: Int64] {
            guard let firstStated, !statement.latest.value.isPhaseInferred else { return [:] }
            return [statement.latest.value.phase: firstStated]
        }

        /// The terms of its last statement, else those that were stated last.
        private var phase: PeriodPhase {
            let latest = contents.statement.latest.value
            guard latest.isPhaseInferred, let phases = contents.phases else { return latest.phase }
            return phases.max { ($0.value, $0.key.rawValue) < ($1.value, $1.key.rawValue) }?.key ?? latest.phase
        }

        /// The reduced price that its payment shows.
        var paidPhase: PeriodPhase? { contents.paidPhase }

        package init(_ assertion: Assertion<Fact.Period>, lineage: SubscriptionID) {
            contents = Contents(
                Register(assertion),
                firstStated: assertion.value.isProvisional ? nil : assertion.by.milliseconds,
                lineages: [lineage],
                paidPhase: assertion.paidPhase
            )
        }

        /// The same period, of another of the products that run together.
        func standing(for product: ProductID, item: ProductID?) -> PeriodEntry {
            var assertion = statement.latest
            assertion.value.product = product
            assertion.value.item = item
            (assertion.value.phase, assertion.value.isPhaseInferred) = (phase, false)
            var entry = self
            entry.contents = Contents(
                Register(assertion),
                startStatement: contents.startStatement,
                named: contents.named,
                firstStated: firstStated,
                firstEnd: contents.firstEnd,
                lineages: lineages,
                paidPhase: contents.paidPhase
            )
            return entry
        }

        /// The same statements, with what an earlier entry of the period, or one at the same time, says besides: its terms, if these state
        /// none, and its first end. A channel may name the first order of a purchase, and leave it out of what it tells later.
        func completed(by other: PeriodEntry) -> PeriodEntry {
            let names = Set([self, other].compactMap(\.fact.transaction)).filter { !$0.isEmpty }
            let isOneOrder = names.count < 2 && fact.product.mayBe(other.fact.product)
            let firstEnd =
                isOneOrder ? Self.firstEnd([self, other], before: statement.latest.value) : contents.firstEnd
            let hasTerms = !statement.latest.value.isPhaseInferred || other.phases.isEmpty
            guard !hasTerms || firstEnd != contents.firstEnd else { return self }
            var entry = self
            entry.contents = Contents(
                statement,
                startStatement: contents.startStatement,
                named: contents.named,
                firstStated: firstStated,
                firstEnd: firstEnd,
                lineages: lineages,
                products: contents.products,
                phases: hasTerms ? contents.phases : phases.merging(other.phases, uniquingKeysWith: min),
                paidPhase: contents.paidPhase
            )
            return entry
        }

        /// The end by the first statement in some entries of one period, if that is not the last one's.
        private static func firstEnd(_ entries: [PeriodEntry], before last: Fact.Period) -> Int64? {
            entries.compactMap { entry in entry.firstStated.map { (at: $0, end: entry.firstEnd) } }
                .min { ($0.at, $0.end) < ($1.at, $1.end) }
                .flatMap { $0.end == storable(last) ? nil : $0.end }
        }

        /// The same period as a statement about something else names it, which counts here as one of the period itself.
        func counting(_ named: Assertion<Fact.Period>, until end: Int64) -> PeriodEntry {
            var assertion = Assertion(firstStated == nil ? named.value : statement.latest.value, by: named.by)
            (assertion.value.isProvisional, assertion.value.isRunning) = (false, false)
            assertion.value.period = ServicePeriod(
                start: assertion.value.period.start,
                end: end == .max ? nil : Date(millisecondsSince1970: end)
            )
            // Some senders keep the name for a renewal, which begins no earlier than the end.
            let isDelay = named.value.isStartInferred || named.value.period.startMilliseconds < firstEnd
            var entry = self
            entry.contents = Contents(
                Register(assertion),
                startStatement: contents.startStatement,
                firstStated: firstStated ?? named.by.milliseconds,
                firstEnd: firstStated != nil && isDelay ? firstEnd : nil,
                lineages: lineages,
                products: contents.products,
                phases: contents.phases,
                paidPhase: contents.paidPhase
            )
            return entry
        }

        /// The same period as one that is only mentioned, and pays for nothing.
        var mentioned: PeriodEntry {
            var assertion = statement.latest
            (assertion.value.isProvisional, assertion.value.isRunning) = (true, false)
            var entry = self
            entry.contents = Contents(Register(assertion), firstStated: nil, lineages: lineages, paidPhase: nil)
            return entry
        }

        package mutating func merge(_ other: PeriodEntry) {
            if contents === other.contents { return }
            var statement = contents.statement
            statement.merge(other.statement)
            // Kept only where the last statement does not say it.
            var startStatement: Assertion<Fact.Period>?
            if statement.latest.value.isStartInferred {
                let known = [self.startStatement, other.startStatement].compactMap(\.self).max {
                    $0.yieldsStart(to: $1)
                }
                startStatement = known == statement.latest ? nil : known
            }
            var named = self.named
            named.merge(other.named)
            named = named.without(statement.latest)
            let firstStated = [self, other].compactMap(\.firstStated).min()
            let firstEnd = Self.firstEnd([self, other], before: statement.latest.value)
            let lineages = contents.lineages.union(other.lineages)
            let products = products.merging(other.products, uniquingKeysWith: min)
            // Most periods are of one product, which the first statement says all of.
            let several = products.count > 1 ? products : nil
            var severalPhases = contents.phases
            if severalPhases != nil || other.contents.phases != nil
                || !contents.statement.latest.value.hasSamePhase(as: other.contents.statement.latest.value)
            {
                let phases = phases.merging(other.phases, uniquingKeysWith: min)
                severalPhases = phases == Self.phases(of: statement, firstStated: firstStated) ? nil : phases
            }
            // A price of the beginning before one of later on, for one rule.
            let paidPhase = [contents.paidPhase, other.contents.paidPhase].compactMap(\.self)
                .min { $0.rawValue < $1.rawValue }
            if statement == contents.statement, startStatement == contents.startStatement, named == contents.named,
                firstStated == contents.firstStated, firstEnd == contents.firstEnd, lineages == contents.lineages,
                several == contents.products, severalPhases == contents.phases, paidPhase == contents.paidPhase
            {
                return
            }
            contents = Contents(
                statement,
                startStatement: startStatement,
                named: named,
                firstStated: firstStated,
                firstEnd: firstEnd,
                lineages: lineages,
                products: several,
                phases: severalPhases,
                paidPhase: paidPhase
            )
        }

        private struct StatedProduct: Codable {
            var product: ProductID
            @EventTime var firstStatedAt: Date

            private enum CodingKeys: String, CodingKey {
                case product
                case firstStatedAt = "first_stated_at"
            }
        }

        private struct StatedPhase: Codable {
            var phase: PeriodPhase
            @EventTime var firstStatedAt: Date

            private enum CodingKeys: String, CodingKey {
                case phase
                case firstStatedAt = "first_stated_at"
            }
        }

        private enum CodingKeys: String, CodingKey {
            case statement, named, lineages, products, phases
            case namedEnd = "named_end"
            case startStatement = "start_statement"
            case firstStatedAt = "first_stated_at"
            case firstEnd = "first_end"
            case paidPhase = "paid_phase"
        }

        package init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            var named = Mentions()
            for key in [CodingKeys.named, .namedEnd] {
                if let mention = try container.decodeIfPresent(Assertion<Fact.Period>.self, forKey: key) {
                    named.insert(mention)
                }
            }
            let products = try container.decodeIfPresent([StatedProduct].self, forKey: .products) ?? []
            let phases = try container.decodeIfPresent([StatedPhase].self, forKey: .phases) ?? []
            contents = Contents(
                try container.decode(Register<Fact.Period>.self, forKey: .statement),
                startStatement: try container.decodeIfPresent(Assertion<Fact.Period>.self, forKey: .startStatement),
                named: named,
                firstStated: try container.decodeIfPresent(EventTime.self, forKey: .firstStatedAt)?.milliseconds,
                firstEnd: try container.decodeIfPresent(EventTime.self, forKey: .firstEnd)?.milliseconds,
                lineages: Set(try container.decode([SubscriptionID].self, forKey: .lineages)),
                products: products.count < 2
                    ? nil
                    : Dictionary(
                        products.map { ($0.product, $0.firstStatedAt.millisecondsSince1970) },
                        uniquingKeysWith: min
                    ),
                phases: phases.isEmpty
                    ? nil
                    : Dictionary(
                        phases.map { ($0.phase, $0.firstStatedAt.millisecondsSince1970) },
                        uniquingKeysWith: min
                    ),
                paidPhase: try container.decodeIfPresent(PeriodPhase.self, forKey: .paidPhase)
            )
        }

        package func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(statement, forKey: .statement)
            try container.encodeIfPresent(contents.startStatement, forKey: .startStatement)
            try container.encodeIfPresent(contents.named.withStart, forKey: .named)
            try container.encodeIfPresent(contents.named.withEndAlone, forKey: .namedEnd)
            let firstStatedAt = firstStated.map { EventTime(wrappedValue: Date(millisecondsSince1970: $0)) }
            try container.encodeIfPresent(firstStatedAt, forKey: .firstStatedAt)
            let firstEnd = contents.firstEnd.map { EventTime(wrappedValue: Date(millisecondsSince1970: $0)) }
            try container.encodeIfPresent(firstEnd, forKey: .firstEnd)
            try container.encode(lineages.inOrder, forKey: .lineages)
            if let products = contents.products {
                let stated = products.sorted { $0.key < $1.key }
                    .map { StatedProduct(product: $0.key, firstStatedAt: Date(millisecondsSince1970: $0.value)) }
                try container.encode(stated, forKey: .products)
            }
            if let phases = contents.phases {
                let stated = phases.sorted { $0.key.rawValue < $1.key.rawValue }
                    .map { StatedPhase(phase: $0.key, firstStatedAt: Date(millisecondsSince1970: $0.value)) }
                try container.encode(stated, forKey: .phases)
            }
            try container.encodeIfPresent(contents.paidPhase, forKey: .paidPhase)
        }

        package static func == (lhs: PeriodEntry, rhs: PeriodEntry) -> Bool {
            lhs.contents === rhs.contents
                || (lhs.firstStated == rhs.firstStated && lhs.statement == rhs.statement
                    && lhs.contents.firstEnd == rhs.contents.firstEnd
                    && lhs.contents.startStatement == rhs.contents.startStatement
                    && lhs.contents.named == rhs.contents.named && lhs.lineages == rhs.lineages
                    && lhs.contents.products == rhs.contents.products
                    && lhs.contents.phases == rhs.contents.phases
                    && lhs.contents.paidPhase == rhs.contents.paidPhase)
        }

        package func hash(into hasher: inout Hasher) {
            hasher.combine(contents.firstStated)
            hasher.combine(contents.statement.latest)
        }
    }
}

extension Fact.Period {
    fileprivate func hasSamePhase(as other: Self) -> Bool {
        phase == other.phase && isPhaseInferred == other.isPhaseInferred
    }
}

extension Assertion<Fact.Period> {
    /// The reduced price that a payment for the period shows, where payments are stated by themselves.
    fileprivate var paidPhase: PeriodPhase? {
        guard value.isProvisional, by.provider.rules.paysByInvoice else { return nil }
        return value.phase == .introductory || value.phase == .promotional ? value.phase : nil
    }
}
