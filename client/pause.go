package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// A Recover says what becomes of occurrences that were held while a job was disabled.
type Recover string

// What becomes of held occurrences.
const (
	RecoverNone   Recover = "none"   // they are left out
	RecoverLatest Recover = "latest" // the one that was due last runs
	RecoverAll    Recover = "all"    // all run, oldest first, 1,000 at most
)

// A Pause says why a job is disabled, until when, and what follows. Enabling takes Recover and AtOnce alone.
type Pause struct {
	Note    string
	Until   time.Time // when it is enabled by itself; zero: never
	Recover Recover
	AtOnce  int // recovered occurrences of a job that run at once; 0: one
}

func (p Pause) query() url.Values {
	query := url.Values{}
	for name, text := range map[string]string{"note": p.Note, "recover": string(p.Recover)} {
		if text != "" {
			query.Set(name, text)
		}
	}
	if !p.Until.IsZero() {
		query.Set("until", string(At(p.Until)))
	}
	if p.AtOnce > 0 {
		query.Set("atOnce", strconv.Itoa(p.AtOnce))
	}
	return query
}

// pauseOf returns the first of the pauses, or none.
func pauseOf(all []Pause) Pause {
	if len(all) == 0 {
		return Pause{}
	}
	return all[0]
}

// EnableJob enables a job, and runs what a pause says of the occurrences that were due meanwhile.
func (c *Client) EnableJob(ctx context.Context, collection, name string, as ...Pause) (Job, error) {
	return jobOf(post[Job](ctx, c, c.jobAt(collection, name, "enable"), pauseOf(as).query()))
}

// DisableJob disables a job. Nothing of it is sent any more when it returns.
func (c *Client) DisableJob(ctx context.Context, collection, name string, as ...Pause) (Job, error) {
	return jobOf(post[Job](ctx, c, c.jobAt(collection, name, "disable"), pauseOf(as).query()))
}

// Held is which occurrences a pause holds, and what becomes of them.
type Held struct {
	Held        int              `json:"held"`
	Runs        int              `json:"runs"`    // how many of them run at the end
	LeftOut     int              `json:"leftOut"` // and how many do not
	AtOnce      int              `json:"atOnce"`
	More        bool             `json:"more,omitempty"` // more are held than were counted
	Occurrences []HeldOccurrence `json:"occurrences"`    // the newest 20
}

// A HeldOccurrence is an occurrence that is held.
type HeldOccurrence struct {
	ExpectedExecutionTime time.Time `json:"expectedExecutionTime"`
	Runs                  bool      `json:"runs"`
}

// PreviewPause returns what disabling a job would hold, or enabling it would run. The action is enable or disable.
func (c *Client) PreviewPause(ctx context.Context, collection, name, action string, as Pause) (Held, error) {
	query := as.query()
	query.Set("action", action)
	found, _, err := post[Held](ctx, c, c.jobAt(collection, name, "previewPause"), query)
	return found, err
}

// HeldOfCollection is what a pause of a collection holds of its jobs, and what becomes of it.
type HeldOfCollection struct {
	Jobs     int       `json:"jobs"`    // that were asked
	Holding  int       `json:"holding"` // those of which something is held
	Held     int       `json:"held"`
	Runs     int       `json:"runs"`           // how many of what is held run at the end
	LeftOut  int       `json:"leftOut"`        // and how many do not
	More     bool      `json:"more,omitempty"` // more are held of some job than were counted
	Complete bool      `json:"complete"`       // all jobs were asked, and answered
	Most     []HeldJob `json:"most"`           // up to 100 of those of which something is held, those of which the most runs first
}

// A HeldJob is what is held of a job of a collection.
type HeldJob struct {
	ID      string `json:"id"`
	Name    string `json:"name"` // with that of the collection
	Held    int    `json:"held"`
	Runs    int    `json:"runs"`
	LeftOut int    `json:"leftOut"`
	AtOnce  int    `json:"atOnce"`
	More    bool   `json:"more,omitempty"`
}

// PreviewCollectionPause returns what disabling a job collection would hold, or enabling it would run. The action is
// enable or disable.
func (c *Client) PreviewCollectionPause(ctx context.Context, name, action string, as Pause) (HeldOfCollection, error) {
	query := as.query()
	query.Set("action", action)
	found, _, err := post[HeldOfCollection](ctx, c, c.collectionAt(name, "previewPause"), query)
	return found, err
}

// EnableCollection has the jobs of a job collection continue by their own state. A nil operation means that it is done.
func (c *Client) EnableCollection(ctx context.Context, name string) (*Operation, error) {
	return c.EnableCollectionAs(ctx, name, Pause{})
}

// EnableCollectionAs is [Client.EnableCollection], and each job runs what a pause says of what was due meanwhile.
func (c *Client) EnableCollectionAs(ctx context.Context, name string, as Pause) (*Operation, error) {
	return c.begin(ctx, name, message{method: http.MethodPost, at: c.collectionAt(name, "enable"), query: as.query()})
}

// DisableCollection has no occurrence of the jobs of a job collection run. A nil operation means that it is done.
func (c *Client) DisableCollection(ctx context.Context, name string) (*Operation, error) {
	return c.DisableCollectionAs(ctx, name, Pause{})
}

// DisableCollectionAs is [Client.DisableCollection] with why, until when and what follows.
func (c *Client) DisableCollectionAs(ctx context.Context, name string, as Pause) (*Operation, error) {
	return c.begin(ctx, name, message{method: http.MethodPost, at: c.collectionAt(name, "disable"), query: as.query()})
}
