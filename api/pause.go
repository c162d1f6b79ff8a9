package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"almanac/api/answer"
	"almanac/api/odata"
	"almanac/api/resource"
	"almanac/internal/fields"
	"almanac/internal/iso8601"
	"almanac/job"
	"almanac/job/preview"
)

// Pauses says of a [Scheduler] what enabling and disabling does, without doing it.
type Pauses interface {
	// PreviewState returns which occurrences of a job would be held, or are held, and what would become of them.
	PreviewState(ctx context.Context, k job.Key, s job.State, p job.Promise) (preview.Held, error)
	// PreviewStates returns that for some jobs of a collection, in their order.
	PreviewStates(
		ctx context.Context, k job.CollectionKey, names []string, s job.State, p job.Promise,
	) ([]preview.Held, []error)
	// PreviewCollectionState returns that for the jobs of a collection.
	PreviewCollectionState(
		ctx context.Context, k job.CollectionKey, s job.CollectionState, p job.Promise,
	) (preview.HeldOfCollection, error)
}

func (s *server) enableJob(c *gin.Context, k job.Key) error {
	return s.setJobState(c, k, false, s.scheduler.EnableJob)
}

func (s *server) disableJob(c *gin.Context, k job.Key) error {
	return s.setJobState(c, k, true, s.scheduler.DisableJob)
}

func (s *server) setJobState(
	c *gin.Context, k job.Key, disables bool, change func(context.Context, job.Key, job.Promise) (job.Job, error),
) error {
	p, err := s.promise(c, disables)
	if err != nil {
		return err
	}
	changed, err := change(c.Request.Context(), k, p)
	return s.replyJob(c, http.StatusOK, changed, err)
}

// previewPause answers with what disabling or enabling a job holds and runs.
func (s *server) previewPause(c *gin.Context, k job.Key) error {
	disables, p, err := s.pausing(c)
	if err != nil {
		return err
	}
	state := job.StateEnabled
	if disables {
		state = job.StateDisabled
	}
	held, err := s.scheduler.PreviewState(c.Request.Context(), k, state, p)
	if err != nil {
		return err
	}
	return answer.JSON(c, http.StatusOK, resource.NewHeld(&held))
}

// previewCollectionPause answers with what disabling or enabling a collection holds and runs of its jobs.
func (s *server) previewCollectionPause(c *gin.Context, k job.CollectionKey) error {
	disables, p, err := s.pausing(c)
	if err != nil {
		return err
	}
	state := job.CollectionEnabled
	if disables {
		state = job.CollectionDisabled
	}
	held, err := s.scheduler.PreviewCollectionState(c.Request.Context(), k, state, p)
	if err != nil {
		return err
	}
	return answer.JSON(c, http.StatusOK, resource.NewHeldOfCollection(&held))
}

// pausing returns whether a query asks about disabling, and what it says of that or of enabling.
func (s *server) pausing(c *gin.Context) (disables bool, p job.Promise, err error) {
	values, err := odata.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		return false, p, err
	}
	disables, ok := map[string]bool{"enable": false, "disable": true, "": true}[values.Get("action")]
	if !ok || len(values["action"]) > 1 || values.Has("action") && values.Get("action") == "" {
		return false, p, badQuery("action", fields.Unsupported, values.Get("action"), "enable or disable")
	}
	p, err = s.promise(c, disables)
	return disables, p, err
}

func (s *server) enableCollection(c *gin.Context, k job.CollectionKey) error {
	return s.setCollectionState(c, k, false, s.scheduler.EnableCollection)
}

func (s *server) disableCollection(c *gin.Context, k job.CollectionKey) error {
	return s.setCollectionState(c, k, true, s.scheduler.DisableCollection)
}

func (s *server) setCollectionState(
	c *gin.Context, k job.CollectionKey, disables bool,
	change func(context.Context, job.CollectionKey, job.Promise) (*job.Operation, error),
) error {
	p, err := s.promise(c, disables)
	if err != nil {
		return err
	}
	operation, err := change(c.Request.Context(), k, p)
	return s.replyOperation(c, operation, err)
}

// promise returns what a query says of a pause.
func (s *server) promise(c *gin.Context, disables bool) (p job.Promise, err error) {
	values, err := odata.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		return p, err
	}
	one := func(name string) string {
		if len(values[name]) > 1 && err == nil {
			err = badQuery(name, fields.Invalid, values.Get(name), "one value")
		}
		return values.Get(name)
	}
	p.Note, p.Recover = one("note"), job.Recover(strings.ToLower(one("recover")))
	if err != nil {
		return p, err
	}
	if values.Has("note") && !job.IsNote(p.Note) {
		return p, badQuery("note", fields.Invalid, p.Note, job.AllowedNotes)
	}
	if p.AtOnce, err = numberIn(values, "atOnce", 1, job.MaxAtOnce); err != nil {
		return p, err
	}
	if p.Until, err = timeIn(values, "until"); err != nil {
		return p, err
	}
	p.Until = p.Until.UTC().Truncate(time.Second)
	switch {
	case values.Has("recover") && p.Recover != job.RecoverNone && p.Recover != job.RecoverLatest && p.Recover != job.RecoverAll:
		return p, badQuery("recover", fields.Unsupported, values.Get("recover"), "none, latest or all")
	case len([]rune(p.Note)) > job.MaxNote:
		return p, badQuery("note", fields.TooLong, nil, fmt.Sprintf("at most %d characters", job.MaxNote))
	case disables && !p.Until.IsZero() && !p.Until.After(s.Now()):
		return p, badQuery("until", fields.OutOfRange, iso8601.NewTime(p.Until), "a time to come")
	}
	return p, nil
}
