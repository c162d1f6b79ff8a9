package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"almanac/access"
	"almanac/client"
)

// A history is a part of the history of a job: its executions, and occurrences that were not run, newest first.
type history struct {
	Rows  []occurrence
	Shows []filterEntry
	Older string // the link to what is before; "" if there is nothing
	First string // the link to the newest, unless they are shown
	Empty string // why there is none

	late, took []time.Duration // of the executions
	pattern    string          // the outcomes, the oldest first: see bars
}

// An occurrence is an execution or an occurrence that was not run.
type occurrence struct {
	Mark, Word string
	At         *stamp
	Before     string // what is said before what was said
	Said       said
	By         string // who ran it by hand
	Late, Took string
	Why, Link  string    // the words of the link to why it was as it was, and the link
	Attempts   []attempt // of an execution with several

	due    time.Time
	isLate bool // by a second or more
}

// An attempt is one of an execution.
type attempt struct {
	Mark, Word, Name string
	At               *stamp
	Said             said
	Late, Took       string
}

// shows are the choices of the history.
var shows = [][2]string{
	{"", "All"}, {"Failed", "Failed"}, {"Completed", "Succeeded"}, {"Missed", "Missed"}, {"Skipped", "Skipped"}, {"Cancelled", "Cancelled"},
}

func (p *page) history(v *jobView, j *client.Job, clock clock) (h history, err error) {
	q := p.r.URL.Query()
	list := client.List{Token: q.Get("before")}
	chosen := q.Get("show")
	link := p.Link(v.Path)
	for _, show := range shows {
		to := link
		if show[0] != "" {
			to = pageLink(link, "show", show[0])
		}
		h.Shows = append(h.Shows, filterEntry{Text: show[1], Link: to + "#history", Current: chosen == show[0]})
		if chosen == show[0] && show[0] != "" {
			list.Filter, link = "status eq "+show[0], to
		}
	}
	found, err := p.api().HistoryPage(p.ctx, v.Collection, v.Name, list)
	if err != nil {
		return h, err
	}
	begun := strings.Split(q.Get("begun"), ",") // executions that the page before has
	found.Value = slices.DeleteFunc(found.Value, func(e client.History) bool {
		return slices.Contains(begun, itoa(e.Properties.RepeatCount))
	})
	var rest []client.History
	var open []string
	if found.Next != "" && list.Filter == "" {
		if rest, open, err = p.restOf(v, found); err != nil {
			return h, err
		}
		found.Value = append(found.Value, rest...)
	}
	retrying := ""
	if s := j.Properties.Status; s != nil && s.Retry != nil {
		retrying = s.Retry.Execution
	}
	h.group(found.Value, retrying, clock)
	for i := range h.Rows {
		row := &h.Rows[i]
		if row.Why = whyOf(row.Mark, row.Late, row.isLate); row.due.IsZero() || row.By != "" {
			row.Why = ""
		}
		row.Link = p.explainLink(v.Collection, v.Name, row.due)
	}
	if found.Next != "" {
		h.Older = pageLink(link, "before", found.Next)
		if len(open) > 0 {
			h.Older = pageLink(h.Older, "begun", strings.Join(open, ","))
		}
		h.Older += "#history"
	}
	if list.Token != "" {
		h.First = link + "#history"
	}
	h.Empty = "It has not run yet. Its first attempt will be here."
	if list.Filter != "" {
		h.Empty = "No entry of this kind is kept."
	}
	if list.Filter != "" || list.Token != "" { // figures are of the newest executions of all kinds
		h.late, h.took, h.pattern = nil, nil, ""
	}
	return h, nil
}

// restOf completes the executions of a page whose first attempts are on the next one: it returns those entries, and the
// numbers of the executions.
func (p *page) restOf(v *jobView, of client.Page[client.History]) (rest []client.History, open []string, err error) {
	whole := map[int]bool{}
	for _, e := range of.Value {
		q := &e.Properties
		first := q.RepeatCount == 0 || q.ActionName != client.ErrorAction && q.RetryCount == 0
		whole[q.RepeatCount] = whole[q.RepeatCount] || first
	}
	for n, is := range whole {
		if !is {
			open = append(open, itoa(n))
		}
	}
	if len(open) == 0 {
		return nil, nil, nil
	}
	slices.Sort(open)
	next, err := p.api().HistoryPage(p.ctx, v.Collection, v.Name, client.List{Token: of.Next})
	if err != nil {
		return nil, nil, err
	}
	for _, e := range next.Value {
		if slices.Contains(open, itoa(e.Properties.RepeatCount)) {
			rest = append(rest, e)
		}
	}
	return rest, open, nil
}

// group makes one entry of the attempts of each execution.
func (h *history) group(entries []client.History, retrying string, clock clock) {
	var order []int
	executions := map[int][]client.HistoryProperties{}
	for i, e := range entries {
		key := e.Properties.RepeatCount
		if key == 0 {
			key = -1 - i // an occurrence that was not begun
		}
		if executions[key] == nil {
			order = append(order, key)
		}
		executions[key] = append(executions[key], e.Properties)
	}
	signs := []byte{}
	for _, key := range order {
		attempts := executions[key]
		slices.Reverse(attempts) // the oldest first
		waits := key > 0 && strings.HasSuffix(retrying, "-"+itoa(key))
		o, sign := h.occurrence(attempts, waits, clock)
		h.Rows = append(h.Rows, o)
		signs = append(signs, sign)
	}
	slices.Reverse(signs)
	h.pattern = string(signs[max(0, len(signs)-20):])
}

// occurrence returns the entry of an execution, and its sign: see bars.
func (h *history) occurrence(attempts []client.HistoryProperties, waits bool, clock clock) (o occurrence, sign byte) {
	last := attempts[len(attempts)-1]
	main, failed, withError := 0, 0, false
	for _, a := range attempts {
		if a.ActionName == client.ErrorAction {
			withError = true
			continue
		}
		main, last = main+1, a
		if a.Status == client.OutcomeFailed {
			failed++
		}
	}
	o.Mark = markOf(last.Status)
	o.Word, o.Said = words[o.Mark], saidOf(last.Message)
	o.At, o.due = clock.at(last.ExpectedExecutionTime), last.ExpectedExecutionTime
	if o.At == nil {
		o.At = clock.at(attempts[0].StartTime)
	}
	sign = map[client.Outcome]byte{
		client.OutcomeCompleted: 's', client.OutcomeFailed: 'f', client.OutcomeMissed: 'm', client.OutcomeSkipped: 'k', client.OutcomeCancelled: 'c',
	}[last.Status]
	switch {
	case waits:
		o.Mark, o.Word, sign = "retry", words["retry"], 'u'
	case last.Status == client.OutcomeFailed && last.RetryCount > 0:
		o.Before = plural(last.RetryCount+1, "attempt", "attempts") + " failed: "
	case last.Status == client.OutcomeCompleted && failed > 0:
		sign = 'r'
	}
	if attempts[0].Caller != "" {
		o.By = attempts[0].Caller
	}
	if late, ok := attempts[0].Lateness(); ok && o.By == "" {
		o.Late, o.isLate = length(late), late >= time.Second
		h.late = append(h.late, late)
	}
	if ran := last.Status == client.OutcomeCompleted || last.Status == client.OutcomeFailed; ran && attempts[0].RetryCount == 0 {
		took := last.EndTime.Sub(attempts[0].StartTime)
		o.Took = length(took)
		h.took = append(h.took, took)
	}
	if main > 1 || withError {
		o.Attempts = attemptsOf(attempts, clock)
	}
	return o, sign
}

func attemptsOf(attempts []client.HistoryProperties, clock clock) (all []attempt) {
	for _, a := range attempts {
		kind := markOf(a.Status)
		one := attempt{Mark: kind, Word: words[kind], Name: "attempt " + itoa(a.RetryCount+1), At: clock.milli(a.StartTime), Said: saidOf(a.Message)}
		if a.ActionName == client.ErrorAction {
			one.Name = "error action"
			if a.RetryCount > 0 {
				one.Name += ", attempt " + itoa(a.RetryCount+1)
			}
		}
		if late, ok := a.Lateness(); ok && a.Caller == "" {
			one.Late = length(late)
		}
		if !a.StartTime.IsZero() && !a.EndTime.IsZero() {
			one.Took = length(a.EndTime.Sub(a.StartTime))
		}
		all = append(all, one)
	}
	return all
}

// nextRuns are the occurrences of a job that are to come.
type nextRuns struct {
	Rows   []nextRow
	Skips  []skipWindow
	Months []month
	Until  string // the day up to which the calendars have them; "" if they have all
	Clocks bool   // a day has a change of the clock
	Full   bool   // a day has a run with which many others are due
	Off    bool   // a day has what calendars move or skip
	Empty  string // why there is none
}

// A nextRow is an occurrence to come.
type nextRow struct {
	At, Rel *stamp
	Others  string // how many other jobs are due in the same second
	Crowded bool
	Skip    *skipButton
	Skipped bool
	Unskip  string // when it is due, if the caller may have it run after all
	Moved   string // from where calendars move it, and why; "" if they do not
	Gap     string // what they skip, if the row is about that

	due time.Time
}

// A skipWindow is a time in which all occurrences are skipped.
type skipWindow struct {
	From, To      *stamp
	Since, Before string // as a form has them; "" if the caller may not end it
}

// most is how many occurrences to come the page of a job lists.
const most = 10

// inCalendars is how many its calendars have at most.
const inCalendars = 50

// nextRuns returns when a job runs next, and how many others do then.
func (p *page) nextRuns(v *jobView, j *client.Job, clock clock) (n nextRuns, err error) {
	s := j.Properties.Status
	if j.Properties.State != client.JobEnabled || s == nil || s.NextExecutionTime.IsZero() {
		n.Empty = "Nothing is to come."
		if s != nil && s.Reason != "" {
			n.Empty = s.Reason
		} else if j.Properties.State == client.JobDisabled {
			n.Empty = "The job is disabled: no occurrence runs until someone enables it."
		}
		return n, nil
	}
	as := j.Properties
	as.Status = nil
	found, err := p.api().PreviewChangeBeside(p.ctx, v.Collection, v.Name, inCalendars, most, as)
	if client.StatusOf(err) == http.StatusBadRequest {
		n.Empty = "They are not known, because the job would not be accepted as it is: " + err.Error()
		return n, nil
	}
	if err != nil {
		return n, err
	}
	may := p.May(access.SkipJobs, v.Collection, v.Name)
	for _, run := range found.Runs[:min(len(found.Runs), most)] {
		t := run.WillBe
		row := nextRow{At: clock.at(t), Rel: clock.rel(t), Others: othersOf(run.Others), Crowded: run.Others >= crowd, due: t}
		if may && t.Sub(clock.Now) > latestSkip {
			row.Skip = &skipButton{string(client.At(t)), clock.short(t)}
		}
		n.Rows = append(n.Rows, row)
	}
	n.addSkips(s, clock, may)
	n.Rows = clock.adjusted(n.Rows, found.Adjustments, found.Done && len(found.Runs) <= most)
	n.calendars(found.Runs, found.Adjustments, clock, p.Clock.in(v.Zone).Now.Location())
	return n, nil
}

// latestSkip is until how long before it is due an occurrence can be skipped.
const latestSkip = 10 * time.Second

// addSkips adds which occurrences to come are skipped.
func (n *nextRuns) addSkips(s *client.JobStatus, clock clock, may bool) {
	for _, due := range s.Skips {
		i := slices.IndexFunc(n.Rows, func(r nextRow) bool { return r.due.Equal(due) })
		if i < 0 {
			i = len(n.Rows)
			n.Rows = append(n.Rows, nextRow{At: clock.at(due), Rel: clock.rel(due), due: due})
		}
		row := &n.Rows[i]
		if row.Skipped, row.Skip = true, nil; may {
			row.Unskip = string(client.At(due))
		}
	}
	for _, w := range s.SkipWindows {
		one := skipWindow{From: clock.at(w.From), To: clock.at(w.Until)}
		if may {
			one.Since, one.Before = string(client.At(w.From)), string(client.At(w.Until))
		}
		n.Skips = append(n.Skips, one)
		for i := range n.Rows {
			if row := &n.Rows[i]; !row.due.Before(w.From) && row.due.Before(w.Until) {
				row.Skipped, row.Skip = true, nil
			}
		}
	}
	slices.SortStableFunc(n.Rows, func(a, b nextRow) int { return a.due.Compare(b.due) })
}

// crowd is from how many other jobs on a second is worth a warning.
const crowd = 100

func othersOf(n int) string {
	if n == 0 {
		return ""
	}
	return count(n)
}

// escapedQuery is a query for a link.
func escapedQuery(pairs ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	return "?" + q.Encode()
}
