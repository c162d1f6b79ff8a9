package wanted

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"almanac/client"
	"almanac/job"
	"almanac/job/jobfile"
)

// A Result is what became of a job.
type Result struct {
	Collection string `json:"collection"`
	Name       string `json:"name"`
	Outcome    string `json:"outcome"` // Created, Updated, Unchanged, Failed or NotDone
	Error      string `json:"error,omitempty"`
	Warning    string `json:"warning,omitempty"` // what may keep it from being sent
}

// The outcomes of a job.
const (
	Created   = "Created"
	Updated   = "Updated"
	Unchanged = "Unchanged"
	Failed    = "Failed"
	NotDone   = "NotDone" // nothing was sent
	Pruned    = "Pruned"
)

// An Apply is how a plan is done.
type Apply struct {
	Secrets *Secrets

	// Changed is called if a job was changed by somebody else after it was planned, with what there is to do now. It
	// returns whether that is done.
	Changed func(*Change) bool

	// Done is called for each job that was to be sent. The calls may be at the same time.
	Done func(Result)
}

// A prepared job is one that is sent.
type prepared struct {
	*Change
	secrets map[string]string
}

// Resolve reads the secrets of the jobs that an apply sends, and of no others. The error joins all that are missing.
func (p *Plan) Resolve(ctx context.Context, s *Secrets) error {
	_, err := p.prepare(ctx, s)
	return err
}

// Compare has the server compare the secrets of the jobs that else stay as they are: those of which it says that they
// are the same are not sent. It resolves them as [Plan.Resolve] does, whose error it returns. What cannot be compared is
// sent.
func (p *Plan) Compare(ctx context.Context, s *Secrets) error {
	jobs, err := p.prepare(ctx, s)
	if err != nil {
		return err
	}
	each(p.options.Parallel, jobs, func(c prepared) {
		if c.Action != Keep || len(c.Secrets) == 0 || ctx.Err() != nil {
			return
		}
		same, err := p.options.Client.CompareSecrets(ctx, c.Collection, c.Name, c.job.Body(c.secrets))
		if err != nil {
			return
		}
		if c.compared = same; !same {
			c.Action = Update
			c.Fields = append(c.Fields, Field{Path: "secrets", To: quoted("others than those that are stored")})
		}
	})
	return nil
}

func (p *Plan) prepare(ctx context.Context, s *Secrets) ([]prepared, error) {
	var all []prepared
	var failed problems
	for _, c := range p.Changes {
		if !c.sent() || c.Action == Prune {
			continue
		}
		secrets, err := s.resolve(ctx, c.job)
		failed.add(err)
		all = append(all, prepared{c, secrets})
	}
	if err := failed.joined(); err != nil {
		return nil, fmt.Errorf("nothing was changed, because secrets are missing:\n%w", err)
	}
	return all, nil
}

// Apply does what the plan says, for several jobs at the same time, and returns the result for each that was sent. If
// secrets are missing, nothing is done. It may be repeated: what is done already stays as it is. If ctx ends, the rest is
// not done.
func (p *Plan) Apply(ctx context.Context, a Apply) ([]Result, error) {
	jobs, err := p.prepare(ctx, a.Secrets)
	if err != nil {
		return nil, err
	}
	if err := p.bind(ctx); err != nil {
		return nil, err
	}
	results := make([]Result, len(jobs))
	numbers := make([]int, len(jobs))
	for i := range numbers {
		numbers[i] = i
	}
	each(p.options.Parallel, numbers, func(i int) {
		c := &jobs[i]
		r := Result{Collection: c.Collection, Name: c.Name, Outcome: NotDone}
		if ctx.Err() == nil {
			p.send(ctx, &a, c, &r)
		}
		r.Error, r.Warning = hidden(r.Error, c.secrets), hidden(r.Warning, c.secrets)
		results[i] = r
		if a.Done != nil {
			a.Done(r)
		}
	})
	return append(results, p.prune(ctx, &a, results)...), nil
}

// tries is how often a job is sent, and planned again after somebody else has changed it.
const tries = 6

// send sends a job until it is stored.
func (p *Plan) send(ctx context.Context, a *Apply, c *prepared, r *Result) {
	replan := func() bool {
		if err := p.again(ctx, c.Change); err != nil {
			r.Outcome, r.Error = Failed, err.Error()
			return false
		}
		if c.Action == Keep || a.Changed == nil || a.Changed(c.Change) {
			return true
		}
		r.Error = "it was changed by somebody else meanwhile"
		return false
	}
	for try := 0; ; try++ {
		if c.Action == Keep && c.etag == "" && len(c.Secrets) > 0 && !replan() { // it was read in a list
			return
		}
		if !c.sent() {
			r.Outcome = Unchanged
			return
		}
		stored, err := p.put(ctx, c)
		switch again := try+1 < tries; {
		case err == nil:
			r.Outcome, r.Warning = outcomeOf(c.Change, stored.ETag), stored.Warning
			return
		case again && client.IsChanged(err):
			if !replan() {
				return
			}
		case again && passes(err) && wait(ctx, err, try):
		default:
			r.Outcome, r.Error = Failed, explained(c.job, err)
			if ctx.Err() != nil {
				r.Error = "the apply was interrupted while it was sent: whether it is stored is not known"
			}
			return
		}
	}
}

// put sends a job once.
func (p *Plan) put(ctx context.Context, c *prepared) (client.Job, error) {
	j, condition := whole(c.job, c.is), client.IfAbsent()
	if c.is != nil {
		condition = client.IfMatch(c.etag)
		switch state := c.is.definition.State; {
		case state == job.StateDisabled && !j.Has("state"): // without one, it would be enabled
			j = j.With("state", string(job.StateDisabled))
		case state.Final() && c.Action == Keep: // with one, it would be disabled
			j = j.Without("state")
		}
	}
	return p.options.Client.PutOwnedJob(
		ctx, c.Collection, c.Name, p.config.Owner, p.options.Adopt, j.Body(c.secrets), condition)
}

// outcomeOf returns the outcome of a PUT that was answered with an entity tag: its first part changes with what users
// write only.
func outcomeOf(c *Change, etag string) string {
	generation := func(tag string) string { before, _, _ := strings.Cut(tag, "-"); return before }
	switch {
	case c.is == nil:
		return Created
	case generation(etag) == generation(c.etag):
		return Unchanged
	}
	return Updated
}

// passes reports whether a call may succeed if it is made again.
func passes(err error) bool {
	switch client.StatusOf(err) {
	case 0:
		return !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// patiently makes a call that changes nothing, and makes it again if the API says that it may then succeed.
func patiently(ctx context.Context, call func() error) error {
	for try := 0; ; try++ {
		err := call()
		if err == nil || try+1 >= tries || client.StatusOf(err) == 0 || !passes(err) || !wait(ctx, err, try) {
			return err
		}
	}
}

// wait waits before a call is made again. It returns false if ctx ends before that.
func wait(ctx context.Context, err error, try int) bool {
	pause := time.Duration(1<<try) * 200 * time.Millisecond
	if e, ok := errors.AsType[*client.Error](err); ok && e.RetryAfter > 0 {
		pause = min(e.RetryAfter, time.Minute)
	}
	pause += rand.N(pause/4 + 1)
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// explained returns an error of the API with the places of the members that are wrong.
func explained(j *jobfile.Job, err error) string {
	e, ok := errors.AsType[*client.Error](err)
	if !ok || len(e.Details) == 0 {
		return err.Error()
	}
	var lines []string
	for _, d := range e.Details {
		lines = append(lines, j.At(d.Target).String()+": "+d.Message)
	}
	return strings.Join(lines, "\n")
}
