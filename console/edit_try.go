package console

import (
	"encoding/json"
	"net/http"
	"time"

	"almanac/client"
)

// A tried is what became of an action that was sent once, without being saved.
type tried struct {
	Mark, Word string
	At         *stamp
	Said       said
	Took       string
	ID         string // what the receiver got
}

// try sends the action of a definition once, and shows the page with what became of it. Nothing is saved.
func (s *Console) try(p *page, v *editView, text string) (string, error) {
	if v.Replaces = p.r.PostForm.Get("replaces"); v.Replaces != "" {
		if err := s.addOther(p, v); err != nil {
			return "", err
		}
	}
	found, err := p.api().TryJobBody(p.ctx, v.Collection, v.Name, json.RawMessage(text))
	if err != nil {
		if status := client.StatusOf(err); status == http.StatusForbidden || status == http.StatusTooManyRequests || status >= http.StatusInternalServerError {
			e := s.told(p, err)
			p.status, v.Wrong = e.Status, e.Message
			return "", s.showEdit(p, v, text)
		}
		return s.notSaved(p, v, text, err)
	}
	kind := markOf(found.Status)
	v.Tried = &tried{Mark: kind, Word: words[kind], At: p.Clock.at(found.StartTime.Truncate(time.Second)), Said: saidOf(found.Message),
		Took: length(found.EndTime.Sub(found.StartTime)), ID: found.ExecutionID}
	if found.Reason != "" && v.Tried.Said.Text == "" {
		v.Tried.Said.Text = found.Reason
	}
	return "", s.showEdit(p, v, text)
}
