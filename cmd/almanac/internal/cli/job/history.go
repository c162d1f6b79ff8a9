package job

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/base"
	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/cmd/almanac/internal/cli/output"
	"almanac/cmd/almanac/internal/flags"
)

// Entries say which entries of a history are shown.
type Entries struct {
	list   client.List
	since  time.Duration
	failed bool
	watch  bool
	every  time.Duration
}

// Group returns the flags of entries.
func (o *Entries) Group() flags.Group {
	return flags.Group{Name: "Entries", Settings: []*flags.Setting{
		{Flag: "filter", Value: flags.Text("conditions", &o.list.Filter),
			Help: "Conditions that \"and\" joins: on status, startTime, endTime and others."},
		{Flag: "failed", Value: flags.Bool(&o.failed), Help: "Those that failed."},
		{Flag: "since", Value: flags.Duration(&o.since, time.Second, 3650*24*time.Hour), Help: "How far back, such as 1h or 7d."},
		{Flag: "limit", Short: "l", Value: flags.Int(&o.list.Top, 0, 1_000_000), Default: "50", Help: "How many at most; 0: all."},
		{Flag: "watch", Short: "w", Value: flags.Bool(&o.watch), Help: "Go on with what comes, until Ctrl-C."},
		{Flag: "every", Value: flags.Duration(&o.every, 100*time.Millisecond, time.Hour), Default: "2s",
			Help: "How often --watch looks."},
	}}
}

// List returns what is asked for.
func (o *Entries) List(now time.Time) client.List {
	l := o.list
	if o.failed {
		l.Filter = joined([]string{l.Filter, "status eq Failed"}, " and ")
	}
	if o.since > 0 {
		l.Filter = joined([]string{l.Filter, "startTime ge " + string(client.At(now.Add(-o.since).Truncate(time.Second)))}, " and ")
	}
	return l
}

// A Reading reads entries, newest first.
type Reading func(client.List) iter.Seq2[client.History, error]

// Show prints entries, and those that come with --watch.
func (o *Entries) Show(ctx context.Context, s *base.Session, withJob bool, read Reading) error {
	v := entryView(s, withJob)
	if o.watch {
		return follow(ctx, s, o, v, read)
	}
	var all []client.History
	unread := 0
	for one, err := range read(o.List(s.Now)) {
		if missing, ok := errors.AsType[*client.UnreadError](err); ok {
			s.Say("%s", missing.Error())
			unread++
			continue
		}
		if err != nil {
			return err
		}
		all = append(all, one)
	}
	if len(all) == 0 && s.Format.ForPeople() {
		s.Say("No entries")
	}
	if err := output.List(&s.Printer, v, all); err != nil {
		return err
	}
	return base.Unread(unread)
}

// tail is how many entries are shown before those that come.
const tail = 10

// The entries that are known while a list is followed: how many are at most, how many are read at first, and after how
// many a look reads no further, because what is new is before them.
const (
	knownMost  = 1000
	knownFirst = 100
	knownStop  = 50
)

// A follower finds what is new in a list that is read again and again.
type follower struct {
	known []string // the IDs of entries, the newest last
}

// news returns the entries that no look before has read, oldest first. The first look returns the last ones.
func (f *follower) news(l client.List, first bool, read Reading) (news []client.History, err error) {
	l.Top = 0
	if first {
		l.Top = knownFirst
	}
	seen := map[string]bool{}
	for _, id := range f.known {
		seen[id] = true
	}
	met := 0
	for one, err := range read(l) {
		if _, ok := errors.AsType[*client.UnreadError](err); ok {
			continue
		}
		if err != nil {
			return nil, err
		}
		if seen[one.ID] {
			if met++; met == knownStop {
				break
			}
			continue
		}
		seen[one.ID] = true
		news = append(news, one)
	}
	slices.Reverse(news)
	for _, one := range news {
		f.known = append(f.known, one.ID)
	}
	f.known = slices.Clone(f.known[max(0, len(f.known)-knownMost):])
	if first {
		news = news[max(0, len(news)-tail):]
	}
	return news, nil
}

// follow prints the last entries, oldest first, and then those that come.
func follow(ctx context.Context, s *base.Session, o *Entries, v output.View[client.History], read Reading) error {
	var f follower
	return base.Follow(ctx, s, o.every, func(first bool) error {
		news, err := f.news(o.List(s.Now), first, read)
		if err != nil {
			return err
		}
		p := s.Printer
		p.NoHeads = p.NoHeads || !first
		if s.Format.ForPeople() {
			return output.List(&p, v, news)
		}
		for _, one := range news {
			if err := output.One(&p, v, one); err != nil {
				return err
			}
		}
		return nil
	})
}

func newHistory(getenv base.Lookup) *cobra.Command {
	o := new(Entries)
	return base.Command(&cobra.Command{
		Use:   "history NAME",
		Short: "Show what became of the runs of a job",
		Long: `Show what became of the runs of a job, newest first: an entry for each attempt, and for
each occurrence that was not run.`,
		Example: `  almanac job history hello
  almanac job history hello --failed --since 7d
  almanac job history hello -o json --limit 1`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: base.CompleteJobs(getenv, 1),
	}, getenv, []flags.Group{o.Group()}, func(ctx context.Context, s *base.Session, args []string) error {
		n, err := s.Job(args[0])
		if err != nil {
			return err
		}
		err = o.Show(ctx, s, false, func(l client.List) iter.Seq2[client.History, error] {
			return s.Client.History(ctx, n.Collection, n.Job, l)
		})
		return s.Missing(ctx, n, err)
	})
}

func newWatch(getenv base.Lookup) *cobra.Command {
	o := new(Entries)
	return base.Command(&cobra.Command{
		Use:   "watch [NAME]",
		Short: "Follow the runs of a job, or of a job collection",
		Long: `Print each attempt of a job, or of all jobs of a job collection, when it has ended, until
Ctrl-C. It begins with the last ten.`,
		Example:           "  almanac job watch hello\n  almanac job watch --failed",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: base.CompleteJobs(getenv, 1),
	}, getenv, []flags.Group{o.Group()}, func(ctx context.Context, s *base.Session, args []string) error {
		o.watch = true
		if len(args) == 0 {
			return o.Show(ctx, s, true, func(l client.List) iter.Seq2[client.History, error] {
				return s.Client.HistoryAcross(ctx, client.InCollection(s.Collection), l)
			})
		}
		n, err := s.Job(args[0])
		if err != nil {
			return err
		}
		err = o.Show(ctx, s, false, func(l client.List) iter.Seq2[client.History, error] {
			return s.Client.History(ctx, n.Collection, n.Job, l)
		})
		if exit.CodeOf(err) == exit.NotFound {
			return s.Missing(ctx, n, err)
		}
		return err
	})
}

func entryView(s *base.Session, withJob bool) output.View[client.History] {
	text := func(of func(client.HistoryProperties) string) func(client.History) output.Cell {
		return func(h client.History) output.Cell { return output.Cell{Text: of(h.Properties)} }
	}
	v := output.View[client.History]{
		Name: func(h client.History) string { return h.Name },
		Columns: []output.Column[client.History]{
			{Head: "DUE", Of: text(func(p client.HistoryProperties) string { return s.Time(p.ExpectedExecutionTime) })},
			{Head: "OUTCOME", Of: func(h client.History) output.Cell { return outcomeCell(h.Properties.Status) }},
			{Head: "ATTEMPT", Of: text(attemptText)},
			{Head: "LATE", Of: text(func(p client.HistoryProperties) string {
				if late, known := p.Lateness(); known {
					return output.Length(late)
				}
				return ""
			})},
			{Head: "TOOK", Of: text(func(p client.HistoryProperties) string {
				if p.StartTime.IsZero() || p.EndTime.IsZero() {
					return ""
				}
				return output.Length(p.EndTime.Sub(p.StartTime))
			})},
			{Head: "STARTED", Wide: true, Of: text(func(p client.HistoryProperties) string { return s.Time(p.StartTime) })},
			{Head: "CALLER", Wide: true, Of: text(func(p client.HistoryProperties) string { return p.Caller })},
			{Head: "MESSAGE", Shrink: true, Of: text(func(p client.HistoryProperties) string { return p.Message })},
		},
	}
	if withJob {
		job := output.Column[client.History]{Head: "JOB", Shrink: true, Of: func(h client.History) output.Cell {
			collection, name := client.NamesOf(h.Name)
			return output.Cell{Text: collection + "/" + name}
		}}
		v.Columns = append([]output.Column[client.History]{job}, v.Columns...)
	}
	return v
}

// attemptText returns which attempt of which execution it was.
func attemptText(p client.HistoryProperties) string {
	if p.RepeatCount == 0 && p.StartTime.IsZero() {
		return ""
	}
	text := "#" + strconv.Itoa(p.RepeatCount) + "." + strconv.Itoa(p.RetryCount+1)
	if p.ActionName == client.ErrorAction {
		text += " on failure"
	}
	return text
}
