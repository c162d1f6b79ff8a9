"""Prints what the package holidays (https://pypi.org/project/holidays/) says of each place, as JSON.

Arguments: the directory of the package, the first year and the last one, and the day on which this is done.
"""

import datetime
import json
import re
import sys
import warnings

sys.path.insert(0, sys.argv[1])
import holidays  # noqa: E402

warnings.simplefilter("ignore")  # some countries have fewer years than are asked for
FIRST, LAST = int(sys.argv[2]), int(sys.argv[3])
TODAY = datetime.date.fromisoformat(sys.argv[4])
YEARS = range(FIRST, LAST + 1)
NOT_OFF = {"workday", "unofficial"}  # days that are kept, and worked on
WEEKDAYS = {"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}


def days(country, part, category, language):
    found = holidays.country_holidays(country, subdiv=part, years=YEARS, language=language, categories=(category,))
    return {date: name.split("; ") for date, name in found.items() if FIRST <= date.year <= LAST}


def paired(texts, translated, pairs):
    """Returns the names of a date with their translations: those that are known from other dates, then what is left."""
    if texts == translated:
        return list(zip(texts, translated))
    known = [(text, pairs[text]) for text in texts if pairs.get(text) in translated]
    texts = [text for text in texts if text not in dict(known)]
    translated = [text for text in translated if text not in dict(known).values()]
    return known + ([("; ".join(texts), "; ".join(translated))] if texts or translated else [])


def names(country, part, category, kind):
    """Returns the dates of each name: (own name, English name) -> dates."""
    own = days(country, part, category, kind.default_language)
    english = own
    for language in ("en_US", "en_GB"):
        if language in kind.supported_languages:
            english = days(country, part, category, language)
            break
    pairs = {}  # of the dates with one name; several names of a date are in the order of each language's alphabet
    for date, texts in own.items():
        if len(texts) == 1 == len(english.get(date, texts)):
            pairs[texts[0]] = english.get(date, texts)[0]
    rows = {}
    for date, texts in sorted(own.items()):
        for text, other in paired(texts, english.get(date, texts), pairs):
            if other in WEEKDAYS and date.weekday() in kind.weekend:
                continue  # every Sunday is a public holiday of some countries
            rows.setdefault((text, other), []).append(date)
    return rows


def known(kind, rows):
    """Returns the last date for which all days are certain; None if that is the end of the tables."""
    last = getattr(kind, "end_year", LAST)
    until = datetime.date(last, 12, 31) if last < LAST else None
    # governments announce each year which days are moved
    announced = [d.year for d in kind.weekend_workdays]
    announced += [d.year for (_, other), dates in rows.items() for d in dates if "substituted from" in other]
    if announced and max(announced) >= TODAY.year - 1:
        end = datetime.date(max(announced), 12, 31)
        until = min(until or end, end)
    estimated = [d for (_, other), dates in rows.items() for d in dates if "estimated" in other and d > TODAY]
    if estimated:
        end = min(estimated) - datetime.timedelta(days=1)
        until = min(until or end, end)
    return until


def place(country, part, name):
    kind = holidays.country_holidays(country, subdiv=part, years=YEARS)
    categories = {}
    for category in kind.supported_categories:
        if category in NOT_OFF:
            continue
        rows = names(country, part, category, kind)
        if rows:
            categories[category] = [[own, other, [d.isoformat() for d in dates]] for (own, other), dates in rows.items()]
        if category == "public":
            until = known(kind, rows)
    now = holidays.country_holidays(country, subdiv=part, years=TODAY.year)
    return {
        "code": country + ("-" + part if part else ""),
        "name": name,
        "weekend": sorted(now.weekend),
        "makeUp": [d.isoformat() for d in sorted(kind.weekend_workdays) if FIRST <= d.year <= LAST],
        "known": until.isoformat() if until else "",
        "categories": categories,
    }


def main():
    places = []
    for country, parts in sorted(holidays.list_supported_countries(include_aliases=False).items()):
        kind = holidays.country_holidays(country)
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(kind).__name__)
        if name == country:
            name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(kind).__mro__[1].__name__)
        aliases = {code: alias for alias, code in kind.subdivisions_aliases.items()}
        places.append(place(country, None, name))
        places.extend(place(country, part, aliases.get(part, "")) for part in sorted(parts))
    json.dump({"version": holidays.__version__, "places": places}, sys.stdout, ensure_ascii=False)


main()
