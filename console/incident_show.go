package console

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"almanac/client"
)

const (
	// shownFacts is how many facts a report lists at most.
	shownFacts = 60

	// shownOfRow is how many jobs a cause names.
	shownOfRow = 4

	// shownChangesOfIncident is how many changes a report lists.
	shownChangesOfIncident = 200
)

// show adds what was read to a page.
func (f *incident) show(p *page, v *incidentView) {
	all := f.sorted()
	f.balance(v, all)
	f.notes(v)
	f.groups(p, v, all)
	f.night(v, all)
	v.Changes, v.NoChange = f.changes[:min(len(f.changes), shownChangesOfIncident)], f.noChanges
	v.Alerts, v.NoAlerts = f.alerts, f.noAlerts
	v.Workers, v.NoWorkers = f.rows[:min(len(f.rows), shownWorkers)], f.noWorkers
	v.MoreCame = len(f.rows) - len(v.Workers)
	v.Jobs, v.JobsRead = f.jobs, f.jobsRead
	v.More = len(f.changes) - len(v.Changes)
	if f.readOf < f.allOf {
		v.OfSome = "Those of " + ofMost(f.readOf, f.allOf) + " job collections were read, first of those with something that did not go well."
	}
	f.completeness(v)
	f.facts(p, v, all)
	f.say(v, all)
}

// completeness says of how many jobs the histories were read.
func (f *incident) completeness(v *incidentView) {
	v.Whole = f.cut.IsZero() && !f.cutLate && f.broken == nil && !f.uncounted && len(f.unread) == 0 && f.jobs > 0
	if f.uncounted {
		v.Read = "How many jobs there are is not known"
		return
	}
	v.Read = jobsRead(f.jobs, slices.Collect(maps.Keys(f.unread)))
}

// jobsRead says how many of some jobs were read, by the names of jobs and collections that were not.
func jobsRead(jobs int, unread []string) string {
	collections := 0
	for _, name := range unread {
		if !strings.Contains(name, "/") {
			collections++
		}
	}
	jobs = max(0, jobs-collections) // each counts as one
	text := count(max(0, jobs-(len(unread)-collections))) + " of " + plural(jobs, "job", "jobs") + " read"
	if collections > 0 {
		text += ", and none of " + plural(collections, "collection", "collections") + " whose jobs are not counted"
	}
	return text
}

// balance adds the parts of what was due.
func (f *incident) balance(v *incidentView, all []*dueEntry) {
	n := map[string]int{}
	for _, d := range all {
		n[d.part()]++
		if d.part() == "ok" && d.isLate() {
			n["late"]++
		}
	}
	v.Due, v.Manual = len(all), len(f.manual)
	add := func(mark, text, class, link string) {
		if n[mark] > 0 || mark == "ok" {
			v.Parts = append(v.Parts, part{n[mark], mark, text, class, link})
		}
	}
	succeeded := "succeeded"
	if n["late"] > 0 {
		succeeded += ", " + count(n["late"]) + " late"
	}
	link := ""
	if n["late"] > 0 {
		link = "#late"
	}
	add("ok", succeeded, "", link)
	add("fail", "failed", "bad", "#failed")
	add("miss", "missed", "lost", "#missed")
	add("skip", "skipped", "", "#skipped")
	add("cancel", "cancelled", "", "#cancelled")
	add("run", "not ended", "", "#open")
}

// part returns the part of the balance that an occurrence is in.
func (d *dueEntry) part() string {
	if d.open {
		return "run"
	}
	return markOf(d.outcome)
}

// notes says what is not in the report.
func (f *incident) notes(v *incidentView) {
	add := func(format string, values ...any) { v.Notes = append(v.Notes, fmt.Sprintf(format, values...)) }
	clock := f.page.Clock
	if !f.cut.IsZero() {
		add("There are %s entries or more, or the rest could not be read: only what was due from %s on is counted. Choose a shorter time, or one collection.", count(incidentEntries), clock.text(f.cut, ""))
	}
	if f.cutLate {
		add("There are %s entries of a kind or more after it: what was missed or failed long after it was due is not all here.", count(incidentEntries))
	}
	if f.broken != nil {
		add("Not all entries could be read: %s", f.page.lost(f.broken))
	}
	if n := len(f.unread); n > 0 {
		some := slices.Sorted(maps.Keys(f.unread))
		add("The histories of %s could not be read, such as that of %s: %s", plural(n, "job", "jobs"), some[0], f.unread[some[0]])
	}
	if f.to.After(clock.Now) {
		add("The time is not over: this is as of %s.", clock.Time())
	}
}

// groups adds what did not go well, by cause.
func (f *incident) groups(p *page, v *incidentView, all []*dueEntry) {
	for _, g := range []struct{ id, heading, mark string }{
		{"failed", "Failed", "fail"}, {"open", "Not ended", "run"}, {"missed", "Missed", "miss"}, {"late", "Late", "warn"}, {"skipped", "Skipped", "skip"}, {"cancelled", "Cancelled", "cancel"},
	} {
		group := incidentGroup{ID: g.id, Heading: g.heading, Mark: g.mark, Still: g.mark == "fail" && f.failed}
		byCause, order := map[string][]*dueEntry{}, []string{}
		total, late := 0, []time.Duration{}
		for _, d := range all {
			cause, ok := d.causeIn(g.mark)
			if !ok {
				continue
			}
			if total, late = total+1, append(late, d.late); byCause[cause] == nil {
				order = append(order, cause)
			}
			byCause[cause] = append(byCause[cause], d)
		}
		if total == 0 {
			continue
		}
		switch group.Note = plural(total, "occurrence", "occurrences"); g.mark {
		case "run":
			group.Note = plural(total, "execution waits", "executions wait") + " for a retry, by the cause of the last attempt"
		case "fail":
			group.Note = plural(total, "execution", "executions") + ", by cause"
		case "warn":
			group.Note = plural(total, "execution", "executions") + " by over 5 s; median " + length(quantile(late, .5))
			slices.Sort(order)
		}
		if g.mark != "warn" {
			slices.SortStableFunc(order, func(a, b string) int { return len(byCause[b]) - len(byCause[a]) })
		}
		for _, cause := range order {
			group.Rows = append(group.Rows, f.row(p, g.mark, byCause[cause]))
		}
		v.Groups = append(v.Groups, group)
	}
}

// lateSteps are the rows of those that were late.
var lateSteps = []struct {
	below time.Duration
	text  string
}{{10 * time.Second, "5 s to 10 s"}, {time.Minute, "10 s to 1 min"}, {10 * time.Minute, "1 min to 10 min"}, {time.Hour, "10 min to 1 h"}, {1 << 62, "an hour or more"}}

// causeIn returns the cause of an occurrence in a group of the report, and whether it is in that group.
func (d *dueEntry) causeIn(mark string) (cause string, ok bool) {
	if mark == "warn" {
		for i, step := range lateSteps {
			if d.late < step.below {
				return itoa(i), d.isLate()
			}
		}
	}
	return d.said.Cause() + "\x00" + d.said.Host, d.part() == mark
}

// row returns the row of occurrences of one cause.
func (f *incident) row(p *page, mark string, of []*dueEntry) incidentRow {
	row := incidentRow{N: len(of), Text: of[0].said.Cause(), Host: of[0].said.Host}
	example := of[0]
	if mark == "warn" {
		step, _ := of[0].causeIn(mark)
		row.Text, row.Host = lateSteps[step[0]-'0'].text, ""
		for _, d := range of {
			if d.late > example.late {
				example = d
			}
		}
	}
	row.From, row.To = p.Clock.at(of[0].due), p.Clock.at(of[len(of)-1].due)
	times := map[string]int{}
	for _, d := range of {
		times[d.job()]++
	}
	names := slices.SortedFunc(maps.Keys(times), func(a, b string) int { return cmp.Or(times[b]-times[a], cmp.Compare(a, b)) })
	row.Jobs = len(names)
	for i, name := range names {
		if f.failing[name] {
			row.Still++
		}
		if i < shownOfRow {
			collection, job, _ := strings.Cut(name, "/")
			text := name
			if times[name] > 1 {
				text += fmt.Sprintf(" (%d)", times[name])
			}
			row.Which = append(row.Which, jobLink{text, p.JobLink(collection, job) + "#history"})
		}
	}
	row.Rest = max(0, len(names)-shownOfRow)
	row.Example = example.job() + ", due " + p.Clock.text(example.due, "")
	if mark == "warn" {
		row.Example += ", late by " + length(example.late)
	}
	row.Why = p.explainLink(example.collection, example.name, example.due)
	row.Sentence = f.sentences[row.Why]
	return row
}

// facts adds what happened, in the order of time.
func (f *incident) facts(p *page, v *incidentView, all []*dueEntry) {
	facts := slices.Clone(f.workers)
	add := func(at time.Time, mark, text, source, link string) {
		facts = append(facts, incidentFact{At: p.Clock.at(at.Truncate(time.Second)), Mark: mark, Text: text, Source: source, Link: link, at: at})
	}
	type span struct{ first, last, again *dueEntry }
	spans, order := map[string]*span{}, []string{}
	for _, d := range all {
		host := d.said.Host
		if s := spans[host]; s != nil && d.outcome == client.OutcomeCompleted && d.last.After(s.last.last) && s.again == nil && host != "" {
			s.again = d
		}
		if d.part() != "fail" && d.part() != "miss" && d.part() != "run" {
			continue
		}
		key := host
		if d.part() == "miss" {
			key = "\x00missed"
		}
		s := spans[key]
		if s == nil {
			s = &span{first: d}
			spans[key], order = s, append(order, key)
		}
		s.last, s.again = d, nil
	}
	for _, key := range order {
		s := spans[key]
		why := p.explainLink(s.first.collection, s.first.name, s.first.due)
		switch key {
		case "\x00missed":
			add(s.first.due, "miss", "The first occurrence is missed: "+s.first.job(), s.first.said.Text, why)
			add(s.last.due, "miss", "The last one is missed: "+s.last.job(), s.last.said.Text, p.explainLink(s.last.collection, s.last.name, s.last.due))
		default:
			host := key
			if host == "" {
				host = "a target"
			}
			add(s.first.began, "fail", "The first execution that sends to "+host+" fails: "+s.first.said.Cause(), s.first.job(), why)
			if s.again != nil {
				add(s.again.last, "ok", host+" answers again", s.again.job(), p.JobLink(s.again.collection, s.again.name)+"#history")
			}
		}
	}
	for _, c := range f.changes {
		add(c.at, "edit", c.Who+" "+c.What, c.subjects(), c.Link)
	}
	for _, a := range f.alerts {
		add(a.at, "warn", map[bool]string{true: "An alert could not be sent to ", false: "An alert was sent to "}[a.Mark == "fail"]+a.To, strings.TrimSuffix(a.Status+", "+a.Answer, ", "), "")
	}
	slices.SortStableFunc(facts, func(a, b incidentFact) int { return a.at.Compare(b.at) })
	if len(facts) > shownFacts {
		v.FactsCut, facts = len(facts)-shownFacts, facts[:shownFacts]
	}
	v.Facts = facts
}

// subjects returns what was changed.
func (c *incidentChange) subjects() string {
	if c.More > 0 {
		return c.Subject + " and " + plural(c.More, "other", "others")
	}
	return c.Subject
}

// say adds the sentences at the top.
func (f *incident) say(v *incidentView, all []*dueEntry) {
	add := func(text, class string) { v.Say = append(v.Say, piece{text, class}) }
	n, failedJobs, still := map[string]int{}, map[string]bool{}, 0
	for _, d := range all {
		n[d.part()]++
		if d.isLate() {
			n["late"]++
		}
		if d.part() == "fail" {
			failedJobs[d.job()] = true
		}
	}
	for name := range failedJobs {
		if f.failing[name] {
			still++
		}
	}
	if len(all) == 0 {
		add("Nothing is recorded that was due then.", "")
		return
	}
	if text := f.absences(); text != "" {
		add(text+" ", "")
	}
	if n["ok"] == len(all) && n["late"] == 0 {
		if len(all) == 1 {
			add("The one occurrence that was due succeeded, and began within 5 s.", "")
			return
		}
		add("All "+count(len(all))+" occurrences that were due succeeded, and began within 5 s.", "")
		return
	}
	var parts [][2]string
	if n["miss"] > 0 {
		parts = append(parts, [2]string{plural(n["miss"], "was missed", "were missed"), "lost"})
	}
	if n["fail"] > 0 {
		parts = append(parts, [2]string{plural(n["fail"], "execution of ", "executions of ") + plural(len(failedJobs), "job", "jobs") + " failed", "bad"})
	}
	if n["late"] > 0 {
		parts = append(parts, [2]string{count(n["late"]) + " began late", ""})
	}
	if others := n["skip"] + n["cancel"]; others > 0 {
		parts = append(parts, [2]string{plural(others, "was skipped or cancelled", "were skipped or cancelled"), ""})
	}
	if n["run"] > 0 {
		parts = append(parts, [2]string{plural(n["run"], "has not ended", "have not ended"), ""})
	}
	add("Of "+plural(len(all), "occurrence", "occurrences")+" ", "")
	for i, one := range parts {
		if i > 0 && i == len(parts)-1 {
			add(" and ", "")
		} else if i > 0 {
			add(", ", "")
		}
		add(one[0], one[1])
	}
	add(".", "")
	if n["fail"] > 0 && f.failed {
		switch still {
		case 0:
			add(" The last execution of none of these jobs failed.", "")
		default:
			add(" Now "+plural(still, "of these jobs fails.", "of these jobs fail."), "")
		}
	}
}

// absences says when no worker was there; "" for never.
func (f *incident) absences() (text string) {
	n, sum := 0, time.Duration(0)
	for _, w := range f.workers {
		if w.gone.IsZero() {
			continue
		}
		if n, sum = n+1, sum+w.back.Sub(w.gone); n == 1 {
			text = w.Text
		}
	}
	if n > 1 {
		text = strings.TrimSuffix(text, ".") + fmt.Sprintf(", and %s more, %s in all.", plural(n-1, "time", "times"), length(sum.Truncate(time.Second)))
	}
	return text
}
