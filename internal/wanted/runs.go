package wanted

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"almanac/client"
	"almanac/internal/fields"
	"almanac/job"
	"almanac/job/preview"
)

// Runs are the next runs of a job before and after a change.
type Runs struct {
	Same    int   `json:"same"`
	Moved   int   `json:"moved"`
	Added   int   `json:"added"`
	Dropped int   `json:"dropped"`
	Runs    []Run `json:"runs"`
	Done    bool  `json:"done"` // none follows

	Text    string `json:"text,omitempty"` // the recurrence in English
	WasText string `json:"wasText,omitempty"`
	NotDue  string `json:"othersNotKnown,omitempty"` // why it is not known how many others are due; "" if it is
}

// A Run is a run before and after a change. Times that are zero are absent.
type Run struct {
	Change string    `json:"change"` // same, moved, added or dropped
	Was    time.Time `json:"was,omitzero"`
	WillBe time.Time `json:"willBe,omitzero"`
	Others int       `json:"others"` // other jobs that are due in the second of WillBe, those of the plan included
}

// add adds a run, and counts it.
func (r *Runs) add(one Run) {
	switch one.Change {
	case "moved":
		r.Moved++
	case "added":
		r.Added++
	case "dropped":
		r.Dropped++
	default:
		r.Same++
	}
	r.Runs = append(r.Runs, one)
}

// preview finds the runs of the changes that may move some.
func (p *Plan) preview(ctx context.Context, failed *problems) {
	var changes []*Change
	for _, c := range p.Changes {
		if c.Action == Create || c.Action == Update && c.moves() {
			changes = append(changes, c)
		}
	}
	asked := max(0, min(len(changes), p.options.Previews))
	each(min(8, p.options.Parallel), changes[:asked], func(c *Change) { failed.add(p.previewOne(ctx, c)) })
	why := "how many others are due was not asked"
	if asked > 0 {
		why = fmt.Sprintf("how many others are due was asked for the first %d changes only", asked)
	}
	for _, c := range changes[asked:] {
		failed.add(p.alone(c, why))
	}
	together(p.Changes)
}

// together counts with each run those of the other changes of the plan: the server does not know yet that they come due
// then, or no longer do.
func together(changes []*Change) {
	all := map[time.Time]int{}
	for _, c := range changes {
		for at, n := range c.arrivals() {
			all[at] += n
		}
	}
	for _, c := range changes {
		if c.Runs == nil {
			continue
		}
		own := c.arrivals()
		for i := range c.Runs.Runs {
			if r := &c.Runs.Runs[i]; !r.WillBe.IsZero() {
				at := r.WillBe.Truncate(time.Second).UTC()
				r.Others = max(0, r.Others+all[at]-own[at])
			}
		}
	}
}

// arrivals returns how many runs more a change makes in each second; fewer than none if they go.
func (c *Change) arrivals() map[time.Time]int {
	n := map[time.Time]int{}
	if c.Runs == nil {
		return n
	}
	for _, r := range c.Runs.Runs {
		if r.Change == "moved" || r.Change == "added" {
			n[r.WillBe.Truncate(time.Second).UTC()]++
		}
		if r.Change == "moved" || r.Change == "dropped" {
			n[r.Was.Truncate(time.Second).UTC()]--
		}
	}
	return n
}

// moves reports whether a change can move a run.
func (c *Change) moves() bool {
	for _, f := range c.Fields {
		if f.Path == "startTime" || f.Path == "state" || f.Path == "recurrence" || strings.HasPrefix(f.Path, "recurrence.") {
			return true
		}
	}
	return false
}

// A timing is the part of a definition that says when a job runs.
type timing struct {
	StartTime  *job.Time       `json:"startTime,omitempty"`
	Recurrence *job.Recurrence `json:"recurrence,omitempty"`
	State      job.State       `json:"state,omitempty"`
	Action     *job.Action     `json:"action,omitempty"`
}

// body returns the body of a preview, with null for what the server has of a recurrence and the file has not: a PUT
// without it may keep it.
func (of timing) body(stored *job.Recurrence) ([]byte, error) {
	text, err := fields.PlainJSON(of)
	if err != nil {
		return nil, err
	}
	var properties map[string]any
	if err := json.Unmarshal(text, &properties); err != nil {
		return nil, err
	}
	r, _ := properties["recurrence"].(map[string]any)
	switch {
	case r == nil:
		properties["recurrence"] = nil
	case stored != nil:
		for name, has := range keptByPUT(stored) {
			if _, there := r[name]; has && !there {
				r[name] = nil
			}
		}
	}
	return fields.PlainJSON(map[string]any{"properties": properties})
}

// previewOne asks the server what a change does to the runs of a job, and how many others are due with each. It sends no
// part of the action that the file has: it may need secrets.
func (p *Plan) previewOne(ctx context.Context, c *Change) error {
	want, err := definitionOf(c.job, c.is, p.options.Now())
	if err != nil {
		return err
	}
	of := timing{want.StartTime, withoutMeaning(&want), want.State, nil}
	if c.is == nil {
		return p.previewNew(ctx, c, &want, of)
	}
	of.Action = &c.is.definition.Action
	body, err := of.body(c.is.definition.Recurrence)
	if err != nil {
		return err
	}
	var found client.ChangePreview
	err = patiently(ctx, func() (err error) {
		found, err = p.options.Client.PreviewChangeBody(ctx, c.Collection, c.Name, p.options.Take, json.RawMessage(body))
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: the preview of its runs: %w", c.name(), err)
	}
	r := &Runs{Done: found.Done, Text: found.Text, WasText: found.WasText}
	if found.AsOf.IsZero() {
		r.NotDue = "the other jobs could not be read"
	}
	words := map[string]string{"moves": "moved", "new": "added", "goes": "dropped", "same": "same"}
	for _, one := range found.Runs {
		r.add(Run{Change: words[one.Change], Was: one.Was, WillBe: one.WillBe, Others: one.Others})
	}
	c.Runs = r
	return nil
}

// previewNew asks the server how many others are due with each run of a new job.
func (p *Plan) previewNew(ctx context.Context, c *Change, want *job.Definition, of timing) error {
	if want.State == job.StateDisabled {
		return p.alone(c, "")
	}
	body, err := fields.PlainJSON(map[string]any{"take": p.options.Take, "properties": of})
	if err != nil {
		return err
	}
	var found client.Forecast
	for _, scope := range []client.Scope{client.InSubscription(), client.InCollection(c.Collection)} { // many jobs are too many
		err = patiently(ctx, func() (err error) {
			found, err = p.options.Client.ForecastBesideBody(ctx, scope, client.Window{}, json.RawMessage(body))
			return err
		})
		if err == nil {
			break
		}
	}
	if err != nil {
		return p.alone(c, err.Error())
	}
	r := &Runs{Done: found.Done, Text: want.When()}
	for _, one := range found.Occurrences {
		r.add(Run{Change: "added", WillBe: one.Time, Others: one.Due})
	}
	c.Runs = r
	return nil
}

// alone finds the next runs of a job without asking the server. why says why it is not asked how many others are due.
func (p *Plan) alone(c *Change, why string) error {
	want, err := definitionOf(c.job, c.is, p.options.Now())
	if err != nil {
		return err
	}
	c.Runs = &Runs{Done: true, Text: want.When(), NotDue: why}
	if want.State == job.StateDisabled {
		return nil
	}
	if c.is != nil { // it is the server that knows which runs are planned
		c.Runs.Done, c.Runs.WasText = false, c.is.definition.When()
		c.Runs.NotDue = "its runs were not asked for, as there are too many changes"
		return nil
	}
	found := preview.Preview{Now: p.options.Now(), Take: p.options.Take, Definition: want}.Run()
	if found.Error != nil {
		return fmt.Errorf("%s: the preview of its runs: %s", c.name(), found.Error.Message)
	}
	c.Runs.Done = found.Done
	for _, at := range found.Occurrences {
		c.Runs.add(Run{Change: "added", WillBe: at})
	}
	return nil
}
