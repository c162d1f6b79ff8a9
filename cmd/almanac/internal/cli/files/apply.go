package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"almanac/cmd/almanac/internal/cli/base"
	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/cmd/almanac/internal/cli/output"
	"almanac/cmd/almanac/internal/flags"
	"almanac/internal/wanted"
)

func newApply(getenv base.Lookup) *cobra.Command {
	o := new(options)
	groups := o.settings("text", "json")
	groups[1].Settings = append(groups[1].Settings,
		&flags.Setting{Flag: "prune-max", Value: flags.Int(&o.pruneMax, 0, 100_000), Default: "5",
			Help: "How many jobs are pruned at most if nobody is asked."},
		&flags.Setting{Flag: "rebind", Value: flags.Bool(&o.rebind),
			Help: "Put the owner on record for the job collections that almanac.yaml names now, even if it named others before."})
	return base.Command(&cobra.Command{
		Use:   "apply",
		Short: "Make the server have the jobs of job files",
		Long: `Show what "almanac plan" shows, ask, and create and change the jobs, several at the same
time. Each is changed only as it was when it was planned: if somebody else has changed it
meanwhile, it is planned again, shown, and asked for again. A job that the files do not have
stays as it is, unless --prune is given and it belongs to the owner in almanac.yaml: a job
does that a file has made. What is done already is not done again, so after an interruption the same
command goes on.

Secrets are read before the first change, and all that are missing are listed. The server
compares those of jobs that else stay as they are with what is stored, and says no more than
whether they are the same; then the job is not sent.`,
		Example: `  almanac apply -f jobs
  almanac apply -f jobs --prune
  almanac apply -f jobs --yes -o json`,
	}, getenv, groups, func(ctx context.Context, s *base.Session, _ []string) error {
		return o.apply(ctx, s)
	})
}

func (o *options) apply(ctx context.Context, s *base.Session) error {
	p, d, err := o.plan(ctx, s)
	if err != nil {
		return err
	}
	inText := o.format != "json"
	secrets := o.secrets(s, d)
	unresolved := p.Compare(ctx, secrets)
	if inText {
		if err := p.Text(s.Out); err != nil {
			return err
		}
	}
	if unresolved != nil {
		return exit.With(exit.Failed, unresolved)
	}
	if p.Sends() > 0 && s.Asks() && !s.Yes && (!inText || !s.Terminal) { // who is asked sees the plan
		if err := p.Text(s.Err); err != nil {
			return err
		}
	}
	if n := p.Summary().Prune; n > o.pruneMax && (s.Yes || !s.Asks()) {
		return exit.With(exit.Refused, fmt.Errorf(
			"nothing was changed: %d jobs would be pruned, and at most %d are if nobody is asked: pass --prune-max %d if that is meant", n, o.pruneMax, n))
	}
	if err := confirm(ctx, s, p); err != nil {
		return err
	}
	var one sync.Mutex // of what is printed and asked
	results, err := p.Apply(ctx, wanted.Apply{
		Secrets: secrets,
		Changed: func(c *wanted.Change) bool {
			one.Lock()
			defer one.Unlock()
			return again(ctx, s, c)
		},
		Done: func(r wanted.Result) {
			one.Lock()
			defer one.Unlock()
			if inText {
				tell(s, r)
			}
		},
	})
	if err != nil {
		return exit.With(exit.Failed, err)
	}
	return o.finish(ctx, s, p, results)
}

// confirm asks whether to send the jobs that a plan has to send.
func confirm(ctx context.Context, s *base.Session, p *wanted.Plan) error {
	switch n := p.Sends(); {
	case p.Summary().Prune > 0:
		return s.Confirm(ctx, fmt.Sprintf("Change these jobs, of which %d are pruned?", p.Summary().Prune))
	case p.Changed():
		return s.Confirm(ctx, "Change these jobs?")
	case n == 1:
		return s.Confirm(ctx, "Send the secrets of 1 job again?")
	case n > 1:
		return s.Confirm(ctx, fmt.Sprintf("Send the secrets of %d jobs again?", n))
	}
	return nil
}

// again asks whether a job that somebody else has changed is changed nevertheless.
func again(ctx context.Context, s *base.Session, c *wanted.Change) bool {
	s.Say("%s/%s was changed by somebody else meanwhile. To be done now:", c.Collection, c.Name)
	for _, line := range c.Lines() {
		s.Say("    %s", line)
	}
	return s.Confirm(ctx, "Change it?") == nil
}

// tell prints what became of a job.
func tell(s *base.Session, r wanted.Result) {
	name := output.Line(r.Collection + "/" + r.Name)
	words := map[string]string{
		wanted.Created: "created", wanted.Updated: "changed", wanted.Unchanged: "unchanged", wanted.Failed: "failed", wanted.NotDone: "not done",
		wanted.Pruned: "pruned",
	}
	text := name + " " + words[r.Outcome]
	if r.Error != "" {
		text += ": " + output.Clean(r.Error)
	}
	fmt.Fprintln(s.Out, text)
	if r.Warning != "" {
		s.Say("%s: %s", name, r.Warning)
	}
}

// finish prints the results, and returns the error of an apply that is not complete.
func (o *options) finish(ctx context.Context, s *base.Session, p *wanted.Plan, results []wanted.Result) error {
	count := map[string]int{}
	for _, r := range results {
		count[r.Outcome]++
	}
	unchanged := len(p.Changes) - len(results) + count[wanted.Unchanged]
	if o.format == "json" {
		var text strings.Builder
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if results == nil {
			results = []wanted.Result{}
		}
		err := e.Encode(struct {
			Created   int             `json:"created"`
			Updated   int             `json:"updated"`
			Unchanged int             `json:"unchanged"`
			Pruned    int             `json:"pruned"`
			Failed    int             `json:"failed"`
			NotDone   int             `json:"notDone"`
			Results   []wanted.Result `json:"results"`
		}{count[wanted.Created], count[wanted.Updated], unchanged, count[wanted.Pruned], count[wanted.Failed], count[wanted.NotDone], results})
		if err != nil {
			return err
		}
		if _, err := io.WriteString(s.Out, output.EscapedJSON(text.String())); err != nil {
			return err
		}
	} else {
		pruned := ""
		if n := count[wanted.Pruned]; n > 0 {
			pruned = fmt.Sprintf("%d pruned, ", n)
		}
		fmt.Fprintf(s.Out, "%d created, %d changed, %d unchanged, %s%d failed, %d not done.\n",
			count[wanted.Created], count[wanted.Updated], unchanged, pruned, count[wanted.Failed], count[wanted.NotDone])
	}
	switch {
	case count[wanted.Failed]+count[wanted.NotDone] == 0:
		return nil
	case ctx.Err() != nil:
		return exit.With(exit.Failed, errors.New("interrupted: the same command goes on where this one ended"))
	}
	return exit.With(exit.Failed, fmt.Errorf("%d jobs are not as the files say", count[wanted.Failed]+count[wanted.NotDone]))
}
