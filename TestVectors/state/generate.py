#!/usr/bin/env python3
"""Writes stories.jsonl: canonical events made by hand, with what must be so after them.

The identities are derived here a second time, from their description alone, so that a change of the derivation in
the library cannot pass unnoticed. Run it in this directory; it takes no arguments and its output never varies.
"""
import hashlib, json
from datetime import datetime, timezone

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
T0 = int(datetime(2026, 3, 1, 9, tzinfo=timezone.utc).timestamp() * 1000)
MONTH = 31 * DAY
T1, T2, T3 = T0 + MONTH, T0 + 2 * MONTH, T0 + 3 * MONTH
EARLY, LATE = 0, 253_402_300_799_999  # 1970 and 9999


def time(ms):
    seconds, rest = divmod(ms, 1000)
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S") + f".{rest:03d}Z"


def digest(*components):
    octets = b"lifecycle-event/1"
    for component in components:
        octets += f"{len(component.encode())}:".encode() + component.encode()
    return hashlib.sha256(octets).hexdigest()[:40]


class Lineage:
    """One subscription as one provider tells of it; each method is one notification."""

    def __init__(self, id="O1", store="app_store", provider="revenuecat", account="u1", environment="production"):
        self.store, self.environment, self.id = store, environment, id
        self.provider, self.account, self.count = provider, account, 0

    @property
    def name(self):
        return f"{self.store}/{self.environment}/{self.id}"

    def identity(self, kind, *discriminators, transaction=None):
        scope = "" if self.store == "play_store" and (transaction or "").startswith("GPA.") else self.id
        return digest(self.store, self.environment, scope, kind, *discriminators)

    def of_item(self, kind, transaction, product, *discriminators, start=None):
        """Google Play sells several products in one order: each has its own periods, and no base plan in its name.

        The order without a number may stand for any period, so that the start belongs to the name of an end."""
        name = transaction
        if self.store == "play_store" and name.startswith("GPA."):
            if start is not None and ".." not in name:
                name = f"{name}/{start // 1000}"
            if product:
                name = f"{name}/{product.split(':')[0]}"
        return self.identity(kind, name, *discriminators, transaction=transaction)

    def event(self, at, type, kind, detail, facts, identity=None, transaction=None, product=None, period=None,
              effective=None, account=True, subtype=None, note=None):
        self.count += 1
        notification = note or f"{self.id}-{self.count}-{type}"
        owner = None
        if account and self.account:
            owner = self.account if isinstance(self.account, dict) else {"id": self.account, "source": "app_user_id"}
            facts = facts + [{"fact": "owner", "detail": owner}]
        event = {
            "id": identity or self.identity("notified", self.provider, notification, "0"),
            "kind": kind,
            "detail": detail,
            "provider": self.provider,
            "store": self.store,
            "environment": self.environment,
            "subscription": self.name,
            "transaction": transaction,
            "account": owner,
            "product": {"id": product} if product else None,
            "period": period,
            "occurred_at": time(at),
            "effective_at": time(effective if effective is not None else at),
            "asserted_at": time(at),
            "received_at": time(at),
            "facts": facts or None,
            "origin": {
                "type": type,
                "subtype": subtype,
                "notification_id": notification,
                "channel": "webhook",
                "evidence": {"method": "unchecked"},
                "digest": hashlib.sha256(notification.encode()).hexdigest(),
                "mapper": "vectors/1",
            },
        }
        return {key: value for key, value in prune(event).items() if not (key == "detail" and value is None)}

    # Periods

    def begin(self, at, start, end, transaction, product="pro", phase="regular", kind="started", how="new",
              type=None, renews=True, price=None, shared=False, extra=(), **rest):
        period = {"start": time(start), "end": None if end is None else time(end)}
        facts = [fact_period(period, product, phase, transaction, shared=shared)]
        if renews is not None:
            facts.append(fact_intent(renews))
        facts += [{"fact": "billing", "detail": {"status": "settled", "period_start": time(start)}}]
        if price:
            charged = {"amount": price, "currency": "USD", "role": "charged"}
            facts.append({"fact": "charge", "detail": {"transaction": transaction, "price": charged, "at": time(at)}})
        detail = {"phase": phase, "period": period}
        detail["origin" if kind == "started" else "cause"] = how
        return self.event(at, type or ("INITIAL_PURCHASE" if kind == "started" else "RENEWAL"), kind, detail,
                          facts + list(extra), self.of_item("period_began", transaction, product),
                          transaction, product, period, effective=max(start, at) if kind == "renewed" else start,
                          **rest)

    def renew(self, at, start, end, transaction, product="pro", how="unknown", **rest):
        return self.begin(at, start, end, transaction, product, kind="renewed", how=how, **rest)

    def inferred(self, start, end, transaction, product):
        period = {"start": time(start), "end": None if end is None else time(end)}
        return fact_period(period, product, "regular", transaction, provisional=True), period

    def cancel(self, at, start, end, transaction, reason="customer", product="pro", grace=None):
        facts, period = [], None
        inferred, period = self.inferred(start, end, transaction, product)
        facts = [inferred, fact_intent(False, reason)]
        if reason == "billing":
            facts.append(fact_billing(at, start, grace))
        return self.event(at, "CANCELLATION", "auto_renew_disabled", {"reason": reason}, facts,
                          transaction=transaction, product=product, period=period)

    def uncancel(self, at, start, end, transaction, product="pro"):
        inferred, period = self.inferred(start, end, transaction, product)
        return self.event(at, "UNCANCELLATION", "auto_renew_enabled", None, [inferred, fact_intent(True)],
                          transaction=transaction, product=product, period=period)

    def expire(self, at, start, end, transaction, reason="customer", product="pro", resumes=None):
        inferred, period = self.inferred(start, end, transaction, product)
        over = min(end, at)
        facts = [inferred, {"fact": "period_ended", "detail": {
            "start": time(start), "transaction": transaction, "at": time(over), "reason": reason}}]
        kind, detail = ("paused", {"resumes_at": time(resumes) if resumes else None}) \
            if reason == "paused" else ("expired", {"reason": reason})
        if reason == "paused":
            facts.append({"fact": "pause", "detail": prune({"status": "paused", "resumes_at": time(resumes)})})
        discriminator = reason if reason in ("paused", "refunded") else ""
        return self.event(at, "EXPIRATION", kind, prune(detail), facts,
                          self.of_item("ended", transaction, product, discriminator, start=start),
                          transaction, product, period, effective=over)

    def billing_issue(self, at, start, end, transaction, grace=None, product="pro"):
        inferred, period = self.inferred(start, end, transaction, product)
        access = {"access": "grace", "grace_until": time(grace)} if grace else {"access": "suspended"}
        return self.event(at, "BILLING_ISSUE", "billing_issue", dict(access, action_required=False),
                          [inferred, fact_billing(at, start, grace)],
                          transaction=transaction, product=product, period=period)

    def pause(self, at, start, end, transaction, resumes, product="pro"):
        inferred, period = self.inferred(start, end, transaction, product)
        facts = [inferred, {"fact": "pause", "detail": {"status": "scheduled", "resumes_at": time(resumes)}}]
        return self.event(at, "SUBSCRIPTION_PAUSED", "pause_scheduled", {"resumes_at": time(resumes)}, facts,
                          transaction=transaction, product=product, period=period)

    def extend(self, at, start, end, transaction, product="pro", reason="unknown"):
        period = {"start": time(start), "end": time(end)}
        return self.event(at, "SUBSCRIPTION_EXTENDED", "extended", {"to": time(end), "reason": reason},
                          [fact_period(period, product, "regular", transaction)],
                          self.of_item("extended", transaction, product, str(end // 1000)),
                          transaction, product, period)

    def change(self, at, start, end, transaction, product, to):
        inferred, period = self.inferred(start, end, transaction, product)
        if to == product:
            return self.event(at, "PRODUCT_CHANGE", "product_change_reverted",
                              {"to": to, "direction": "unknown", "timing": "at_period_end", "basis": "inferred"},
                              [inferred, {"fact": "next_product", "detail": {"product": to}}],
                              self.identity("change_reverted", to, str(end // 1000)), transaction, product, period)
        detail = {"from": product, "to": to, "direction": "unknown", "timing": "at_period_end", "basis": "inferred"}
        return self.event(at, "PRODUCT_CHANGE", "product_change_scheduled", detail,
                          [inferred, {"fact": "next_product", "detail": {"product": to}}],
                          self.identity("change_scheduled", product, to, str(end // 1000)),
                          transaction, product, period)

    # Money

    def refund(self, at, start, over, transaction, product="pro"):
        facts = [{"fact": "refund", "detail": prune({
            "transaction": transaction, "scope": {"type": "full"}, "at": time(over),
            "period_start": None if start is None else time(start), "ends_access": True})}]
        return self.event(at, "CANCELLATION", "refunded",
                          {"transaction": transaction, "scope": {"type": "full"}, "reason": "unknown"}, facts,
                          self.identity("refunded", transaction, transaction=transaction),
                          transaction, product, effective=over)

    def unrefund(self, at, start, end, transaction, product="pro"):
        period = {"start": time(start), "end": time(end)}
        facts = [{"fact": "refund", "detail": {
            "transaction": transaction, "at": time(at), "period_start": time(start), "ends_access": False}},
            fact_period(period, product, "regular", transaction)]
        return self.event(at, "REFUND_REVERSED", "refund_reversed", {"transaction": transaction}, facts,
                          self.identity("refund_reversed", transaction, transaction=transaction),
                          transaction, product, period)

    def buy(self, at, transaction, product="lifetime", type="non_consumable", expires=None):
        purchase = prune({"type": type, "quantity": 1, "expires": None if expires is None else time(expires),
                          "family_shared": False})
        facts = [{"fact": "purchase", "detail": {
            "transaction": transaction, "product": product, "purchase": purchase, "at": time(at)}}]
        return self.event(at, "NON_RENEWING_PURCHASE", "one_time_purchased", purchase, facts,
                          self.of_item("purchased", transaction, product), transaction, product)

    def notice(self, at, type, kind="other"):
        return self.event(at, type, "notice", {"kind": kind, "facts": {}}, [], account=False)

    def link(self, at, other):
        return self.event(at, "LINK", "notice", {"kind": "migration", "facts": {}},
                          [{"fact": "link", "detail": other.name}], account=False)


def transfer(at, source, target, environment="production", note="transfer"):
    identifiers = [[{"id": one, "source": "app_user_id"} for one in ones] for ones in (source, target)]
    return prune({
        "id": digest("", "revenuecat", environment, f"{note}-{at}", "0"), "kind": "transferred",
        "detail": {"from": identifiers[0], "to": identifiers[1]}, "provider": "revenuecat", "store": "app_store",
        "environment": environment, "occurred_at": time(at), "effective_at": time(at), "asserted_at": time(at),
        "received_at": time(at),
        "origin": {"type": "TRANSFER", "notification_id": f"{note}-{at}", "channel": "webhook",
                   "evidence": {"method": "unchecked"}, "digest": hashlib.sha256(f"{note}{at}".encode()).hexdigest(),
                   "mapper": "vectors/1"}})


def prune(value):
    if isinstance(value, dict):
        return {key: prune(one) for key, one in value.items() if one is not None}
    return [prune(one) for one in value] if isinstance(value, list) else value


def fact_period(period, product, phase, transaction, provisional=False, shared=False):
    detail = {"period": period, "product": product, "phase": phase, "transaction": transaction,
              "ownership": "family_shared" if shared else "purchased"}
    if provisional:
        detail["provisional"] = True
    return prune({"fact": "period", "detail": detail})


def fact_intent(renews, reason=None):
    return prune({"fact": "renewal_intent", "detail": {"terms": {"will_renew": renews}, "reason": reason}})


def fact_billing(at, start, grace):
    status = "grace" if grace and grace > at else "suspended"
    return prune({"fact": "billing", "detail": {
        "status": status, "period_start": time(start), "grace_until": time(grace) if grace else None}})


def so(at, status, access=None, lineage="app_store/production/O1", **more):
    """What must be so at a moment; `after` names how many of the events have arrived, in the given order."""
    for name in ("until", "since", "resumes_at", "period_end", "next_start"):
        if more.get(name) is not None:
            more[name] = time(more[name])
    if access is None:
        access = status in ("active", "trial", "grace")
    return dict(at=time(at), lineage=lineage, status=status, granted=access, **more)


def holds(at, account, granted, environment="production", **more):
    return dict(at=time(at), account=account, environment=environment, granted=granted, **more)


stories = []


def story(id, note, events, expect, orders="all", **more):
    stories.append(dict(id=id, note=note, orders=orders, events=events, expect=expect, **more))


# Flows ---------------------------------------------------------------------------------------------------------------

o = Lineage()
story("purchase-and-renewal", "A purchase, then the renewal a few seconds after the period ran out.",
      [o.begin(T0, T0, T1, "t1"), o.renew(T1 + 5000, T1, T2, "t2", how="scheduled")],
      [so(T0 + DAY, "active", until=T1, will_renew=True, after=1), so(T1 + DAY, "active", until=T2, will_renew=True),
       so(T2, "renewal_due"), so(T0 - 1, "not_begun")],
      kinds=["started/new", "renewed/scheduled"])

a, b = Lineage("O1"), Lineage("O2")
story("two-products", "Two subscriptions of one account stand for themselves.",
      [a.begin(T0, T0, T1, "t1", "pro"), b.begin(T0, T0, T1, "t2", "news")],
      [so(T0 + DAY, "active"), so(T0 + DAY, "active", lineage="app_store/production/O2"),
       holds(T0 + DAY, "u1", True, grantors=2)], kinds=["started/new", "started/new"])

o = Lineage()
cancel = [o.begin(T0, T0, T1, "t1"), o.cancel(T0 + 10 * DAY, T0, T1, "t1"), o.expire(T1 + 40_000, T0, T1, "t1")]
story("cancel", "Turning renewal off keeps access; the end of the period takes it.", cancel,
      [so(T0 + 11 * DAY, "active", until=T1, will_renew=False, after=2), so(T1 + 1, "expired", after=2),
       so(T1 + DAY, "expired", reason="customer", since=T1, will_renew=False)],
      kinds=["started/new", "auto_renew_disabled", "expired/customer"])

o = Lineage()
story("uncancel", "Renewal turned off and on again: access is never interrupted.",
      [o.begin(T0, T0, T1, "t1"), o.cancel(T0 + 10 * DAY, T0, T1, "t1"), o.uncancel(T0 + 11 * DAY, T0, T1, "t1")],
      [so(T0 + 12 * DAY, "active", until=T1, will_renew=True)],
      kinds=["started/new", "auto_renew_disabled", "auto_renew_enabled"])

R = T1 + 20 * DAY
o = Lineage()
story("resubscribe-same-lineage", "Bought again in the same group: the store continues the lineage.",
      [o.begin(T0, T0, T1, "t1"), o.cancel(T0 + 10 * DAY, T0, T1, "t1"), o.expire(T1 + 40_000, T0, T1, "t1"),
       o.renew(R, R, R + MONTH, "t2")],
      [so(R - 1, "expired", reason="customer", after=3), so(R + DAY, "active", until=R + MONTH, will_renew=True)],
      kinds=["started/new", "auto_renew_disabled", "expired/customer", "started/resubscribed"])

a, b = Lineage("O1"), Lineage("O2")
story("resubscribe-other-lineage", "Bought again under a new lineage: the old one stays ended.",
      [a.begin(T0, T0, T1, "t1"), a.cancel(T0 + 10 * DAY, T0, T1, "t1"), a.expire(T1 + 40_000, T0, T1, "t1"),
       b.begin(R, R, R + MONTH, "t2")],
      [so(R + DAY, "expired"), so(R + DAY, "active", lineage="app_store/production/O2"),
       holds(R + DAY, "u1", True, grantors=1)],
      kinds=["started/new", "auto_renew_disabled", "expired/customer", "started/new"])

P = "play_store/production/GPA.1"
G = T1 + 16 * DAY
o = Lineage("GPA.1", "play_store")
story("resubscribe-in-grace", "Play: the customer pays within grace, and it is a recovery.",
      [o.begin(T0, T0, T1, "GPA.1"), o.billing_issue(T1 + 32_000, T0, G, "GPA.1", grace=G),
       o.renew(T1 + 3 * DAY, T1, T2, "GPA.1..0")],
      [so(T1 + 4 * DAY, "active", lineage=P, until=T2)],
      kinds=["started/new", "billing_issue/grace", "renewed/recovery_from_grace"])

o = Lineage("GPA.1", "play_store")
resume = T1 + 30 * DAY
story("pause", "Access to the end of the period, a pause, and a resumption with a new period.",
      [o.begin(T0, T0, T1, "GPA.1"), o.pause(T0 + 15 * DAY, T0, T1, "GPA.1", resume),
       o.expire(T1 + 9000, T0, T1, "GPA.1", "paused", resumes=resume),
       o.renew(resume, resume, resume + MONTH, "GPA.1..0")],
      [so(T0 + 16 * DAY, "active", lineage=P, until=T1, resumes_at=resume, after=2),
       so(T1 + DAY, "paused", lineage=P, resumes_at=resume, will_renew=True, after=3),
       so(resume + DAY, "active", lineage=P, until=resume + MONTH, resumes_at=None, will_renew=True)],
      kinds=["started/new", "pause_scheduled", "paused", "renewed/resumption"])

t = T1 + 32_000
o = Lineage()
no_grace = [o.begin(T0, T0, T1, "t1"), o.billing_issue(t, T0, T1, "t1"),
            o.cancel(t, T0, T1, "t1", "billing"), o.expire(t, T0, T1, "t1", "billing")]
story("billing-issue-without-grace", "A failed charge without grace: three notifications of one moment.", no_grace,
      [so(T1 + DAY, "expired", reason="billing", since=T1, will_renew=False)],
      kinds=["started/new", "billing_issue/suspended", "auto_renew_disabled", "expired/billing"])
story("billing-issue-without-grace-then-recovered", "The store's later attempt succeeds.",
      no_grace + [o.renew(T1 + 12 * DAY, T1 + 12 * DAY, T1 + 43 * DAY, "t2")],
      [so(T1 + 13 * DAY, "active", until=T1 + 43 * DAY, will_renew=True)],
      kinds=["started/new", "billing_issue/suspended", "auto_renew_disabled", "expired/billing",
             "renewed/recovery_from_retry"])

o = Lineage()
grace = [o.begin(T0, T0, T1, "t1"), o.billing_issue(t, T0, G, "t1", grace=G),
         o.cancel(t, T0, G, "t1", "billing", grace=G)]
story("grace-runs-out", "Access through grace, then none.", grace + [o.expire(G + 1000, T0, G, "t1", "billing")],
      [so(T1 + DAY, "grace", until=G, period_end=T1, will_renew=False, after=3), so(G, "expired", after=3, reason="billing", access=False),
       so(G + DAY, "expired", reason="billing", since=G)],
      kinds=["started/new", "billing_issue/grace", "auto_renew_disabled", "expired/billing"])
story("grace-without-expiry", "The end of grace is never told: it ends by itself.", grace,
      [so(G - 1, "grace", until=G), so(G, "expired", reason="billing", since=G)])
story("grace-recovered", "Paid within grace; all traces of the failed charge are gone.",
      grace + [o.renew(T1 + 3 * DAY, T1, T2, "t2")],
      [so(T1 + 4 * DAY, "active", until=T2, will_renew=True, period_end=T2)],
      kinds=["started/new", "billing_issue/grace", "auto_renew_disabled", "renewed/recovery_from_grace"])
o = Lineage()
story("grace-told-by-cancellation-alone", "Only the cancellation arrives, and it reveals the grace.",
      [o.begin(T0, T0, T1, "t1"), o.cancel(t, T0, G, "t1", "billing", grace=G)],
      [so(T1 + DAY, "grace", until=G, period_end=T1), so(G, "expired", reason="billing")])

X = T1 + 10 * DAY
o = Lineage()
story("extended", "The developer extends the period; the renewal follows at its new end.",
      [o.begin(T0, T0, T1, "t1"), o.extend(T0 + 20 * DAY, T0, X, "t1"), o.renew(X, X, X + MONTH, "t2")],
      [so(T1 + DAY, "active", until=X, after=2), so(X + DAY, "active", until=X + MONTH)],
      kinds=["started/new", "extended", "renewed/unknown"])
D = T1 + 20 * HOUR
o = Lineage("GPA.1", "play_store")
story("deferred-charge", "Play moves the charge by less than a day: no new period.",
      [o.begin(T0, T0, T1, "GPA.1"), o.extend(T1 - HOUR, T0, D, "GPA.1"), o.renew(D, D, D + MONTH, "GPA.1..0")],
      [so(T1 + HOUR, "active", lineage=P, until=D, after=2), so(D + DAY, "active", lineage=P, until=D + MONTH)],
      kinds=["started/new", "extended", "renewed/unknown"])
o = Lineage("GPA.1", "play_store")
story("deferred-charge-fails", "The deferred charge fails without grace.",
      [o.begin(T0, T0, T1, "GPA.1"), o.extend(T1 - HOUR, T0, D, "GPA.1"),
       o.billing_issue(D, T0, D, "GPA.1"), o.cancel(D, T0, D, "GPA.1", "billing")],
      [so(D - 1, "active", lineage=P, until=D), so(D, "billing_retry", lineage=P, access=False, reason="billing")])
o = Lineage()
story("extended-then-ended-at-the-old-date", "An end that still names the date before the extension.",
      [o.begin(T0, T0, T1, "t1"), o.extend(T0 + 20 * DAY, T0, X, "t1"), o.expire(T1 + 40_000, T0, T1, "t1")],
      [so(T1 + DAY, "expired", since=T1, reason="customer")], contradictions=["ended_before_paid_end"])

W = T0 + 7 * DAY
o = Lineage()
story("trial-converts", "The store charges before the trial is over; the paid period begins after it.",
      [o.begin(T0, T0, W, "t1", phase="trial"), o.renew(W - 28 * MINUTE, W, W + MONTH, "t2", how="trial_conversion")],
      [so(W - MINUTE, "trial", until=W + MONTH, next_start=W), so(W, "active", until=W + MONTH)],
      kinds=["started/new", "renewed/trial_conversion"])
o = Lineage()
trial = [o.begin(T0, T0, W, "t1", phase="trial"), o.cancel(T0 + DAY, T0, W, "t1")]
story("trial-canceled", "A trial that is given up lasts to its end.", trial + [o.expire(W, T0, W, "t1")],
      [so(W - 1, "trial", will_renew=False, until=W, after=2), so(W, "expired", reason="customer")],
      kinds=["started/new", "auto_renew_disabled", "expired/customer"])
o = Lineage()
story("trial-canceled-late-yet-renewed", "Given up too late: the store renews once more.",
      [o.begin(T0, T0, W, "t1", phase="trial"), o.cancel(W - 3 * HOUR, T0, W, "t1"),
       o.renew(W, W, W + MONTH, "t2", how="trial_conversion")],
      [so(W + DAY, "active", until=W + MONTH, will_renew=True)],
      kinds=["started/new", "auto_renew_disabled", "renewed/trial_conversion"])
o = Lineage()
story("trial-expired-bought-later", "Bought for money long after the trial.",
      [o.begin(T0, T0, W, "t1", phase="trial"), o.cancel(T0 + DAY, T0, W, "t1"), o.expire(W, T0, W, "t1"),
       o.renew(T0 + 40 * DAY, T0 + 40 * DAY, T0 + 71 * DAY, "t2", how="trial_conversion")],
      [so(T0 + 39 * DAY, "expired"), so(T0 + 41 * DAY, "active", until=T0 + 71 * DAY, will_renew=True)])

U = T0 + 15 * DAY
o = Lineage()
story("immediate-change", "App Store: the change is announced and the new product's period begins at once.",
      [o.begin(T0, T0, T1, "t1", "basic"), o.change(U, T0, T1, "t1", "basic", "pro"),
       o.renew(U, U, U + MONTH, "t2", "pro")],
      [so(U - 1, "active", product="basic"), so(U + DAY, "active", product="pro", until=U + MONTH, pending_product=None)],
      kinds=["started/new", "product_change_scheduled", "product_changed/immediate"])
a, b = Lineage("GPA.1", "play_store"), Lineage("GPA.2", "play_store")
story("immediate-change-new-lineage", "Play as a relay tells it: another base plan begins under another name, and is the same purchase.",
      [a.begin(T0, T0, T1, "GPA.1", "s:basic"), b.begin(U, U, U + MONTH, "GPA.2", "s:pro"),
       a.expire(U + 5000, T0, T1, "GPA.1", "unknown", "s:basic")],
      [so(U + DAY, "active", lineage=P, product="s:pro"),
       so(U + DAY, "active", lineage="play_store/production/GPA.2", product="s:pro"),
       holds(U - 1, "u1", True), holds(U, "u1", True), holds(U + 5000, "u1", True), holds(U + DAY, "u1", True)],
      kinds=["started/new", "product_changed/immediate", "expired/replaced"])
S = "stripe/production/sub_1"
o = Lineage("sub_1", "stripe")
story("immediate-change-same-period", "Stripe bills the running period anew for another product.",
      [o.begin(T0, T0, T1, "in_1", "basic"), o.change(U, T0, T1, "in_1", "basic", "pro"),
       o.renew(U + 1000, T0, T1, "in_2", "pro")],
      [so(U + DAY, "active", lineage=S, product="pro", until=T1, pending_product=None)],
      kinds=["started/new", "product_change_scheduled", "product_changed/immediate"])
o = Lineage()
later = [o.begin(T0, T0, T1, "t1", "pro"), o.change(U, T0, T1, "t1", "pro", "basic")]
story("change-at-period-end", "A downgrade waits for the renewal.", later + [o.renew(T1 + 3000, T1, T2, "t2", "basic")],
      [so(U + DAY, "active", product="pro", pending_product="basic", after=2),
       so(T1 + DAY, "active", product="basic", pending_product=None)],
      kinds=["started/new", "product_change_scheduled", "renewed/plan_change"])
story("change-at-period-end-withdrawn", "The downgrade is withdrawn, and the renewal is as usual.",
      later + [o.change(U + DAY, T0, T1, "t1", "pro", "pro"), o.renew(T1 + 3000, T1, T2, "t2", "pro")],
      [so(U + 2 * DAY, "active", product="pro", pending_product=None, after=3),
       so(T1 + DAY, "active", product="pro", pending_product=None)],
      kinds=["started/new", "product_change_scheduled", "product_change_reverted", "renewed/unknown"])

o = Lineage()
first = o.begin(T0, T0, T1, "t1")
story("transfer", "The purchase moves to another account; nothing of it stays behind.",
      [first, transfer(T0 + 9 * DAY, ["u1"], ["u2"])],
      [holds(T0 + DAY, "u1", True, after=1), holds(T0 + 10 * DAY, "u1", False), holds(T0 + 10 * DAY, "u2", True)])
o2 = Lineage(account="u2"); o2.count = 10
story("transfer-then-renewal", "The renewal names the new account.",
      [first, transfer(T0 + 9 * DAY, ["u1"], ["u2"]), o2.renew(T1, T1, T2, "t2")],
      [holds(T1 + DAY, "u1", False), holds(T1 + DAY, "u2", True)], contradictions=[])
story("transfer-there-and-back", "Moved to another account and back.",
      [first, transfer(T0 + 9 * DAY, ["u1"], ["u2"]), transfer(T0 + 12 * DAY, ["u2"], ["u1"])],
      [holds(T0 + 13 * DAY, "u1", True), holds(T0 + 13 * DAY, "u2", False)])
o = Lineage(account="$anonymous:1")
known = Lineage(account={"id": "u1", "source": "app_user_id",
                         "aliases": [{"id": "$anonymous:1", "source": "app_user_id"}]}); known.count = 10
story("anonymous-then-identified", "An alias is no move: the account found under either name has the purchase.",
      [o.begin(T0, T0, T1, "t1"), known.renew(T1, T1, T2, "t2")],
      [holds(T1 + DAY, "u1", True), holds(T1 + DAY, "$anonymous:1", True)], contradictions=[])
other = Lineage(account="u2"); other.count = 10
story("moved-without-a-transfer", "A relay names another account for a later period: the purchase has moved to it.",
      [first, other.renew(T1, T1, T2, "t2")],
      [holds(T0 + DAY, "u1", True), holds(T1 + DAY, "u1", False), holds(T1 + DAY, "u2", True)], contradictions=[])
a, b = Lineage(provider="apple"), Lineage(provider="apple", account="u2"); b.count = 10
story("claimed-by-another-account", "Another account turns up at a store, without a transfer: a conflict, no move.",
      [a.begin(T0, T0, T1, "t1"), b.renew(T1, T1, T2, "t2")],
      [holds(T1 + DAY, "u1", True), holds(T1 + DAY, "u2", False, conflicts=1)], contradictions=["ownership"])

# Rules of the article ------------------------------------------------------------------------------------------------

o = Lineage()
story("early-renewal", "Charged hours ahead: the next period is known and does not begin.",
      [o.begin(T0, T0, T1, "t1"), o.renew(T1 - 8 * HOUR, T1, T2, "t2")],
      [so(T1 - HOUR, "active", until=T2, period_end=T1, next_start=T1), so(T1, "active", until=T2, period_end=T2)],
      kinds=["started/new", "renewed/unknown"], next_check=[None, time(T1)])
a, b = Lineage("sub_1", "stripe"), Lineage("O1")
story("web-and-mobile", "Two stores, one account: access is the union, and the end of one leaves the other.",
      [a.begin(T0, T0, T1, "in_1"), b.begin(U, U, U + MONTH, "t1"), a.expire(T1 + 1000, T0, T1, "in_1")],
      [holds(T0 + DAY, "u1", True), holds(U + DAY, "u1", True, grantors=2), holds(T1 + DAY, "u1", True, grantors=1),
       holds(U + MONTH, "u1", False)])

# Further scenarios ---------------------------------------------------------------------------------------------------

over = T0 + 10 * DAY - 15 * MINUTE
o = Lineage()
refund = [o.begin(T0, T0, T1, "t1"), o.refund(T0 + 10 * DAY, T0, over, "t1"),
          o.expire(T0 + 10 * DAY + 1, T0, over, "t1", "refunded")]
story("refund", "Money back ends the period that it paid for, and says nothing of renewal.", refund,
      [so(T0 + 11 * DAY, "refunded", since=over, reason="refunded", will_renew=True),
       so(over - 1, "active")], kinds=["started/new", "refunded/current", "expired/refunded"])
story("refund-then-renewal", "The renewal after a refund gives access again.",
      refund + [o.renew(T1, T1, T2, "t2")], [so(T1 - 1, "refunded"), so(T1 + DAY, "active", until=T2)])
story("refund-reversed", "The refund is undone: access to the end of the period.",
      refund + [o.unrefund(T0 + 13 * DAY, T0, T1, "t1")],
      [so(T0 + 14 * DAY, "active", until=T1), so(T1, "renewal_due", since=T1)])
o = Lineage()
story("refunded-again", "Refunded, restored, refunded again: access ends, under the first refund's identity.",
      [o.begin(T0, T0, T1, "t1"), o.refund(T0 + 5 * DAY, T0, T0 + 5 * DAY, "t1"),
       o.unrefund(T0 + 8 * DAY, T0, T1, "t1"), o.refund(T0 + 10 * DAY, T0, T0 + 10 * DAY, "t1")],
      [so(T0 + 11 * DAY, "refunded", since=T0 + 10 * DAY)], distinct_ids=3,
      dispositions=["applied", "applied", "applied", "applied"])
story("refund-reversed-late", "Undone after the period was over: nothing comes back.",
      [o.begin(T0, T0, T1, "t1"), o.refund(T0 + 10 * DAY, T0, over, "t1"), o.unrefund(T1 + 13 * DAY, T0, T1, "t1")],
      [so(T1 + 14 * DAY, "renewal_due", since=T1)])
o = Lineage()
story("refund-of-an-earlier-period", "A late refund of a past period takes nothing from the current one.",
      [o.begin(T0, T0, T1, "t1"), o.renew(T1, T1, T2, "t2"), o.refund(T1 + 5 * DAY, T0, T1 + 5 * DAY, "t1")],
      [so(T1 + 6 * DAY, "active", until=T2)], kinds=["started/new", "renewed/unknown", "refunded/past"])
o = Lineage()
story("ended-by-developer-with-refund", "The developer cancels and gives money back.",
      [o.begin(T0, T0, T1, "t1"), o.refund(T0 + 3 * DAY, T0, T0 + 3 * DAY, "t1")],
      [so(T0 + 4 * DAY, "refunded", will_renew=True)])
o = Lineage()
story("canceled-by-developer", "The developer cancels without money back: access stays.",
      [o.begin(T0, T0, T1, "t1"), o.cancel(T0 + 3 * DAY, T0, T1, "t1", "developer")],
      [so(T0 + 4 * DAY, "active", until=T1, will_renew=False)])
o = Lineage()
story("refund-of-a-one-time-purchase", "Owned for good until the money went back.",
      [o.buy(T0, "t1"), o.refund(T0 + DAY, None, T0 + DAY, "t1", "lifetime")],
      [so(T0 + HOUR, "active", until=None, after=1), so(T0 + 2 * DAY, "refunded", product=None)],
      kinds=["one_time_purchased", "refunded/current"])
p, o = Lineage("g1", "promotional"), Lineage()
story("promotional-grant-removed", "A granted period is taken back; the store's subscription is untouched.",
      [p.begin(T0, T0, W, "g1", "pro", "promotional", how="granted", type="NON_RENEWING_PURCHASE", renews=False),
       p.expire(T0 + 2 * DAY, T0, W, "g1", "developer"), o.begin(T0, T0, T1, "t1", "other")],
      [so(T0 + 3 * DAY, "expired", lineage="promotional/production/g1", reason="developer"),
       so(T0 + 3 * DAY, "active"), holds(T0 + 3 * DAY, "u1", True, grantors=1)])
p = Lineage("g1", "promotional")
story("promotional-grant-for-life", "A granted period without an end.",
      [p.begin(T0, T0, None, "g1", "pro", "promotional", how="granted", type="NON_RENEWING_PURCHASE", renews=None)],
      [so(LATE - DAY, "active", lineage="promotional/production/g1", until=None)])
x, y = Lineage("X"), Lineage("Y")
story("temporary-grant-then-purchase", "The store could not be reached; the purchase comes after all.",
      [x.begin(T0, T0, T0 + DAY, "X", how="temporary", type="TEMPORARY_ENTITLEMENT_GRANT", renews=None),
       y.begin(T0 + HOUR, T0, T1, "Y"), x.expire(T0 + HOUR, T0, T0 + DAY, "X", "replaced")],
      [so(T0 + 2 * HOUR, "expired", lineage="app_store/production/X"), holds(T0 + 2 * DAY, "u1", True, grantors=1)])
x = Lineage("X")
story("temporary-grant-rejected", "The store denies the purchase.",
      [x.begin(T0, T0, T0 + DAY, "X", how="temporary", type="TEMPORARY_ENTITLEMENT_GRANT", renews=None),
       x.expire(T0 + HOUR, T0, T0 + DAY, "X", "unknown")],
      [so(T0 + 2 * HOUR, "expired", lineage="app_store/production/X", access=False)])
o = Lineage()
story("early-renewal-then-cancel", "Charged ahead, then renewal turned off: access to the end of the next period.",
      [o.begin(T0, T0, T1, "t1"), o.renew(T1 - 22 * HOUR, T1, T2, "t2"), o.cancel(T1 - 20 * HOUR, T1, T2, "t2")],
      [so(T1 - 19 * HOUR, "active", until=T2, will_renew=False, next_start=T1)])
o = Lineage()
story("stale-cancel", "The cancellation arrives last although it was first.",
      [o.begin(T0, T0, T1, "t1"), o.uncancel(T0 + 11 * DAY, T0, T1, "t1"), o.renew(T1, T1, T2, "t2"),
       o.cancel(T0 + 10 * DAY, T0, T1, "t1")],
      [so(T1 + DAY, "active", will_renew=True)],
      kinds=["started/new", "auto_renew_enabled", "renewed/unknown", "auto_renew_disabled"],
      dispositions=["applied", "applied", "applied", "superseded"])
o = Lineage("GPA.7", "play_store")
story("prepaid-top-up", "Topped up before the end; the end of the first order takes nothing.",
      [o.begin(T0, T0, T0 + 15 * MINUTE, "GPA.7", phase="prepaid", renews=False),
       o.begin(T0 + 2 * MINUTE, T0 + 2 * MINUTE, T0 + 30 * MINUTE, "GPA.8", phase="prepaid", renews=False),
       o.expire(T0 + 2 * MINUTE + 1000, T0, T0 + 15 * MINUTE, "GPA.7", "unknown")],
      [so(T0 + 20 * MINUTE, "active", lineage="play_store/production/GPA.7", until=T0 + 30 * MINUTE, will_renew=False)],
      kinds=["started/new", "renewed/top_up", "expired/replaced"])
a, b = Lineage("GPA.7", "play_store"), Lineage("GPA.8", "play_store")
story("prepaid-top-up-new-lineage", "The same where each order is a lineage of its own.",
      [a.begin(T0, T0, T0 + 15 * MINUTE, "GPA.7", phase="prepaid", renews=False),
       b.begin(T0 + 2 * MINUTE, T0 + 2 * MINUTE, T0 + 30 * MINUTE, "GPA.8", phase="prepaid", renews=False),
       a.expire(T0 + 2 * MINUTE + 1000, T0, T0 + 15 * MINUTE, "GPA.7", "unknown")],
      [holds(T0 + 20 * MINUTE, "u1", True), holds(T0 + 30 * MINUTE, "u1", False)])
o, s = Lineage(), Lineage(environment="sandbox")
story("sandbox-beside-production", "A sandbox renewal changes nothing in production, and grants nothing there.",
      [o.begin(T0, T0, T1, "t1"), s.renew(T1, T1, T2, "s2")],
      [so(T1 + DAY, "renewal_due"), so(T1 + DAY, "active", lineage="app_store/sandbox/O1"),
       holds(T1 + DAY, "u1", False), holds(T1 + DAY, "u1", True, environment="sandbox")])
o = Lineage()
story("notices", "What is only worth knowing changes no state.",
      [o.begin(T0, T0, T1, "t1"), o.notice(T0 + DAY, "EXPERIMENT_ENROLLMENT", "experiment"),
       o.notice(T0 + DAY, "RENEWAL", "paywall"), o.notice(T0 + DAY, "TEST", "test")],
      [so(T0 + 2 * DAY, "active", until=T1)])
l, m = Lineage("L1"), Lineage("O1")
story("lifetime-and-monthly", "The end of the monthly plan leaves what is owned for good.",
      [l.buy(T0, "t9"), m.begin(T0, T0, T1, "t1"), m.expire(T1 + 1000, T0, T1, "t1")],
      [holds(T1 + DAY, "u1", True, grantors=1), so(T1 + DAY, "expired")])
o = Lineage()
story("first-seen-by-renewal", "Nothing is known of what came before.",
      [o.renew(T1, T1, T2, "t2")], [so(T1 + DAY, "active", until=T2), so(T1 - 1, "not_begun")])
story("first-seen-by-cancellation", "A cancellation tells of a period, though not in its own right.",
      [o.cancel(T0 + DAY, T0, T1, "t1")], [so(T0 + 2 * DAY, "active", until=T1, will_renew=False)])
story("first-seen-by-billing-issue", "So does a failed charge; the period itself corrects it, also later.",
      [o.billing_issue(t, T0, G, "t1", grace=G), o.begin(T0, T0, T1, "t1")],
      [so(T1 + DAY, "grace", until=G, period_end=T1)])
o = Lineage()
end = o.expire(T1 + 1000, T0, T1, "t1")
end["facts"] = [one for one in end["facts"] if one["fact"] == "period_ended"]
story("first-seen-by-end", "An end of a period that nothing else is known of.", [end],
      [so(T1 + DAY, "expired", reason="customer", since=T1, access=False)])
g, r = Lineage("token-A", "play_store", "google", account=None), Lineage("GPA.9", "play_store")
grant = g.begin(T0 + 200, T0 + 150, T1, "GPA.9", "s:m")
story("two-names-of-one-purchase", "The store knows a token, the relay an order; a link makes them one.",
      [grant, r.begin(T0 + 5000, T0, T1, "GPA.9", "s:m"), g.link(T0 + 300, r),
       r.expire(T0 + 3 * DAY, T0, T0 + 3 * DAY, "GPA.9", "unknown", "s:m")],
      [so(T0 + 2 * DAY, "active", lineage="play_store/production/GPA.9"),
       so(T0 + 4 * DAY, "expired", lineage="play_store/production/token-A"),
       so(T0 + 4 * DAY, "expired", lineage="play_store/production/GPA.9")],
      distinct_ids=3)
f = Lineage(account="child")
story("family-sharing-revoked", "Shared access ends with the sharing.",
      [f.begin(T0, T0, T1, "t1", how="family_shared", shared=True), f.expire(T0 + 5 * DAY, T0, T1, "t1", "unknown")],
      [holds(T0 + DAY, "child", True, after=1), holds(T0 + 6 * DAY, "child", False)])
o = Lineage()
story("lost-then-resent", "A renewal resent by hand days later, under another notification id.",
      [o.begin(T0, T0, T1, "t1"), o.renew(T1, T1, T2, "t2"), o.renew(T1, T1, T2, "t2", note="resent")],
      [so(T1 + DAY, "active", until=T2)], distinct_ids=2,
      dispositions=["applied", "applied", "duplicate"])
a, b = Lineage(provider="apple", account=None), Lineage()
story("two-channels-refund", "A relay dates a refund otherwise, and tells of it before the store, and of its end after.",
      [a.begin(T0, T0, T1, "t1"), b.refund(T0 + 5 * DAY + HOUR, T0, T0 + 5 * DAY + HOUR, "t1"),
       a.refund(T0 + 5 * DAY, T0, T0 + 5 * DAY - MINUTE, "t1"), a.unrefund(T0 + 8 * DAY, T0, T1, "t1"),
       b.unrefund(T0 + 8 * DAY + HOUR, T0, T1, "t1")],
      [so(T0 + 9 * DAY, "active", until=T1)], distinct_ids=3,
      dispositions=["applied", "applied", "duplicate", "applied", "duplicate"])
a, b = Lineage(provider="apple", account=None), Lineage()
story("two-channels", "The store and a relay tell of the same renewal and refund.",
      [a.begin(T0, T0, T1, "t1"), b.begin(T0 + 900, T0, T1, "t1"), a.renew(T1, T1, T2, "t2"),
       b.renew(T1 + 700, T1, T2, "t2"), a.refund(T1 + DAY, T1, T1 + DAY, "t2"),
       b.refund(T1 + DAY + 5000, T1, T1 + DAY, "t2")],
      [so(T1 + HOUR, "active", until=T1 + DAY), so(T1 + 2 * DAY, "refunded")], distinct_ids=3,
      dispositions=["applied", "duplicate", "applied", "duplicate", "applied", "duplicate"])

o = Lineage()
story("grace-settled-then-refunded", "The grace of a settled charge does not come back when the renewal is refunded.",
      [o.begin(T0, T0, T1, "t1"), o.billing_issue(t, T0, G, "t1", grace=G), o.renew(T1 + 3 * DAY, T1, T2, "t2"),
       o.refund(T1 + 4 * DAY, T1, T1 + 4 * DAY, "t2")],
      [so(T1 + 5 * DAY, "refunded", access=False, since=T1 + 4 * DAY)])
o = Lineage()
silent = o.renew(T1 + 3 * DAY, T1, T2, "t2")
silent["facts"] = [one for one in silent["facts"] if one["fact"] != "billing"]
story("grace-settled-in-silence", "The same where the renewal does not say that the charge is settled.",
      [o.begin(T0, T0, T1, "t1"), o.billing_issue(t, T0, G, "t1", grace=G), silent,
       o.refund(T1 + 4 * DAY, T1, T1 + 4 * DAY, "t2")],
      [so(T1 + 4 * DAY - 1, "active"), so(T1 + 5 * DAY, "refunded", access=False, since=T1 + 4 * DAY)],
      kinds=["started/new", "billing_issue/grace", "renewed/recovery_from_grace", "refunded/current"])
o = Lineage()
story("upgrade-then-refunded", "What an upgrade replaced does not come back when the upgrade is refunded.",
      [o.begin(T0, T0, T1, "t1", "basic"), o.renew(U, U, U + MONTH, "t2", "pro"),
       o.refund(U + 3 * DAY, U, U + 3 * DAY, "t2")],
      [so(U + 4 * DAY, "refunded", access=False, since=U + 3 * DAY, product="pro")])
o = Lineage()
story("renewal-refunded-before-it-begins", "A period paid ahead is refunded: the running one lasts to its end.",
      [o.begin(T0, T0, T1, "t1"), o.renew(T1 - 8 * HOUR, T1, T2, "t2"), o.refund(T1 - HOUR, T1, T1 - HOUR, "t2")],
      [so(T1 - MINUTE, "active", until=T1), so(T1 + DAY, "refunded", access=False)])

# Bad input -----------------------------------------------------------------------------------------------------------

o = Lineage()
story("negative-period", "A period that ends before it begins gives nothing.",
      [o.begin(T0, T1, T0, "t1")], [so(T0 + DAY, "not_begun", access=False), so(T1 + DAY, "renewal_due", access=False)],
      contradictions=["negative_period"])
o = Lineage()
story("years-1970-and-9999", "The ends of time.",
      [o.begin(EARLY, EARLY, LATE, "t1"), o.expire(LATE, EARLY, LATE, "t1")],
      [so(EARLY, "active", until=LATE), so(LATE - 1, "active"), so(LATE, "expired")])
o = Lineage()
one = o.expire(T0 + 5 * DAY, T0, T0 + 5 * DAY, "t1", "unknown"); two = o.expire(T0 + 5 * DAY, T0, T0 + 4 * DAY, "t1", "customer")
story("two-ends-of-one-moment", "Two ends, stated in one moment with equal right: one holds, and the other shows.",
      [o.begin(T0, T0, T1, "t1"), one, two], [so(T0 + 6 * DAY, "expired")],
      contradictions=["simultaneous_statements", "ended_before_paid_end"], distinct_ids=2)
o = Lineage()
empty = o.begin(T0, T0, T1, "")
story("empty-transaction", "A period without a name is known by its start.", [empty, o.expire(T1, T0, T1, "")],
      [so(T0 + DAY, "active", after=1), so(T1, "expired")])
o, s = Lineage(), Lineage(environment="sandbox")
story("link-across-environments", "A link out of production is not followed.",
      [o.begin(T0, T0, T1, "t1"), o.link(T0 + DAY, s), s.begin(T0, T0, T2, "s1")],
      [so(T1 + DAY, "renewal_due"), so(T1 + DAY, "active", lineage="app_store/sandbox/O1")],
      contradictions=["link_across_environments"])

with open("stories.jsonl", "w") as out:
    for one in stories:
        out.write(json.dumps(one, separators=(",", ":"), sort_keys=True, ensure_ascii=False) + "\n")
print(len(stories), "stories")
