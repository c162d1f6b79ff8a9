// Prints the public holidays of date-holidays as JSON: place -> date -> name. Arguments: the directory of the package,
// the first year and the last one.
"use strict";
const Holidays = require(process.argv[2]);
const [first, last] = process.argv.slice(3).map(Number);
const all = {};
for (const country of Object.keys(new Holidays().getCountries("en"))) {
  for (const part of [null, ...Object.keys(new Holidays().getStates(country) || {})]) {
    const place = part ? new Holidays(country, part) : new Holidays(country);
    const days = {};
    for (let year = first; year <= last; year++) {
      for (const day of place.getHolidays(year, "en")) {
        if (day.type !== "public") continue;
        const length = Math.max(1, Math.round((day.end - day.start) / 864e5));
        for (let i = 0; i < length; i++) {
          const date = new Date(day.date.slice(0, 10) + "T00:00:00Z");
          date.setUTCDate(date.getUTCDate() + i);
          if (date.getUTCFullYear() <= last) days[date.toISOString().slice(0, 10)] ??= day.name;
        }
      }
    }
    all[part ? country + "-" + part : country] = days;
  }
}
const version = require(process.argv[2] + "/package.json").version;
process.stdout.write(JSON.stringify({ version, places: all }));
