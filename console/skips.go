package console

import (
	"net/http"
	"net/url"
	"time"

	"almanac/access"
	"almanac/client"
)

// A skipsView is the page at which all occurrences of a time are skipped, after it has said which.
type skipsView struct {
	Collection, Name, Path string
	Zone                   string
	From, Until            string // local times, as the fields have them
	Wrong                  string
	Shown                  bool
	Total                  int
	Beyond                 *stamp // the last of the runs that are known, if the time goes on after it
	Rows                   []nextRow
	Rest                   int

	which client.Occurrences
}

func (s *Console) skips(p *page) error                { _, err := s.skipping(p, false); return err }
func (s *Console) skipWindow(p *page) (string, error) { return s.skipping(p, true) }

// skipping skips what is due in a time if a form asks for it; otherwise it shows what that is.
func (s *Console) skipping(p *page, sent bool) (string, error) {
	collection, name := p.names()
	j, err := p.api().Job(p.ctx, collection, name)
	if err != nil {
		return "", err
	}
	collection, name = j.Names()
	if !p.May(access.SkipJobs, collection, name) {
		return "", forbidden("skip runs of this job")
	}
	zone := p.Clock.in(zoneOf(&j.Properties))
	v := &skipsView{Collection: collection, Name: name, Path: jobPath(collection, name, "skips"), Zone: zone.Zone}
	form := p.r.PostForm
	if form == nil {
		form = p.r.URL.Query()
	}
	v.read(form, zone)
	p.template, p.Title, p.Current, p.Main = "skips", "Skip runs of "+name, "Jobs", v
	if sent && v.Wrong == "" && !v.which.From.IsZero() && form.Get("do") != "check" {
		_, err := p.api().SkipOccurrences(p.ctx, collection, name, v.which)
		switch client.StatusOf(err) {
		case http.StatusBadRequest, http.StatusConflict:
			v.Wrong, p.status = err.Error(), client.StatusOf(err)
		default:
			return jobPath(collection, name) + "?done=skippedall" + "&from=" + url.QueryEscape(string(client.At(v.which.From))) +
				"&until=" + url.QueryEscape(string(client.At(v.which.Until))), err
		}
	}
	if v.Wrong != "" || v.which.From.IsZero() {
		return "", nil
	}
	as := j.Properties
	as.Status = nil
	found, err := p.api().PreviewChangeBeside(p.ctx, collection, name, inCalendars, 0, as)
	if err != nil {
		return "", err
	}
	v.show(&found, zone)
	return "", nil
}

// read reads the fields of the form, and says what is wrong with them.
func (v *skipsView) read(form url.Values, zone clock) {
	v.From, v.Until = form.Get("from"), form.Get("until")
	if v.From == "" && v.Until == "" {
		return
	}
	for _, one := range []struct {
		label, text string
		to          *time.Time
	}{{"From", v.From, &v.which.From}, {"Until", v.Until, &v.which.Until}} {
		at, err := zone.moment(one.text)
		switch *one.to = at; {
		case v.Wrong != "":
		case err != nil:
			v.Wrong = one.label + ": " + err.Error() + "."
		case at.IsZero():
			v.Wrong = one.label + ": write a time."
		}
	}
	switch {
	case v.Wrong != "":
	case !v.which.Until.After(v.which.From):
		v.Wrong = "Until: write a time after the first one."
	case !v.which.Until.After(zone.Now):
		v.Wrong = "Until: " + zone.text(v.which.Until, "") + " is over; choose a time to come."
	}
}

// show says which of the next runs are in the time. A run that calendars move counts by the time from where they do.
func (v *skipsView) show(found *client.ChangePreview, zone clock) {
	nominal := map[time.Time]time.Time{}
	for _, a := range found.Adjustments {
		if !a.ExpectedExecutionTime.IsZero() {
			nominal[a.ExpectedExecutionTime.UTC()] = a.NominalTime
		}
	}
	v.Shown = true
	for i, run := range found.Runs {
		if run.WillBe.IsZero() {
			continue
		}
		at, moved := nominal[run.WillBe.UTC()]
		if !moved {
			at = run.WillBe
		}
		if i == inCalendars-1 && at.Before(v.which.Until) {
			v.Beyond = zone.at(run.WillBe)
		}
		if at.Before(v.which.From) || !at.Before(v.which.Until) {
			continue
		}
		if v.Total++; len(v.Rows) < most {
			v.Rows = append(v.Rows, nextRow{At: zone.at(run.WillBe), Rel: zone.rel(run.WillBe), Moved: zone.moved(found.Adjustments, run.WillBe)})
		}
	}
	v.Rest = v.Total - len(v.Rows)
}
