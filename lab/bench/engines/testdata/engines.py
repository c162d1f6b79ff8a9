"""Answers when expressions fire, by croniter and dateutil. A line of standard input is a question in JSON, and one of standard output the
seconds since 1970 at which it fires, null if it is refused or takes too long."""

import datetime
import itertools
import json
import signal
import sys
import zoneinfo

UTC = datetime.timezone.utc


class TooLong(Exception):
    pass


def late(*_):
    raise TooLong


def cron(q):
    import croniter

    start = datetime.datetime.fromtimestamp(q["from"], zoneinfo.ZoneInfo(q["zone"]))
    it = croniter.croniter(q["text"], start, implement_cron_bug=True, max_years_between_matches=100)
    found = []
    try:
        for _ in range(q["n"]):
            found.append(int(it.get_next(datetime.datetime).timestamp()))
    except croniter.CroniterBadDateError:
        pass  # no more in a hundred years
    return found


def rrule(q):
    import dateutil.rrule

    found = []
    for at in itertools.islice(dateutil.rrule.rrulestr(q["text"]), q["n"]):
        if at.year > 2060:
            break
        found.append(int(at.astimezone(UTC).timestamp()))
    return found


signal.signal(signal.SIGALRM, late)
for line in sys.stdin:
    question = json.loads(line)
    signal.setitimer(signal.ITIMER_REAL, 2)
    try:
        answer = {"cron": cron, "rrule": rrule}[question["kind"]](question)
    except (TooLong, ValueError, KeyError) as e:
        answer = None
        if not isinstance(e, TooLong):
            print(question["text"], repr(e), file=sys.stderr)
    signal.setitimer(signal.ITIMER_REAL, 0)
    print(json.dumps(answer))
