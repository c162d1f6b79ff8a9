package console

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"almanac/access"
	"almanac/client"
)

// A backfillView is the page at which past occurrences of a job are run, after it has said which.
type backfillView struct {
	Collection, Name, Path string
	Zone                   string
	From, Until            string // local times, as the fields have them
	AtOnce, Every          string
	Presets                []choice // of From
	Wrong                  string
	Listed                 string // what the page has listed
	Other                  bool   // that is something else than the form had listed before
	Shown                  bool
	Total                  int
	More                   bool
	Rows                   []nextRow
	Rest                   int
	Last                   *stamp
	Refused                string // why the caller may not begin it
	All                    []backfillRow

	asks client.BackfillRequest
}

// A backfillRow is a backfill and its progress.
type backfillRow struct {
	Name, Link        string
	Mark, Word        string
	From, To          *stamp
	Total, Ended      int
	Succeeded, Failed int
	Pace              string
	By                string
	At, EndedAt       *stamp
	Reason            string
	Pause, Resume     bool
	End               bool
}

// A progressView is the page of one backfill, which is loaded again until it has ended.
type progressView struct {
	Collection, Name, Path string
	Back                   string
	Row                    backfillRow
}

// mostOperators is how many occurrences the role operator may have run; more take that of contributors.
const mostOperators = 100

func (s *Console) backfill(p *page) error                { _, err := s.backfilling(p, false); return err }
func (s *Console) beginBackfill(p *page) (string, error) { return s.backfilling(p, true) }

// backfilling begins a backfill if a form asks for it that has listed what that runs; otherwise it shows that.
func (s *Console) backfilling(p *page, sent bool) (string, error) {
	collection, name := p.names()
	j, err := p.api().Job(p.ctx, collection, name)
	if err != nil {
		return "", err
	}
	collection, name = j.Names()
	if !p.May(access.RunJobs, collection, name) {
		return "", forbidden("run past occurrences of this job")
	}
	zone := p.Clock.in(zoneOf(&j.Properties))
	v := &backfillView{Collection: collection, Name: name, Path: jobPath(collection, name, "backfill"), Zone: zone.Zone}
	form := p.r.PostForm
	if form == nil {
		form = p.r.URL.Query()
	}
	v.read(form, zone)
	p.template, p.Title, p.Current, p.Main = "backfill", "Backfill "+name, "Jobs", v
	if sent && v.Wrong == "" && form.Get("do") != "check" && form.Get("preset") == "" && form.Get("listed") == v.Listed {
		begun, err := p.api().Backfill(p.ctx, collection, name, v.asks)
		if err == nil {
			parts := strings.Split(begun.Name, "/")
			return jobPath(collection, name, "backfills", parts[len(parts)-1]), nil
		}
		if client.StatusOf(err) != http.StatusBadRequest {
			return "", err
		}
		v.Wrong = err.Error()
	}
	v.Other = form.Has("listed") && form.Get("listed") != v.Listed && form.Get("do") != "check" && form.Get("preset") == ""
	all, err := p.api().Backfills(p.ctx, collection, name)
	if err != nil {
		return "", err
	}
	for i := range all {
		v.All = append(v.All, p.backfillRow(&all[i], zone))
	}
	if v.Wrong != "" || v.asks.From.IsZero() {
		return "", nil
	}
	found, err := p.api().PreviewBackfill(p.ctx, collection, name, v.asks)
	if client.StatusOf(err) == http.StatusBadRequest {
		v.Wrong = err.Error()
		return "", nil
	}
	v.show(p, &found, zone)
	return "", err
}

// read reads the fields of the form, and says what is wrong with them.
func (v *backfillView) read(form url.Values, zone clock) {
	v.From, v.Until, v.AtOnce, v.Every = form.Get("from"), form.Get("until"), strings.TrimSpace(form.Get("atOnce")), strings.TrimSpace(form.Get("every"))
	now := zone.Now.Truncate(time.Minute)
	if v.Until == "" {
		v.Until = now.Format(localTime)
	}
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	v.Presets = []choice{
		{midnight.Format(localTime), "Today"}, {midnight.AddDate(0, 0, -1).Format(localTime), "From yesterday"}, {midnight.AddDate(0, 0, -7).Format(localTime), "The last 7 days"},
	}
	if preset := form.Get("preset"); preset != "" {
		v.From = preset
	}
	if v.From == "" {
		return
	}
	wrong := func(label string, err error) {
		if err != nil && v.Wrong == "" {
			v.Wrong = label + ": " + err.Error() + "."
		}
	}
	var err error
	v.asks.From, err = zone.moment(v.From)
	wrong("From", err)
	v.asks.Until, err = zone.moment(v.Until)
	wrong("Until", err)
	if v.AtOnce != "" {
		if v.asks.AtOnce, err = strconv.Atoi(v.AtOnce); err != nil || v.asks.AtOnce < 1 || v.asks.AtOnce > 10 {
			v.Wrong = "At once: write a number from 1 to 10."
		}
	}
	if v.Every != "" {
		seconds, err := strconv.ParseFloat(v.Every, 64)
		if err != nil || seconds < 0 || seconds > 24*3600 {
			v.Wrong = "Seconds apart: write a number from 0 to 86,400."
		}
		v.asks.Every = time.Duration(seconds * float64(time.Second)).Round(time.Millisecond)
	}
	v.Listed = strings.Join([]string{string(client.At(v.asks.From)), string(client.At(v.asks.Until)), v.AtOnce, v.Every}, " ")
}

// show says which occurrences the backfill would run.
func (v *backfillView) show(p *page, found *client.BackfillPreview, zone clock) {
	v.Shown, v.Total, v.More, v.Last = true, found.Total, found.More, zone.at(found.Last)
	for _, due := range found.Occurrences {
		v.Rows = append(v.Rows, nextRow{At: zone.at(due), Rel: zone.rel(due)})
	}
	v.Rest = found.Total - len(v.Rows)
	running := slices.ContainsFunc(v.All, func(r backfillRow) bool { return r.End })
	switch {
	case found.More:
		v.Refused = "A backfill has 10,000 occurrences at most: choose a shorter time."
	case running:
		v.Refused = "Another backfill of this job has not ended: a job has one at a time."
	case found.Total > mostOperators && !p.May(access.WriteJobs, v.Collection, v.Name):
		v.Refused = "You may run 100 occurrences at most in one backfill: more take the role contributor."
	}
}

// backfillRow returns how a backfill stands.
func (p *page) backfillRow(b *client.Backfill, zone clock) backfillRow {
	q := &b.Properties
	parts := strings.Split(b.Name, "/")
	name := parts[len(parts)-1]
	collection, job := client.NamesOf(b.Name)
	row := backfillRow{Name: name, Link: p.JobLink(collection, job, "backfills", name), From: zone.at(q.From), To: zone.at(q.Until), Total: q.Total,
		Ended: q.Succeeded + q.Failed, Succeeded: q.Succeeded, Failed: q.Failed, By: q.Caller, At: zone.at(q.Time.Truncate(time.Second)),
		EndedAt: zone.at(q.EndTime.Truncate(time.Second)), Reason: q.Reason, Pace: count(max(1, q.AtOnce)) + " at once"}
	if every := client.Duration(q.Every).Length(); every > 0 {
		row.Pace += ", " + length(every) + " apart at least"
	}
	if q.EndTime.IsZero() {
		row.EndedAt = nil
	}
	may := p.May(access.RunJobs, collection, job)
	switch q.State {
	case "running":
		row.Mark, row.Word, row.Pause, row.End = "run", "Running", may, may
	case "paused":
		row.Mark, row.Word, row.Resume, row.End = "off", "Paused", may, may
	case "done":
		row.Mark, row.Word = "ok", "Done"
		if q.Failed > 0 {
			row.Mark = "fail"
		}
	default:
		row.Mark, row.Word = "cancel", "Ended early"
	}
	return row
}

// backfillProgress is the page of one backfill.
func (s *Console) backfillProgress(p *page) error {
	collection, name := p.names()
	j, err := p.api().Job(p.ctx, collection, name)
	if err != nil {
		return err
	}
	all, err := p.api().Backfills(p.ctx, collection, name)
	if status := client.StatusOf(err); status == http.StatusTooManyRequests || status >= http.StatusInternalServerError {
		p.Refresh = 5 // it is watched on
	}
	if err != nil {
		return err
	}
	v := &progressView{Path: jobPath(collection, name, "backfills", p.r.PathValue("backfill")), Back: p.JobLink(collection, name, "backfill")}
	v.Collection, v.Name = j.Names()
	for i := range all {
		row := p.backfillRow(&all[i], p.Clock.in(zoneOf(&j.Properties)))
		if row.Name != p.r.PathValue("backfill") {
			continue
		}
		if v.Row = row; all[i].Properties.EndTime.IsZero() {
			p.Refresh = 2
		}
		p.template, p.Title, p.Current, p.Main = "progress", "A backfill of "+v.Name, "Jobs", v
		return nil
	}
	return &client.Error{Status: http.StatusNotFound, Code: "NotFound", Message: "There is no such backfill, or it ended long ago: the last 5 are kept."}
}

// changeBackfill returns a handler of a form that pauses, resumes or ends a backfill.
func (s *Console) changeBackfill(action string) func(*page) (string, error) {
	return func(p *page) (string, error) {
		collection, name := p.names()
		_, err := p.api().ChangeBackfill(p.ctx, collection, name, p.r.PathValue("backfill"), action)
		return jobPath(collection, name, "backfills", p.r.PathValue("backfill")), err
	}
}
