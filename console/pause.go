package console

import (
	"cmp"
	"net/url"
	"strings"
	"time"

	"almanac/access"
	"almanac/client"
)

// A pauseView is the page at which a job or a job collection is disabled, or enabled again. It says what that holds and
// what runs at its end before anything is done.
type pauseView struct {
	Collection, Name string // Name is "" for a collection
	Path             string // of the form
	Back             string // the link to what is paused
	Ends             bool   // it is enabled
	Now              *pauseInfo
	Promise          promiseForm
	Held             heldView
}

// A pauseInfo is how something is disabled.
type pauseInfo struct {
	Paused     bool // it ends by itself, or something was promised of its end
	Collection bool
	By         string
	Since, Ago *stamp
	Until, In  *stamp
	Then       string
	Note       string
}

// thens says what becomes of what was held.
var thens = map[client.Recover]string{
	client.RecoverNone: "none of what it holds runs", client.RecoverLatest: "the latest of what it holds runs", client.RecoverAll: "all that it holds runs",
}

// pauseOf returns how something is disabled; nil if that is not known.
func (c clock) pauseOf(d *client.Disabled) *pauseInfo {
	if d == nil {
		return nil
	}
	info := &pauseInfo{Collection: d.Collection, By: d.Caller, Note: d.Note, Until: c.at(d.Until), In: c.end(d.Until)}
	info.Since, info.Ago = c.at(d.Time.Truncate(time.Second)), c.rel(d.Time.Truncate(time.Second))
	if d.Time.IsZero() {
		info.Since, info.Ago = nil, nil
	}
	info.Paused = !d.Until.IsZero() || d.Recover != ""
	if info.Then = thens[d.Recover]; d.Recover == client.RecoverAll {
		info.Then += ", " + count(max(1, d.AtOnce)) + " at once"
	}
	return info
}

// stopped returns what a list says of a job in place of its next run.
func (c clock) stopped(d *client.Disabled, word string) next {
	n := next{Text: word, Class: "mid"}
	if d == nil {
		return n
	}
	by := ""
	if d.Caller != "" {
		by, _ = shortened(d.Caller)
		by = " by " + by
	}
	if n.Note = d.Note; d.Until.IsZero() {
		n.Text, n.Rel = word+by, c.rel(d.Time.Truncate(time.Second))
		if d.Time.IsZero() {
			n.Rel = nil
		}
		return n
	}
	n.Text, n.Rel = strings.Replace(word, "disabled", "paused", 1)+by+", ends", c.end(d.Until)
	return n
}

// pausedView returns the page of a job or a collection that is paused or enabled.
func (p *page) pausedView(collection, name string, ends bool, zone clock) *pauseView {
	v := &pauseView{Collection: collection, Name: name, Ends: ends}
	verb := map[bool]string{false: "pause", true: "resume"}[ends]
	if name == "" {
		v.Path, v.Back = "/"+verb+"/"+url.PathEscape(collection), p.CollectionLink(collection)
	} else {
		v.Path, v.Back = jobPath(collection, name, verb), p.JobLink(collection, name)
	}
	p.template, p.Current, p.Main = "pause", "Jobs", v
	p.Title = map[bool]string{false: "Pause ", true: "Enable "}[ends] + cmp.Or(name, collection)
	form := p.r.PostForm
	if form == nil {
		form = p.r.URL.Query()
	}
	v.Promise = p.promiseOf(form, zone, ends)
	return v
}

// pauseJob shows what a pause of a job would hold, and what runs at its end.
func (s *Console) pauseJob(p *page) error { _, err := s.pausing(p, false, false); return err }

// resumeJob shows what would run if a job was enabled.
func (s *Console) resumeJob(p *page) error { _, err := s.pausing(p, true, false); return err }

func (s *Console) doPauseJob(p *page) (string, error)  { return s.pausing(p, false, true) }
func (s *Console) doResumeJob(p *page) (string, error) { return s.pausing(p, true, true) }

// pausing pauses a job, or enables it, if a form asks for it that has listed what that holds; otherwise it shows that.
func (s *Console) pausing(p *page, ends, sent bool) (string, error) {
	collection, name := p.names()
	j, err := p.api().Job(p.ctx, collection, name)
	if err != nil {
		return "", err
	}
	if !p.May(map[bool]access.Action{false: access.DisableJobs, true: access.EnableJobs}[ends], collection, name) {
		return "", forbidden(map[bool]string{false: "pause this job", true: "enable this job"}[ends])
	}
	collection, name = j.Names()
	zone := p.Clock.in(zoneOf(&j.Properties))
	v := p.pausedView(collection, name, ends, zone)
	if st := j.Properties.Status; st != nil && st.Disabled != nil {
		v.Now, v.Promise.promised = zone.pauseOf(st.Disabled), st.Disabled.Recover
	}
	f := &v.Promise
	if sent && f.mayGoOn() {
		if ends {
			_, err = p.api().EnableJob(p.ctx, collection, name, f.promise)
			return jobPath(collection, name) + "?done=resumed", err
		}
		_, err = p.api().DisableJob(p.ctx, collection, name, f.promise)
		return jobPath(collection, name) + "?done=paused", err
	}
	f.offer()
	if f.Wrong != "" {
		return "", nil
	}
	held, err := p.api().PreviewPause(p.ctx, collection, name, actionOf(ends), heldAs(f, ends))
	v.Held = heldOf(&held, f, zone)
	return "", err
}

func actionOf(ends bool) string {
	if ends {
		return string(client.BulkEnable)
	}
	return string(client.BulkDisable)
}

func (s *Console) pauseCollection(p *page) error  { _, err := s.pausingAll(p, false, false); return err }
func (s *Console) resumeCollection(p *page) error { _, err := s.pausingAll(p, true, false); return err }

func (s *Console) doPauseCollection(p *page) (string, error)  { return s.pausingAll(p, false, true) }
func (s *Console) doResumeCollection(p *page) (string, error) { return s.pausingAll(p, true, true) }

// pausingAll is pausing of a job collection.
func (s *Console) pausingAll(p *page, ends, sent bool) (string, error) {
	of, err := p.api().Collection(p.ctx, p.r.PathValue("collection"))
	if err != nil {
		return "", err
	}
	if !p.May(map[bool]access.Action{false: access.DisableCollections, true: access.EnableCollections}[ends], of.Name, "") {
		return "", forbidden(map[bool]string{false: "pause this collection", true: "enable this collection"}[ends])
	}
	v := p.pausedView(of.Name, "", ends, p.Clock)
	if d := of.Properties.Disabled; d != nil {
		v.Now, v.Promise.promised = p.Clock.pauseOf(d), d.Recover
	}
	f := &v.Promise
	if sent && f.mayGoOn() {
		change, done := p.api().DisableCollectionAs, "paused"
		if ends {
			change, done = p.api().EnableCollectionAs, "resumed"
		}
		operation, err := change(p.ctx, of.Name, f.promise)
		if operation != nil {
			done = "collectionchanges"
		}
		return strings.TrimSuffix(jobPath(of.Name, ""), "/") + "?done=" + done, err
	}
	f.offer()
	if f.Wrong != "" {
		return "", nil
	}
	found, err := p.api().PreviewCollectionPause(p.ctx, of.Name, actionOf(ends), heldAs(f, ends))
	v.Held = p.heldOfCollection(of.Name, &found, f)
	return "", err
}
