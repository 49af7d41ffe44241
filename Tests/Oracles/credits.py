#!/usr/bin/env python3
"""Reckons credit statements a second time, from docs/model.md alone.

Reads one life a line and prints what is left of each grant, for each moment that the life asks about:

    python3 credits.py < lives.jsonl

A life has these members. Times are milliseconds, amounts are decimal strings.

    store       "app_store" or "stripe"
    policy      the JSON of a CreditPolicy
    periods     [{name, product, start, end, trial?, price?: {amount, currency}, set_off?, paid_at?}]  set_off: of the period before
    changes     [{name, period, product, at, price?, line?, set_off?}]  another product for the rest of a period; the price of the
                charge for it alone, and what the lines of that say of the new product, and of the old one
    ends        [{period, at}]        access ended, and no other product took its place
    purchases   [{name, product, quantity, at, price?}]
    refunds     [{name, at, scope: "full" | {"amount": money} | {"quantity": n}, ends_access}]
    uses        [{id, credits, at}]
    moments     [time]
"""
import datetime
import json
import math
import sys
from fractions import Fraction

FOREVER = float("inf")
UTC = datetime.timezone.utc


def rounded(value, rule):
    if rule == "down":
        return math.floor(value)
    if rule == "up":
        return math.ceil(value)
    if rule == "half_even":
        return round(value)
    return math.floor(value + Fraction(1, 2))


def clamp(value):
    return max(Fraction(0), min(Fraction(1), value))


def money(value):
    return None if value is None else (Fraction(value["amount"]), value["currency"])


def months_later(start, months):
    """By the calendar in UTC, and from the start: 31 August, 30 September, 31 October."""
    date = datetime.datetime.fromtimestamp(start // 1000, UTC)
    index = date.year * 12 + date.month - 1 + months
    year, month = divmod(index, 12)
    first_of_next = datetime.date(year + (month == 11), month % 12 + 2 if month < 11 else 1, 1)
    last_day = (first_of_next - datetime.timedelta(days=1)).day
    moved = date.replace(year=year, month=month + 1, day=min(date.day, last_day))
    return int(moved.timestamp()) * 1000 + start % 1000


class Payment:
    """What was paid at one time, and which part of an earlier payment was set off against it."""

    def __init__(self):
        self.grants = []
        self.earlier = None
        self.earlier_share = Fraction(0)


class Grant:
    def __init__(self, payment, credits, start, end, kept, of_change):
        self.payment, self.credits, self.start, self.end = payment, credits, start, end
        self.kept, self.of_change = kept, of_change
        self.left = 0
        self.used = 0
        self.owable = 0
        self.lasting_since = None
        payment.grants.append(self)

    def lasts(self):
        return self.end == FOREVER or self.lasting_since is not None

    def order(self):
        """Credits that end first are used first, then those that were given first."""
        return (1, self.lasting_since or self.start) if self.lasts() else (0, self.end)


class Given:
    """What the host gave."""

    def __init__(self, credits, at):
        self.left, self.start, self.at, self.used = credits, at, at, 0

    def lasts(self):
        return True

    def order(self):
        return (1, self.at)


class Life:
    def __init__(self, life):
        self.net = life["store"] == "stripe"
        policy = life["policy"]
        self.allowances = policy["allowances"]
        self.rule = policy.get("rounding", "down")
        self.carries_over = policy.get("carries_over", True)
        self.owes = policy.get("owes", False)
        self.refunds = life["refunds"]
        self.steps = []
        self.payments = {}
        self.read_periods(life)
        self.read_purchases(life)
        for use in life["uses"]:
            self.steps.append((use["at"], 3, use["id"], ("use", use)))

    # Grants

    def list_price(self, product):
        return money(self.allowances.get(product, {}).get("price"))

    def refunds_of(self, name):
        return [refund for refund in self.refunds if refund["name"] == name]

    def fraction(self, refund, price, quantity=1):
        scope = refund["scope"]
        if scope == "full":
            return Fraction(1)
        if "quantity" in scope:
            return clamp(Fraction(scope["quantity"], quantity))
        amount = money(scope["amount"])
        if price and price[1] == amount[1] and price[0] > 0:
            return clamp(amount[0] / price[0])
        return Fraction(1) if refund["ends_access"] else None

    def read_periods(self, life):
        periods = sorted(life["periods"], key=lambda period: period["start"])
        ends = {end["period"]: end["at"] for end in life["ends"]}
        changes = {change["period"]: change for change in life["changes"]}
        begins = self.begins(periods, ends)
        worths = []
        for index, period in enumerate(periods):
            before = periods[index - 1] if index else None
            after = periods[index + 1] if index + 1 < len(periods) else None
            allowance = self.allowances.get(period["product"])
            charged, listed = money(period.get("price")), self.list_price(period["product"])
            trial = period.get("trial", False)
            begin = begins[period["name"]]
            payment = self.payments[period["name"]] = Payment()
            worth, share = charged or listed, Fraction(1)
            if trial:
                worth = None
            is_change = before is not None and self.is_replaced(before, period, ends)
            if is_change:
                unused = clamp(Fraction(before["end"] - period["start"], before["end"] - before["start"]))
                old = worths[index - 1]
                # The store sets off the whole unused part, however much of it went back, if it charges the difference.
                remains = Fraction(1) if self.net and charged else self.remains(before, period["start"])
                if before.get("trial"):
                    old = None
                # A charge of nothing, of what is left to pay, does not say what the product costs.
                is_left = self.net and charged and charged[0] > 0
                price = listed if self.net and not is_left else charged or listed
                stated = money(period.get("set_off"))
                if stated:
                    # A charge that says what it set off is read by that.
                    left = stated[0]
                    worth, share = (charged[0] + left, charged[1]), charged[0] / (charged[0] + left)
                    if left > 0:
                        payment.earlier, payment.earlier_share = self.payments[before["name"]], unused
                elif is_left and old and old[1] == charged[1]:
                    left = old[0] * unused
                    worth, share = (charged[0] + left, charged[1]), charged[0] / (charged[0] + left)
                    payment.earlier, payment.earlier_share = self.payments[before["name"]], unused
                elif price:
                    if old and old[1] != price[1] and remains > 0:
                        first = self.list_price(before["product"])
                        old, price = (first, listed) if first and listed and first[1] == listed[1] else (None, price)
                    worth = price
                    if old and price[0] > 0:
                        left = old[0] * remains * unused
                        share = clamp((price[0] - left) / price[0])
                        if old[0] > 0:
                            payment.earlier = self.payments[before["name"]]
                            payment.earlier_share = min(price[0], left) / old[0]
                            returned = max(Fraction(0), left - price[0]) / old[0]
                            if returned > 0:
                                self.take(payment.earlier, begin, returned, of_change=True, reaches=True)
            worths.append(worth)
            stop, kept = self.stop(period, after, ends, begins)
            change = changes.get(period["name"])
            if change is not None:
                self.read_change(period, change, worth, payment, stop, kept)
                stop, kept = change["at"], self.carries_over
            if allowance is not None:
                self.give(period, allowance, payment, share, begin, stop, kept, trial, is_change)
            for refund in self.refunds_of(period["name"]):
                back = self.fraction(refund, charged)
                if back is not None:
                    self.take(payment, refund["at"], back, reaches=not self.net)

    def remains(self, period, moment):
        """Which share of its payment had not gone back by a moment."""
        backs = [refund for refund in self.refunds_of(period["name"]) if refund["at"] <= moment]
        return math.prod(1 - (self.fraction(refund, money(period.get("price"))) or 0) for refund in backs)

    def read_change(self, period, change, worth, before, stop, kept):
        """Another product for the rest of a period, which costs its line of the charge, or else that part of its list price."""
        at, product, charged = change["at"], change["product"], money(change.get("price"))
        payment = Payment()
        rest = clamp(Fraction(period["end"] - at, period["end"] - period["start"]))
        line, stated = money(change.get("line")), money(change.get("set_off"))
        old, price = worth, self.list_price(product)
        # The store sets off the whole unused part, however much of it went back, if it charges the change.
        remains = Fraction(1) if charged else self.remains(period, at)
        if old[1] != price[1] and old[0] * remains != 0:
            old = self.list_price(period["product"])
        left, due, whole = old[0] * remains * rest, price[0] * rest, old[0]
        if line and stated:
            # What was set off is the rest of the old payment. A line alone does not say whether a discount is off it.
            left, due, whole = stated[0], line[0], stated[0] / rest
        payment.earlier = before
        payment.earlier_share = min(due, left) / whole if whole > 0 else Fraction(0)
        if left > due:
            self.take(before, at, (left - due) / whole, of_change=True, reaches=True)
        share = clamp((due - left) / due) * rest
        self.give(period, self.allowances[product], payment, share, at, stop, kept, False, True)
        # What a payment paid for goes back with it: the change's own, or else the period's.
        for refund in self.refunds_of(period["name"] if charged is None else change["name"]):
            back = self.fraction(refund, charged)
            if back is not None:
                self.take(payment, refund["at"], back, reaches=charged is None)

    def over_since(self, period, ends):
        times = [ends[period["name"]]] if period["name"] in ends else []
        times += [refund["at"] for refund in self.refunds_of(period["name"]) if refund["ends_access"]]
        return min(times, default=FOREVER)

    def is_replaced(self, period, other, ends):
        return other["start"] < period["end"] and other["start"] < self.over_since(period, ends)

    def begins(self, periods, ends):
        """When the credits of each period begin: once it is paid for, or with the period if another product took its place before."""
        begins, after = {}, None
        for period in reversed(periods):
            begin = period.get("paid_at", period["start"])
            if after is not None and self.is_replaced(period, after, ends) and begin >= begins[after["name"]]:
                begin = period["start"]
            begins[period["name"]] = begin
            after = period
        return begins

    def stop(self, period, after, ends, begins):
        over = min(period["end"], self.over_since(period, ends))
        if after is None:
            return over, False
        begin = begins[after["name"]]
        if self.is_replaced(period, after, ends):
            return begin, self.carries_over
        # What is left of the period before counts until its renewal is paid for, while there is access.
        if over == period["end"] == after["start"] and begin > over:
            return min(begin, self.over_since(after, ends)), False
        return min(over, begin), False

    def give(self, period, allowance, payment, share, begin, stop, kept, trial, is_change):
        full = allowance["credits"]
        if trial:
            full = allowance.get("trial_credits", full)
        parts = [(begin, stop)]
        if "every" in allowance and not trial:
            step = {"month": 1, "quarter": 3, "year": 12}[allowance["every"]]
            parts, number = [], 0
            while True:
                first = months_later(period["start"], step * number)
                following = months_later(period["start"], step * (number + 1))
                if first >= min(stop, period["end"]):
                    break
                last = following >= period["end"]
                parts.append((max(first, begin), stop if last else min(following, stop)))
                number += 1
        for first, last in parts:
            if first < last:
                is_last = last == stop
                credits = rounded(full * share, self.rule)
                grant = Grant(payment, credits, first, last, kept and is_last, is_change)
                self.steps.append((first, 2, "", ("begin", grant)))
                self.steps.append((last, 1, "", ("end", grant)))

    def read_purchases(self, life):
        for purchase in life["purchases"]:
            allowance = self.allowances.get(purchase["product"])
            if allowance is None:
                continue
            payment = Payment()
            credits = allowance["credits"] * purchase["quantity"]
            grant = Grant(payment, credits, purchase["at"], FOREVER, False, False)
            self.steps.append((purchase["at"], 2, "", ("begin", grant)))
            for refund in self.refunds_of(purchase["name"]):
                back = self.fraction(refund, money(purchase.get("price")), purchase["quantity"])
                if back is not None:
                    self.take(payment, refund["at"], back, reaches=False)

    def take(self, payment, at, fraction, reaches, of_change=False):
        self.steps.append((at, 0, "", ("take", payment, fraction, reaches, of_change)))

    # What becomes of them

    def balance(self, moment):
        self.open, self.taken, self.debt, self.set_off = [], [], 0, 0
        for payment in {id(step[3][1].payment): step[3][1].payment for step in self.steps if step[3][0] == "begin"}.values():
            for grant in payment.grants:
                grant.left, grant.used, grant.owable, grant.lasting_since, grant.begun = 0, 0, 0, None, False
        for at, _, _, step in sorted((step for step in self.steps if step[0] <= moment), key=lambda step: step[:3]):
            getattr(self, "on_" + step[0])(at, *step[1:])
            self.repay()
        return sum(grant.left for grant in self.open) - self.debt

    def on_begin(self, at, grant):
        grant.begun = True
        grant.left = grant.credits
        self.open.append(grant)
        for payment, fraction, of_change in self.taken:
            if payment is grant.payment:
                self.reduce(grant, fraction, of_change)
        if grant.of_change:
            credits = min(self.set_off, grant.left)
            self.set_off -= credits
            grant.left -= credits

    def on_end(self, at, grant):
        if grant.kept:
            grant.lasting_since = at
        else:
            self.open.remove(grant)
            grant.left = 0

    def on_take(self, at, payment, fraction, reaches, of_change):
        self.taken.append((payment, fraction, of_change))
        while True:
            for grant in payment.grants:
                if grant.begun:
                    self.reduce(grant, fraction, of_change)
            if not reaches or payment.earlier is None:
                return
            fraction *= payment.earlier_share
            payment = payment.earlier
            if fraction == 0:
                return

    def reduce(self, grant, fraction, of_change):
        due = rounded(grant.credits * fraction, self.rule)
        taken = min(due, grant.left)
        grant.left -= taken
        owed = min(due - taken, grant.owable)
        if owed > 0 and (self.owes or of_change):
            grant.owable -= owed
            if self.owes:
                self.debt += owed
            else:
                self.set_off += owed

    def on_use(self, at, use):
        if use["credits"] < 0:
            self.open.append(Given(-use["credits"], at))
            return
        missing = use["credits"] - self.draw(use["credits"])
        if self.owes:
            self.debt += missing

    def draw(self, credits):
        drawn = 0
        for grant in sorted((grant for grant in self.open if grant.left > 0), key=lambda grant: grant.order()):
            part = min(credits - drawn, grant.left)
            grant.left -= part
            if isinstance(grant, Grant):
                grant.owable += part
            drawn += part
        return drawn

    def repay(self):
        if self.debt > 0:
            self.debt -= self.draw(self.debt)


for line in sys.stdin:
    if line.strip():
        read = json.loads(line)
        life = Life(read)
        print(json.dumps([life.balance(moment) for moment in read["moments"]]))
