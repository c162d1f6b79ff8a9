package scheduler

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"slices"
	"time"

	"almanac/internal/wfclient"
	"almanac/job"
	"almanac/job/lateness"
	"almanac/job/listing"
	"almanac/scheduler/core"
	"almanac/workflows"
)

const (
	// latenessTime is after what time a page of a report reads no further jobs. It reads latenessBatch at least.
	latenessTime  = 5 * time.Second
	latenessBatch = 16

	// latenessEntries is how many entries of one job are read at most, latenessPage of them at a time.
	latenessEntries = 20_000
	latenessPage    = 1000

	// maxLatenessToken is the size limit of the continuation of a report. It is part of an address, of which proxies
	// allow 8 kB.
	maxLatenessToken = 7 << 10
	// maxLatenessText is that of its JSON.
	maxLatenessText = 64 << 10
)

// A latenessToken is where a report continues, and what it has counted.
type latenessToken struct {
	After       int            `json:"after"` // sequence of the last job that was read
	Read        int            `json:"read"`
	Unread      int            `json:"unread,omitempty"`
	From, Until time.Time      // of the window
	Stats       lateness.Stats `json:"stats"`
}

// Lateness returns how late the executions of a job collection began in a window, or of the job of that name, read page
// by page: each page has what those before it have counted as well. The continuation is empty if all was read.
func (s *Service) Lateness(
	ctx context.Context, k job.CollectionKey, name string, p listing.Page,
) (report lateness.Report, next string, err error) {
	if err := k.Validate(); err != nil {
		return report, "", err
	}
	of := "lateness " + k.WorkflowID() + " " + job.NormalizeName(name)
	if err := core.Open(of, &p); err != nil {
		return report, "", err
	}
	token := latenessToken{From: p.Filter.Start.From, Until: p.Filter.Start.Before}
	if p.After != "" {
		if token, err = parseLatenessToken(p.After); err != nil {
			return report, "", err
		}
	}
	list := workflows.JobList{Collection: k, Jobs: []workflows.Listed{{Name: name, Sequence: 1}}}
	if name == "" {
		if err := s.core.AskOnce(ctx, k.WorkflowID(), workflows.QueryJobs, &list); err != nil {
			return report, "", s.core.Error(ctx, err, core.MissingCollection(k))
		}
	}
	hidden := func(l workflows.Listed) bool { return !p.ShowsJob(list.Collection.Job(l.Name)) }
	jobs := slices.DeleteFunc(list.Jobs, hidden)
	report = lateness.Report{Jobs: len(jobs), From: token.From, Until: token.Until}
	jobs = slices.DeleteFunc(jobs, func(l workflows.Listed) bool { return l.Sequence <= token.After })
	for deadline := time.Now().Add(latenessTime); len(jobs) > 0; jobs = jobs[min(latenessBatch, len(jobs)):] {
		batch := jobs[:min(latenessBatch, len(jobs))]
		if token.After > 0 && time.Now().After(deadline) {
			break
		}
		if err := s.countLateness(ctx, list.Collection, batch, &token, &report, name != ""); err != nil {
			return report, "", err
		}
	}
	report.Stats, report.Read = token.Stats, token.Read
	report.Complete = len(jobs) == 0 && token.Unread == 0
	if len(jobs) > 0 {
		next = core.Token(of, token.String())
	}
	return report, next, nil
}

// countLateness counts some jobs of a collection. The error of a job is one of the whole if it is asked for alone.
func (s *Service) countLateness(
	ctx context.Context, k job.CollectionKey, batch []workflows.Listed, token *latenessToken, report *lateness.Report, alone bool,
) error {
	type result struct {
		records []job.Record
		number  int
		err     error
	}
	results := make([]result, len(batch))
	wfclient.Each(len(batch), func(i int) {
		r := &results[i]
		r.records, r.number, r.err = s.readLateness(ctx, k.Job(batch[i].Name), token)
	})
	for i, r := range results {
		token.After = batch[i].Sequence
		switch {
		case ctx.Err() != nil:
			return s.core.Error(ctx, ctx.Err(), nil)
		case r.err != nil && alone:
			return s.core.Error(ctx, r.err, core.MissingJob(k.Job(batch[i].Name)))
		case wfclient.IsGone(r.err):
			token.Read++
		case r.err != nil:
			s.core.Log.WarnContext(ctx, "the history of a job could not be read", slog.String("job", k.Job(batch[i].Name).ARMID()), slog.Any("error", r.err))
			token.Unread++
			report.Unread = append(report.Unread, lateness.Unread{Job: batch[i].Name, Why: core.Why(r.err)})
		default:
			token.Read++
			token.Stats.Add(batch[i].Name, r.number, r.records)
		}
	}
	return nil
}

// readLateness returns the entries of a job in the window, and the number of its registration.
func (s *Service) readLateness(ctx context.Context, k job.Key, token *latenessToken) (records []job.Record, number int, err error) {
	described, err := s.core.Temporal.DescribeWorkflowExecution(ctx, k.WorkflowID(), "")
	if err != nil {
		return nil, 0, err
	}
	if memo := described.GetWorkflowExecutionInfo().GetMemo().GetFields()[workflows.MemoRegistration]; memo != nil {
		_ = wfclient.ConverterFor(s.core.Converter, k.WorkflowID()).FromPayload(memo, &number) // else no name is known
	}
	p := listing.Page{Top: latenessPage, Filter: listing.Filter{Start: listing.Period{From: token.From, Before: token.Until}}}
	for {
		page, next, err := s.history.ReadDescribed(ctx, described, p)
		if err != nil {
			return nil, 0, err
		}
		records = append(records, page...)
		switch {
		case next == "":
			return records, number, nil
		case len(records) >= latenessEntries:
			return nil, 0, errTooManyEntries
		}
		p.After = next
	}
}

// errTooManyEntries is why the history of a job is not read to its end.
var errTooManyEntries = &job.Error{Kind: job.KindInvalid, Code: "TooManyEntries", Message: "The history has more than 20,000 entries in that time. Ask for less of it."}

func (t *latenessToken) String() string {
	text, _ := json.Marshal(t) // it has an encoding
	var short bytes.Buffer
	w, _ := flate.NewWriter(&short, flate.BestCompression) // the level exists
	_, _ = w.Write(text)                                   // a buffer takes it
	_ = w.Close()
	return base64.RawURLEncoding.EncodeToString(short.Bytes())
}

func parseLatenessToken(text string) (t latenessToken, err error) {
	short, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(text) > maxLatenessToken {
		return t, core.BadToken()
	}
	decoded, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(short)), maxLatenessText))
	if err != nil || json.Unmarshal(decoded, &t) != nil || t.After <= 0 || t.From.IsZero() || t.Stats.Count < 0 || len(t.Stats.Slowest) > lateness.MaxSlowest {
		return t, core.BadToken()
	}
	return t, nil
}
