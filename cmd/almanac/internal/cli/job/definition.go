package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/base"
	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/cmd/almanac/internal/flags"
)

// A definition is what flags say of a job. Those that are not given change nothing.
type definition struct {
	uri, method, body     string
	headers               []string
	every, frequency      string
	cron, rrule           string
	interval, count       string
	zone, start, end      string
	hours, minutes        []string
	monthDays, months     []string
	weekDays, occurrences []string
	catchUp, overlap      string
	retries, retryAfter   string
	onFailure             string
	disableAfter          string
	flexible              string
	blackouts             []string

	set      flags.Set
	reading  *client.RecurrenceReading // of --every; nil if that is a number and a unit
	readZone string                    // in which it was read
}

var numbers = func([]string) error { return nil } // the API knows which are allowed

func (d *definition) groups() []flags.Group {
	text := flags.Text
	return []flags.Group{
		{Name: "Action", Settings: []*flags.Setting{
			{Flag: "uri", Value: text("URI", &d.uri), Help: "Address that the job calls."},
			{Flag: "method", Short: "X", Value: text("method", &d.method), Help: "GET by default, and POST with a body."},
			{Flag: "body", Short: "d", Value: text("text", &d.body), Help: "Body of the request; @FILE is the text of a file."},
			{Flag: "header", Short: "H", Value: flags.Lines("name:value", &d.headers),
				Help: "Header of the request. It can be given several times."},
			{Flag: "retries", Value: text("count", &d.retries), Help: "How often a failed attempt is repeated; 0: never."},
			{Flag: "retry-interval", Value: text("duration", &d.retryAfter), Help: "Time between attempts, such as PT30S or 30s."},
			{Flag: "on-failure", Value: text("URI", &d.onFailure), Help: "Address to call by GET when all attempts have failed."},
			{Flag: "disable-after", Value: text("count", &d.disableAfter),
				Help: "Failures in a row after which the job is disabled; 0: never."},
		}},
		{Name: "Schedule", Settings: []*flags.Setting{
			{Flag: "every", Value: text("time", &d.every), Help: "Frequency and interval in one, such as 15m, 2h, day or 2weeks, or all in English such as \"last Friday 17:15\"."},
			{Flag: "frequency", Value: flags.NewValue("unit", "", func(t string) error { d.frequency = t; return nil },
				"minute", "hour", "day", "week", "month", "year"), Help: "minute, hour, day, week, month or year."},
			{Flag: "interval", Short: "i", Value: text("count", &d.interval), Help: "Every how many of the frequency."},
			{Flag: "cron", Value: text("expression", &d.cron),
				Help: "Cron expression such as \"0 9 * * mon-fri\", in place of the flags above and of hours to months."},
			{Flag: "rrule", Value: text("rule", &d.rrule),
				Help: "RRULE of iCalendar such as \"FREQ=WEEKLY;BYDAY=MO\", in place of the same flags."},
			{Flag: "hours", Value: flags.List("hours", &d.hours, numbers), Help: "Hours of the day, such as 9,17."},
			{Flag: "minutes", Value: flags.List("minutes", &d.minutes, numbers), Help: "Minutes of the hour, such as 0,30."},
			{Flag: "week-days", Value: flags.List("days", &d.weekDays, numbers), Help: "Days of the week, such as monday,friday."},
			{Flag: "month-days", Value: flags.List("days", &d.monthDays, numbers), Help: "Days of the month; -1 is the last."},
			{Flag: "monthly", Value: flags.Lines("day", &d.occurrences),
				Help: "Day of the week in the month, such as \"last friday\" or \"1 monday\". It can be given several times."},
			{Flag: "months", Value: flags.List("months", &d.months, numbers), Help: "Months of the year, 1 to 12."},
			{Flag: "time-zone", Short: "z", Value: text("zone", &d.zone), Help: "Time zone of the schedule, such as Europe/Berlin."},
			{Flag: "start", Value: text("time", &d.start),
				Help: "When the first run is due; without an offset in the time zone. Without it, at once."},
			{Flag: "end", Value: text("time", &d.end), Help: "After which time nothing runs."},
			{Flag: "count", Value: text("count", &d.count), Help: "How many runs at most."},
			{Flag: "catch-up", Value: text("duration", &d.catchUp), Help: "How far back missed runs are caught up, such as PT1H."},
			{Flag: "flexible-window", Value: text("duration", &d.flexible),
				Help: "Within what time after it is due a run starts, such as 5m, by a hash of the name; 0s: at once."},
			{Flag: "blackout", Value: flags.Lines("blackout", &d.blackouts),
				Help: "Time in which nothing starts, such as \"night 22:00-06:00 runAtEnd\"; several are possible; none: none."},
			{Flag: "overlap", Value: flags.NewValue("policy", "", func(t string) error { d.overlap = t; return nil },
				"BufferOne", "Skip", "AllowAll"), Help: "What happens while a run lasts: BufferOne, Skip or AllowAll."},
		}},
	}
}

// given reports whether any of the flags is.
func (d *definition) given() bool {
	for _, g := range d.groups() {
		for _, s := range g.Settings {
			if d.set.Get(s.Flag).Given() {
				return true
			}
		}
	}
	return false
}

// A tree is a JSON object that is being made.
type tree map[string]any

// put sets the member at a path, whose parts are separated by dots.
func (t tree) put(path string, value any) {
	parts := strings.Split(path, ".")
	at := t
	for _, part := range parts[:len(parts)-1] {
		below, ok := at[part].(tree)
		if !ok {
			below = tree{}
			at[part] = below
		}
		at = below
	}
	at[parts[len(parts)-1]] = value
}

// patch returns what the flags change of a job.
func (d *definition) patch() (tree, error) {
	t := tree{}
	errs := errors.Join(d.action(t), d.schedule(t))
	return t, exit.With(exit.Usage, errs)
}

const (
	inRequest    = "properties.action.request."
	inRecurrence = "properties.recurrence."
)

func (d *definition) action(t tree) error {
	if d.method != "" {
		t.put(inRequest+"method", strings.ToUpper(d.method))
	}
	if d.uri != "" {
		t.put(inRequest+"uri", d.uri)
		t.put("properties.action.type", "Http")
	}
	body, err := textOrFile(d.body)
	if d.set.Get("body").Given() {
		t.put(inRequest+"body", body)
	}
	errs := []error{err}
	for _, header := range d.headers {
		name, value, ok := strings.Cut(header, ":")
		if !ok {
			errs = append(errs, fmt.Errorf("--header: %q has no colon; allowed: NAME:VALUE", header))
			continue
		}
		headers, _ := lookUp(t, inRequest+"headers").(map[string]string) // names may have dots
		if headers == nil {
			headers = map[string]string{}
			t.put(inRequest+"headers", headers)
		}
		headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	if d.onFailure != "" {
		t.put("properties.action.errorAction", tree{"type": "Http", "request": tree{"method": "GET", "uri": d.onFailure}})
	}
	errs = append(errs, d.number(t, "disable-after", "properties.disableAfter"), d.retry(t))
	return errors.Join(errs...)
}

func lookUp(t tree, path string) any {
	var at any = t
	for part := range strings.SplitSeq(path, ".") {
		below, ok := at.(tree)
		if !ok {
			return nil
		}
		at = below[part]
	}
	return at
}

func (d *definition) retry(t tree) error {
	const policy = "properties.action.retryPolicy."
	if d.retryAfter != "" {
		t.put(policy+"retryType", "fixed")
		t.put(policy+"retryInterval", isoOf(d.retryAfter))
	}
	switch {
	case d.retries == "":
		return nil
	case d.retries == "0" && d.retryAfter == "":
		t.put("properties.action.retryPolicy", tree{"retryType": "none", "retryInterval": nil, "retryCount": nil})
		return nil
	}
	t.put(policy+"retryType", "fixed")
	return d.number(t, "retries", policy+"retryCount")
}

// number puts a number. One that is none stays a text, which the API refuses in its words.
func (d *definition) number(t tree, flag, path string) error {
	s := d.set.Get(flag)
	if !s.Given() {
		return nil
	}
	n, err := strconv.Atoi(s.Text())
	if err != nil {
		return s.Wrong(fmt.Errorf("%q is not a number", s.Text()), "")
	}
	t.put(path, n)
	return nil
}

var everyForm = regexp.MustCompile(`^(\d*)\s*([a-z]+?)s?$`)

var units = map[string]string{
	"m": "minute", "min": "minute", "minute": "minute", "h": "hour", "hour": "hour", "d": "day", "day": "day",
	"w": "week", "week": "week", "mo": "month", "month": "month", "y": "year", "year": "year",
}

func (d *definition) schedule(t tree) error {
	for flag, member := range map[string]string{
		"frequency": "frequency", "time-zone": "timeZone", "end": "endTime", "overlap": "overlapPolicy",
	} {
		if s := d.set.Get(flag); s.Given() {
			t.put(inRecurrence+member, s.Text())
		}
	}
	if d.catchUp != "" {
		t.put(inRecurrence+"catchUpWindow", isoOf(d.catchUp))
	}
	if d.start != "" {
		t.put("properties.startTime", d.start)
	}
	if d.flexible != "" {
		t.put("properties.flexibleWindow", isoOf(d.flexible))
	}
	errs := []error{d.number(t, "interval", inRecurrence+"interval"), d.number(t, "count", inRecurrence+"count")}
	if d.every != "" {
		errs = append(errs, d.putEvery(t))
	}
	lists := map[string]*[]string{
		"hours": &d.hours, "minutes": &d.minutes, "month-days": &d.monthDays, "months": &d.months, "week-days": &d.weekDays,
	}
	for flag, list := range lists {
		if s := d.set.Get(flag); s.Given() {
			errs = append(errs, putList(t, s, memberOf(flag), *list))
		}
	}
	return errors.Join(append(errs, d.monthly(t), d.putNotation(t), d.putBlackouts(t))...)
}

func (d *definition) putEvery(t tree) error {
	if d.reading != nil {
		return d.putReading(t)
	}
	m := everyForm.FindStringSubmatch(strings.ToLower(d.every))
	if m == nil || units[m[2]] == "" {
		return fmt.Errorf("--every: %q is no time; allowed: such as 15m, 2h, day, 2weeks, month or year", d.every)
	}
	t.put(inRecurrence+"frequency", units[m[2]])
	n := 1
	if m[1] != "" {
		var err error
		if n, err = strconv.Atoi(m[1]); err != nil { // digits alone
			return fmt.Errorf("--every: %s is too large", m[1])
		}
	}
	t.put(inRecurrence+"interval", n)
	return nil
}

// putNotation puts an expression in place of frequency, interval and schedule.
func (d *definition) putNotation(t tree) error {
	if d.cron == "" && d.rrule == "" {
		return nil
	}
	for _, s := range []string{
		"every", "frequency", "interval", "hours", "minutes", "week-days", "month-days", "monthly", "months", "cron", "rrule",
	} {
		if s != "cron" && d.set.Get(s).Given() && (s != "rrule" || d.cron != "") {
			return fmt.Errorf("--%s: --%s says when it runs; give one of the two", s, map[bool]string{true: "cron", false: "rrule"}[d.cron != ""])
		}
	}
	for _, member := range []string{"frequency", "interval", "schedule", "cron", "rrule"} {
		t.put(inRecurrence+member, nil)
	}
	if d.cron != "" {
		t.put(inRecurrence+"cron", d.cron)
	} else {
		t.put(inRecurrence+"rrule", d.rrule)
	}
	return nil
}

// memberOf returns the member of the schedule for a flag: weekDays for week-days.
func memberOf(flag string) string {
	first, second, _ := strings.Cut(flag, "-")
	if second != "" {
		second = strings.ToUpper(second[:1]) + second[1:]
	}
	return inRecurrence + "schedule." + first + second
}

func putList(t tree, s *flags.Setting, path string, list []string) error {
	values := make([]any, len(list))
	for i, text := range list {
		values[i] = text
		if s.Flag == "week-days" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return s.Wrong(fmt.Errorf("%q is not a number", text), "")
		}
		values[i] = n
	}
	t.put(path, values)
	return nil
}

var ordinals = map[string]int{"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "last": -1}

func (d *definition) monthly(t tree) error {
	if len(d.occurrences) == 0 {
		return nil
	}
	var all []any
	for _, text := range d.occurrences {
		which, day, ok := strings.Cut(strings.ToLower(strings.TrimSpace(text)), " ")
		n, named := ordinals[which]
		if !named {
			number, err := strconv.Atoi(which)
			ok, n = ok && err == nil, number
		}
		if !ok {
			return fmt.Errorf("--monthly: %q is not a day of the week in the month; allowed: such as \"last friday\" or \"1 monday\"", text)
		}
		all = append(all, tree{"day": strings.TrimSpace(day), "occurrence": n})
	}
	t.put(inRecurrence+"schedule.monthlyOccurrences", all)
	return nil
}

// textOrFile returns a text, or that of the file after an @.
func textOrFile(text string) (string, error) {
	name, isFile := strings.CutPrefix(text, "@")
	if !isFile {
		return text, nil
	}
	content, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("--body: %w", err)
	}
	return string(content), nil
}

var short = regexp.MustCompile(`^(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$`)

// isoOf returns a duration in ISO 8601 for one such as 1h30m. Others stay as they are, for the API.
func isoOf(text string) string {
	m := short.FindStringSubmatch(text)
	if m == nil || text == "" {
		return text
	}
	iso, clock := "P", ""
	if m[1] != "" {
		iso += m[1] + "D"
	}
	for i, unit := range []string{"H", "M", "S"} {
		if m[i+2] != "" {
			clock += m[i+2] + unit
		}
	}
	if clock != "" {
		iso += "T" + clock
	}
	return iso
}

// fitting returns the patch of the flags as it has to be for a job.
func (d *definition) fitting(n base.Name, was client.Job, patch tree) (map[string]any, error) {
	changes, err := objectOf(patch)
	if err != nil {
		return nil, err
	}
	properties, p := objectIn(changes, "properties"), was.Properties
	if policy := p.Action.RetryPolicy; policy != nil && strings.EqualFold(policy.RetryType, "none") && d.retryAfter != "" && d.retries == "" {
		return nil, exit.With(exit.Usage, fmt.Errorf("--retry-interval: the job %s has no retries; --retries gives it some", n))
	}
	if parameters[strings.ToLower(p.Action.Type)] == "request" {
		delete(objectIn(properties, "action"), "type") // Http and Https are the same but for what they allow
	}
	r := objectIn(properties, "recurrence")
	if d.reading != nil && p.Recurrence != nil && p.Recurrence.Schedule != nil {
		if err := losesOld(objectIn(r, "schedule"), p.Recurrence.Schedule); err != nil {
			return nil, err
		}
	}
	if r["frequency"] == nil || p.Recurrence == nil || p.Recurrence.Cron == "" && p.Recurrence.RRule == "" {
		return changes, nil
	}
	for _, member := range []string{"cron", "rrule", "interval", "schedule"} { // what the expression meant goes with it
		if _, given := r[member]; !given {
			r[member] = nil
		}
	}
	return changes, nil
}

// losesOld puts null into the patch of a schedule, if there is one, for what the stored one has and the patch does not: a
// text says a whole schedule.
func losesOld(patch map[string]any, stored any) error {
	was, err := objectOf(stored)
	if err != nil || patch == nil {
		return err
	}
	for member := range was {
		if _, given := patch[member]; !given {
			patch[member] = nil
		}
	}
	return nil
}

// objectOf returns anything as a JSON object.
func objectOf(value any) (map[string]any, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var object map[string]any
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	return object, d.Decode(&object)
}

// writable returns of a job what a user may change.
func writable(j client.Job) (map[string]any, error) {
	j.ID, j.Type, j.Name = "", "", ""
	j.Properties.Status = nil
	return objectOf(j)
}
