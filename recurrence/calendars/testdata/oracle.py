"""Answers jobs with calendars, as a second implementation of the rules: written from their page, not from the program.

Standard input has a job a line, in the form of calendars-input.jsonl, and standard output an answer a line. Rules are tried date by
date. Time zones are those of PYTHONTZPATH.
"""

import datetime
import functools
import json
import sys
import zoneinfo

DAY = 86400
UTC = datetime.timezone.utc
EPOCH = datetime.date(1970, 1, 1).toordinal()
NAMES = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
REACH = 100


@functools.lru_cache(None)
def zone(name):
    return zoneinfo.ZoneInfo(name)


@functools.lru_cache(200_000)
def wall(name, day, clock):
    """Returns the instant of a local time: the first one, and in a gap with the offset before it."""
    at = datetime.datetime.fromordinal(day + EPOCH) + datetime.timedelta(seconds=clock)
    return int(at.replace(tzinfo=zone(name), fold=0).timestamp())


@functools.lru_cache(200_000)
def local(name, t):
    """Returns the date and the time of day of an instant."""
    at = datetime.datetime.fromtimestamp(t, UTC).astimezone(zone(name))
    return at.date().toordinal() - EPOCH, at.hour * 3600 + at.minute * 60 + at.second


def dated(day):
    return datetime.date.fromordinal(day + EPOCH)


def number(text):
    return datetime.date.fromisoformat(text).toordinal() - EPOCH


def month(day):
    d = dated(day)
    return d.year * 12 + d.month - 1


def last_of(year, mon):
    return (datetime.date(year + mon // 12, mon % 12 + 1, 1) - datetime.timedelta(days=1)).day


def instant(text, name):
    """Reads a time; without an offset it is local."""
    if text.endswith("Z"):
        return int(datetime.datetime.fromisoformat(text[:-1]).replace(tzinfo=UTC).timestamp())
    at = datetime.datetime.fromisoformat(text)
    return wall(name, at.date().toordinal() - EPOCH, at.hour * 3600 + at.minute * 60 + at.second)


def shown(t):
    return datetime.datetime.fromtimestamp(t, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Calendar:
    def __init__(self, c, name):
        self.name = name
        self.weekend = {NAMES.index(d) for d in c["weekendDays"]}
        self.days = {number(d["date"]) for d in c.get("days", [])}
        self.periods = [(number(p["first"]), number(p["last"])) for p in c.get("periods", [])]
        self.made = {number(d["date"]) for d in c.get("makeUpDays", [])}
        self.zone = c.get("timeZone")
        self.until = number(c["completeUntil"]) if "completeUntil" in c else None
        self.known = {}

    def matches(self, day):
        if day not in self.known:
            off = day in self.days or (day + 3) % 7 in self.weekend or any(a <= day <= b for a, b in self.periods)
            self.known[day] = off and day not in self.made
        return self.known[day]


class Rule:
    """A rule with frequency, interval and schedule."""

    def __init__(self, r, anchor, name, working):
        s = r.get("schedule", {})
        self.frequency, self.every, self.anchor, self.zone = r["frequency"].lower(), r.get("interval", 1), anchor, name
        self.start, self.clock = local(name, anchor)
        hour, minute, second = self.clock // 3600, self.clock // 60 % 60, self.clock % 60
        hours, minutes = s.get("hours"), s.get("minutes")
        if hours and minutes:
            self.times = [h * 3600 + m * 60 for h in hours for m in minutes]
        elif hours:
            self.times = [h * 3600 + minute * 60 + second for h in hours]
        elif minutes:
            self.times = [h * 3600 + m * 60 for h in range(24) for m in minutes]
        else:
            self.times = [self.clock]
        self.plain = not hours and not minutes
        self.week_days = {NAMES.index(d) for d in s.get("weekDays", [])} or {(self.start + 3) % 7}
        self.month_days, self.months = s.get("monthDays"), s.get("months")
        self.counted = [(NAMES.index(o["day"]), o.get("occurrence", 0)) for o in s.get("monthlyOccurrences", [])]
        self.working, self.numbers = working, s.get("workingDays")

    def on(self, day):
        first = self.start
        if self.frequency == "day":
            return day >= first and (day - first) % self.every == 0
        if self.frequency == "week":
            weeks = (day + 3) // 7 - (first + 3) // 7
            return weeks >= 0 and weeks % self.every == 0 and (day + 3) % 7 in self.week_days
        d, a = dated(day), dated(first)
        last = last_of(d.year, d.month)
        months = month(day) - month(first)
        if self.frequency == "year":
            years = d.year - a.year
            in_month = d.month in self.months if self.months else d.month == a.month
            return years >= 0 and years % self.every == 0 and in_month and d.day == min(a.day, last)
        if months < 0 or months % self.every or self.months and d.month not in self.months:
            return False
        ok = True
        if self.month_days:
            ok = d.day in self.month_days or d.day - last - 1 in self.month_days
        if self.counted:
            nth, back = (d.day - 1) // 7 + 1, -((last - d.day) // 7 + 1)
            ok = ok and any(w == d.weekday() and n in (0, nth, back) for w, n in self.counted)
        if self.numbers:
            return ok and self.numbered(day, d, last)
        return ok if self.month_days or self.counted else d.day == min(a.day, last)

    def numbered(self, day, d, last):
        if not self.working(day):
            return False
        begin = day - d.day + 1
        before = sum(self.working(x) for x in range(begin, day + 1))
        after = sum(self.working(x) for x in range(day, begin + last))
        return before in self.numbers or -after in self.numbers

    def between(self, first, last):
        if self.frequency in ("minute", "hour"):
            step = self.every * (60 if self.frequency == "minute" else 3600)
            k = max(0, -(-(first - self.anchor) // step))
            return list(range(self.anchor + k * step, last + 1, step))
        found = set()
        for day in range(local(self.zone, first)[0] - 2, local(self.zone, last)[0] + 3):
            if self.on(day):
                found.update(wall(self.zone, day, c) for c in self.times)
                if self.plain and day == self.start:
                    found.add(self.anchor)
        return sorted(t for t in found if first <= t <= last and t >= self.anchor)


def excludes(items, anchor, name):
    """Returns which instants exclusions remove."""
    tests = []
    for x in items:
        if isinstance(x, str) and len(x) == 10:
            tests.append(lambda t, d=number(x): local(name, t)[0] == d)
        elif isinstance(x, str):
            tests.append(lambda t, at=instant(x, name): t == at)
        elif "first" in x:
            tests.append(lambda t, a=number(x["first"]), b=number(x["last"]): a <= local(name, t)[0] <= b)
        elif "from" in x:
            tests.append(lambda t, a=instant(x["from"], name), b=instant(x["until"], name): a <= t < b)
        else:
            rule = Rule(x, anchor, name, None)
            if rule.plain:
                tests.append(lambda t, r=rule: local(name, t)[0] >= r.start and r.on(local(name, t)[0]))
            else:
                tests.append(lambda t, r=rule: t in r.between(t, t))
    return lambda t: any(test(t) for test in tests)


class Blackout:
    def __init__(self, b, name):
        self.name, self.policy, self.keep = b["name"], b["onMatch"], b.get("keep", "latest")
        self.zone = b.get("timeZone", name)
        self.days = {NAMES.index(d) for d in b.get("weekDays", NAMES)}
        self.first = number(b["first"]) if "first" in b else None
        self.last = number(b["last"]) if "last" in b else None
        self.clock = self.span = None
        if "from" in b and len(b["from"]) == 5:
            self.clock = [int(t[:2]) * 3600 + int(t[3:]) * 60 for t in (b["from"], b["until"])]
        elif "from" in b:
            self.span = instant(b["from"], self.zone), instant(b["until"], self.zone)

    def begins(self, day):
        return (day + 3) % 7 in self.days and (self.first is None or self.first <= day <= self.last)

    def spans(self, t):
        """Returns the spans around an instant."""
        if self.span:
            return [self.span]
        today = local(self.zone, t)[0]
        found = []
        for day in range(today - 2, today + 2):
            if not self.begins(day):
                continue
            if self.clock:
                a, b = self.clock
                found.append((wall(self.zone, day, a), wall(self.zone, day + (b <= a), b)))
            else:
                found.append((wall(self.zone, day, 0), wall(self.zone, day + 1, 0)))
        return found

    def end(self, t):
        """Returns when the blackout is over that an instant is in; None if it is in none."""
        return next((b for a, b in self.spans(t) if a <= t < b), None)


class Job:
    def __init__(self, v):
        p = v["properties"]
        r = p["recurrence"]
        self.zone = r.get("timeZone", "UTC")
        self.now, self.until = instant(v["now"], "UTC"), instant(v["until"], "UTC")
        calendars = {n: Calendar(c, n) for n, c in v.get("calendars", {}).items()}
        self.uses = [(calendars[u["name"]], u.get("onMatch", "skip")) for u in r.get("calendars", [])]
        self.start = instant(p["startTime"], self.zone) if "startTime" in p else None
        self.anchor = self.now if self.start is None else self.start
        self.end = instant(r["endTime"], self.zone) if "endTime" in r else None
        self.rules = [Rule(x, self.anchor, self.zone, self.works) for x in [r] + r.get("also", [])]
        self.excluded = excludes(r.get("exclusions", []), self.anchor, self.zone)
        self.blackouts = [Blackout(b, self.zone) for b in p.get("blackouts", []) + v.get("collection", {}).get("blackouts", [])]

    def works(self, day):
        """Reports whether a date is a working day if calendars are floating."""
        return all(c.matches(day) == (policy == "only") for c, policy in self.uses)

    def objects(self, t):
        """Returns the first calendar that objects to an instant, and its policy."""
        for c, policy in self.uses:
            if c.matches(local(c.zone or self.zone, t)[0]) != (policy == "only"):
                return c, policy
        return None

    def nominal(self, first, last):
        found = {t for rule in self.rules for t in rule.between(first, last)}
        if self.start is None and first <= self.now <= last:
            found.add(self.now)
        return sorted(t for t in found if not self.excluded(t) and (self.end is None or t <= self.end))

    def search(self, t, direction, in_month):
        day, clock = local(self.zone, t)
        for n in range(1, REACH + 1):
            at = wall(self.zone, day + n * direction, clock)
            if in_month and month(local(self.zone, at)[0]) != month(day):
                return None
            if not self.objects(at):
                return at
        return None

    def moved(self, t, policy):
        direction = 1 if policy.startswith("next") else -1
        in_month = policy.endswith("InMonth")
        due = self.search(t, direction, in_month)
        return self.search(t, -direction, True) if due is None and in_month else due

    def from_now(self, t, in_month):
        day, clock = local(self.zone, t)
        today = local(self.zone, self.now)[0]
        for d in range(today, today + REACH + 1):
            at = wall(self.zone, d, clock)
            if at < self.now or in_month and month(local(self.zone, at)[0]) != month(day):
                continue
            if not self.objects(at):
                return at
        return None

    def decide(self, t):
        """Applies calendars. None: it is no occurrence of this plan."""
        o = {"nominal": t, "due": t, "why": [], "keep": False}
        objection = self.objects(t)
        if objection:
            calendar, policy = objection
            o["why"].append(calendar.name + ": off")
            o["due"] = None if policy in ("skip", "only") else self.moved(t, policy)
        if o["due"] is None:
            o["dates"] = [local(self.zone, t)[0]]
            return o if t >= self.now else None
        if o["due"] < self.now:
            if t < self.now:
                return None
            o["due"] = self.from_now(t, bool(objection) and objection[1].endswith("InMonth"))
        o["dates"] = [local(self.zone, x)[0] for x in (t, o["due"]) if x is not None]
        return o

    def covering(self, t):
        return next((b for b in self.blackouts if b.end(t) is not None), None)

    def black_out(self, o):
        b = self.covering(o["due"])
        if not b:
            return
        o["why"].append("blackout " + b.name)
        if b.policy == "skip":
            o["due"] = None
        elif b.policy == "runAtEnd":
            o["keep"] = b.keep == "all"
            begun = t = o["due"]
            while t is not None and (c := self.covering(t)):
                t = c.end(t)
                if t - begun > REACH * DAY:
                    t = None
            o["due"] = t
        else:
            day, clock = local(self.zone, o["due"])[0], local(self.zone, o["nominal"])[1]
            for d in range(day + 1, day + REACH + 1):
                at = wall(self.zone, d, clock)
                if at >= self.now and not self.objects(at) and not self.covering(at):
                    o["due"] = at
                    return
            o["due"] = None

    @staticmethod
    def collide(all_, held):
        by_due = {}
        kept = {}
        for o in all_:
            if o["due"] is not None:
                (kept if held and o["keep"] else by_due).setdefault(o["due"], []).append(o)
        for due, same in by_due.items():
            best = min(same, key=lambda o: (abs(o["nominal"] - due), o["nominal"]))
            for o in same:
                if o is not best:
                    o["why"].append("same time as " + shown(best["nominal"]))
                    o["due"] = None
        for same in kept.values():
            for o in sorted(same, key=lambda o: o["nominal"])[:-100]:
                o["due"] = None

    def plan(self):
        reach = (210 if self.blackouts else 105) * DAY  # a move, and a blackout after it
        first = self.now - reach if any(p not in ("skip", "only") for _, p in self.uses) or self.blackouts else self.now
        all_ = [o for t in self.nominal(first, self.until + reach) if (o := self.decide(t))]
        self.collide(all_, False)
        for o in all_:
            if (due := o["due"]) is not None:
                self.black_out(o)
                if o["due"] not in (None, due):
                    o["dates"][1:] = [local(self.zone, o["due"])[0]]
        self.collide(all_, True)
        entries = []
        for o in all_:
            decided = o["nominal"] if o["due"] is None else o["due"]
            if not self.now <= decided <= self.until:
                continue
            beyond = [c.name for c, _ in self.uses if c.until is not None and max(o["dates"]) > c.until]
            entries.append((decided, o["nominal"], {
                "nominal": shown(o["nominal"]), "due": None if o["due"] is None else shown(o["due"]),
                "outcome": "skipped" if o["due"] is None else "run", "why": o["why"], "beyondHorizon": beyond,
            }))
        entries.sort(key=lambda e: e[:2])
        return [e for _, _, e in entries]


for line in sys.stdin:
    question = json.loads(line)
    print(json.dumps({"id": question["id"], "plan": Job(question).plan()}), flush=False)
