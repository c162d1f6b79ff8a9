package console

import (
	"strings"

	"almanac/client"
)

// heldAs returns the promise of which the API says what it holds. Without any, nothing would be held: what comes due does
// not run either, and is listed.
func heldAs(f *promiseForm, ends bool) client.Pause {
	as := f.promise
	if as.Note = ""; !ends && as.Until.IsZero() && as.Recover == "" {
		as.Recover = client.RecoverNone
	}
	return as
}

// A heldView says what a pause holds, and what runs at its end.
type heldView struct {
	Shown    bool
	Sentence string
	Rows     []heldRow
	Rest     int // jobs beyond the rows
	Jobs     bool
}

// A heldRow is an occurrence that is held, or a job.
type heldRow struct {
	At, Rel          *stamp
	Mark, Word, Text string
	Name, Link       string
}

// heldOf says what a pause of a job holds.
func heldOf(h *client.Held, f *promiseForm, zone clock) heldView {
	v := heldView{Shown: true, Sentence: heldSentence(h, f)}
	for _, o := range h.Occurrences {
		row := heldRow{At: zone.at(o.ExpectedExecutionTime), Rel: zone.rel(o.ExpectedExecutionTime), Mark: "off", Word: "Held", Text: "is left out"}
		switch {
		case o.Runs && f.Ends:
			row.Mark, row.Word, row.Text = "run", "Runs", "runs at once"
		case o.Runs:
			row.Mark, row.Word, row.Text = "next", "Runs", "runs when the pause ends"
		case !f.Ends && f.promise.Until.IsZero() && f.Recover != "":
			row.Text = "is held"
		case !f.Ends && f.promise.Until.IsZero():
			row.Text = "does not run"
		}
		v.Rows = append(v.Rows, row)
	}
	return v
}

// heldSentence says in a sentence what a pause of a job holds.
func heldSentence(h *client.Held, f *promiseForm) string {
	number := plural(h.Held, "run", "runs")
	if h.More {
		number = count(h.Held) + " runs and more"
	}
	atOnce := ""
	if h.Runs > 1 {
		atOnce = ", " + count(h.AtOnce) + " at once"
	}
	switch {
	case f.Ends && h.Held == 0:
		return "Nothing is held, so nothing runs at once."
	case f.Ends:
		return number + " " + isOrAre(h.Held) + " held: " + count(h.Runs) + " would run now" + atOnce + ", and " + count(h.Held-h.Runs) + " would be left out."
	case f.promise.Until.IsZero() && f.Recover == "":
		return "What comes due does not run, and has no entry in the history, until somebody enables it. The next would be:"
	case f.promise.Until.IsZero():
		return "Every run that comes due is held until somebody enables it; then " + thens[f.promise.Recover] + ". The next would be:"
	case h.Held == 0:
		return "No run is due in that time."
	}
	return number + " would be held: at its end " + count(h.Runs) + " of them would run" + atOnce + ", and " + count(h.Held-h.Runs) + " would be left out."
}

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// heldText says in a few words what a pause of one of many jobs holds.
func heldText(h *client.Held, f *promiseForm) string {
	switch {
	case f.Ends && h.Held == 0:
		return "nothing runs at once"
	case f.Ends:
		return plural(h.Held, "run is held", "runs are held") + ", " + count(h.Runs) + " would run now"
	case f.promise.Until.IsZero() && f.Recover == "":
		return "does not run"
	case f.promise.Until.IsZero():
		return "is held"
	case h.Held == 0:
		return "no run is due in that time"
	}
	return plural(h.Held, "run", "runs") + " would be held, " + count(h.Runs) + " would run at its end"
}

// heldOfJobs says what a pause of many jobs holds.
func (p *page) heldOfJobs(collection string, jobs []client.BulkJob, f *promiseForm) heldView {
	v := heldView{Shown: true, Jobs: true}
	sum := client.Held{AtOnce: max(1, f.promise.AtOnce)}
	unknown := 0
	for i := range jobs {
		_, name := client.NamesOf(jobs[i].Name)
		row := heldRow{Name: name, Link: p.JobLink(collection, name), Mark: "off", Word: "Held"}
		h := jobs[i].Held
		if h == nil {
			unknown++
			row.Mark, row.Word, row.Text = "warn", "Unknown", "What it holds is not known: it did not answer in time."
			v.Rows = append(v.Rows, row)
			continue
		}
		sum.Held, sum.Runs, sum.More = sum.Held+h.Held, sum.Runs+h.Runs, sum.More || h.More
		row.Text = heldText(h, f)
		if len(h.Occurrences) > 0 {
			at := h.Occurrences[0].ExpectedExecutionTime
			row.At, row.Rel = f.zone.at(at), f.zone.rel(at)
		}
		if h.Runs > 0 {
			row.Mark, row.Word = "next", "Runs"
		}
		v.Rows = append(v.Rows, row)
	}
	v.Sentence = strings.TrimSuffix(heldSentence(&sum, f), " The next would be:")
	if unknown > 0 {
		v.Sentence += " " + plural(unknown, "job", "jobs") + " did not answer: there may be more."
	}
	return v
}

// heldOfCollection says what a pause of a job collection holds.
func (p *page) heldOfCollection(collection string, h *client.HeldOfCollection, f *promiseForm) heldView {
	sum := client.Held{Held: h.Held, Runs: h.Runs, LeftOut: h.LeftOut, AtOnce: max(1, f.promise.AtOnce), More: h.More}
	v := heldView{Shown: true, Jobs: true, Sentence: strings.TrimSuffix(heldSentence(&sum, f), " The next would be:"), Rest: h.Holding - len(h.Most)}
	if h.Held > 0 {
		v.Sentence += " That is of " + plural(h.Holding, "job", "jobs") + " of " + count(h.Jobs) + "."
	}
	if !h.Complete {
		v.Sentence += " Not all jobs of the collection answered: there may be more."
	}
	for i := range h.Most {
		one := &h.Most[i]
		_, name := client.NamesOf(one.Name)
		row := heldRow{Name: name, Link: p.JobLink(collection, name), Mark: "off", Word: "Held",
			Text: heldText(&client.Held{Held: one.Held, Runs: one.Runs, More: one.More}, f)}
		if one.Runs > 0 {
			row.Mark, row.Word = "next", "Runs"
		}
		v.Rows = append(v.Rows, row)
	}
	return v
}
