package apitest

import (
	"cmp"
	"context"
	"slices"
	"time"

	"almanac/internal/audit"
	"almanac/job"
	"almanac/job/listing"
	"almanac/job/preview"
	"almanac/recurrence/calendars"
)

// kept returns the calendar with a name; nil if there is none.
func (m *Memory) kept(name string) *job.KeptCalendar {
	for i := range m.Kept {
		if job.NormalizeName(m.Kept[i].Key.Name) == job.NormalizeName(name) {
			return &m.Kept[i]
		}
	}
	return nil
}

// CalendarUses returns those of Kept.
func (m *Memory) CalendarUses(
	_ context.Context, k job.CollectionKey, r *job.Recurrence,
) ([]calendars.Use, error) {
	if !r.ByCalendars() {
		return nil, nil
	}
	var all []job.KeptCalendar
	for i := range r.Calendars {
		found := m.kept(r.Calendars[i].Name)
		if found == nil {
			return nil, job.UnknownCalendar(k, r, i, nil)
		}
		all = append(all, *found)
	}
	return r.Uses(all)
}

// Calendars returns those of Kept if the scope is a subscription.
func (m *Memory) Calendars(
	_ context.Context, scope job.CollectionKey, _ listing.Page,
) (all []job.KeptCalendar, next string, err error) {
	if scope.Name != "" {
		return nil, "", nil
	}
	for i := range m.Kept {
		all = append(all, m.Kept[i].Summary())
	}
	return all, "", nil
}

// Calendar returns one of Kept.
func (m *Memory) Calendar(_ context.Context, k job.CalendarKey) (job.KeptCalendar, error) {
	if found := m.kept(k.Name); found != nil && k.Scope.Name == "" {
		return *found, nil
	}
	return job.KeptCalendar{}, job.MissingCalendar(k)
}

// CalendarUsage returns Used, of any of Kept.
func (m *Memory) CalendarUsage(
	ctx context.Context, k job.CalendarKey, p listing.Page,
) ([]preview.Usage, string, error) {
	if _, err := m.Calendar(ctx, k); err != nil {
		return nil, "", err
	}
	return paged(m.Used, p, func(u preview.Usage) string { return u.Key.Name })
}

// UnskipOccurrences returns the job.
func (m *Memory) UnskipOccurrences(ctx context.Context, k job.Key, _ job.SkipRequest) (job.Job, error) {
	return m.Job(ctx, k)
}

// History returns a page of Records.
func (m *Memory) History(_ context.Context, _ job.Key, p listing.Page) ([]job.Record, string, error) {
	all := slices.DeleteFunc(slices.Clone(m.Records), func(r job.Record) bool { return !p.Filter.MatchesRecord(&r) })
	return all[:min(len(all), p.Top)], "", nil
}

// HistoryAcross returns Records as those of every job.
func (m *Memory) HistoryAcross(
	_ context.Context, of listing.Scope, p listing.Page,
) (found []listing.JobRecord, next string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, j := range m.jobs {
		for _, r := range m.Records {
			if within(j.Key.Collection, of) && p.ShowsJob(j.Key) && p.Filter.MatchesRecord(&r) && p.Filter.MatchesName(j.Key.Name) {
				found = append(found, listing.JobRecord{Key: j.Key, Record: r})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b listing.JobRecord) int {
		return cmp.Or(b.Start.Compare(a.Start), cmp.Compare(a.Key.Name, b.Key.Name))
	})
	return found[:min(len(found), p.Top)], "", nil
}

// Upcoming returns Due.
func (m *Memory) Upcoming(
	_ context.Context, _ listing.Scope, _ time.Time, p listing.Page,
) ([]listing.Occurrence, string, error) {
	all := slices.DeleteFunc(slices.Clone(m.Due), func(o listing.Occurrence) bool { return !p.ShowsJob(o.Key) })
	return all[:min(len(all), p.Top)], "", nil
}

// ForecastAcross counts Due.
func (m *Memory) ForecastAcross(
	_ context.Context, _ listing.Scope, q listing.ForecastQuery,
) (f listing.Forecast, err error) {
	f.Until = q.Until
	add := func(list []listing.DueCount, at time.Time) []listing.DueCount {
		for i := range list {
			if list[i].Time.Equal(at) {
				list[i].Due++
				return list
			}
		}
		return append(list, listing.DueCount{Time: at, Due: 1})
	}
	for _, o := range m.Due {
		if !o.Due.Before(q.From) && o.Due.Before(q.Until) {
			f.Due++
			f.Steps = add(f.Steps, q.From.Add(o.Due.Sub(q.From).Truncate(max(q.Step, 1))))
			f.Fullest = add(f.Fullest, o.Due)
		}
	}
	for _, at := range q.Times {
		f.Times = append(f.Times, listing.DueCount{Time: at, Due: len(m.Due)})
	}
	return f, nil
}

// JobChanges returns Trail.
func (m *Memory) JobChanges(context.Context, job.Key, listing.Page) ([]audit.Change, string, error) {
	return m.Trail, "", nil
}

// CollectionChanges returns Trail.
func (m *Memory) CollectionChanges(context.Context, job.CollectionKey, listing.Page) ([]audit.Change, string, error) {
	return m.Trail, "", nil
}

// Digests returns the digests of the jobs of a collection, by name.
func (m *Memory) Digests(_ context.Context, k job.CollectionKey, p listing.Page) (found listing.Digests, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []listing.Digest
	for _, j := range m.jobs {
		if j.Key.Collection == k && p.ShowsJob(j.Key) {
			d := &j.Definition
			all = append(all, listing.Digest{
				Key: j.Key, Generation: j.Generation, State: d.State, Digest: d.Digest(),
				Owner: d.Owner, Pruning: j.Pruning, Once: d.Recurrence == nil,
			})
		}
	}
	slices.SortFunc(all, func(a, b listing.Digest) int { return cmp.Compare(a.Key.Name, b.Key.Name) })
	found.Page, found.Next, err = paged(all, p, func(d listing.Digest) string { return d.Key.Name })
	return found, err
}

// Summaries returns all jobs that a query selects, by name, on one page.
func (m *Memory) Summaries(
	_ context.Context, of listing.Scope, q listing.SummaryQuery,
) (found listing.Summaries, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found.Counts = listing.Counts{States: map[job.State]int{}, Outcomes: map[job.Outcome]int{}}
	for _, j := range m.jobs {
		one := m.summary(j)
		if !within(j.Key.Collection, of) || !q.ShowsJob(j.Key) {
			continue
		}
		found.Total++
		found.Counts.States[one.State]++
		found.Counts.Outcomes[one.Last]++
		found.Counts.LastDay.Add(one.Day)
		count(&found.Counts, &one)
		if q.Filter.MatchesSummary(&one) && q.Finds(&one, j.Key.Collection.Name+"/"+j.Key.Name, one.When) {
			found.Page = append(found.Page, one)
		}
	}
	found.Matching = len(found.Page)
	slices.SortFunc(found.Page, func(a, b listing.Summary) int { return cmp.Compare(a.Key.Name, b.Key.Name) })
	found.Page = found.Page[:min(len(found.Page), q.Top)]
	return found, nil
}

// count counts a job in its collection.
func count(c *listing.Counts, s *listing.Summary) {
	for i := range c.Collections {
		if c.Collections[i].Key == s.Key.Collection {
			c.Collections[i].Add(s)
			return
		}
	}
	c.Collections = append(c.Collections, listing.CollectionCount{Key: s.Key.Collection})
	c.Collections[len(c.Collections)-1].Add(s)
}

func (m *Memory) summary(j job.Job) listing.Summary {
	j = m.filled(j)
	s := listing.Summary{
		Key: j.Key, State: j.Definition.State, When: cmp.Or(j.Definition.When(), "once"), Host: j.Definition.Action.Host(), Unread: j.Unread,
		CollectionDisabled: m.collections[j.Key.Collection.WorkflowID()].Properties.State == job.CollectionDisabled,
	}
	if next := j.Status.NextExecutionTime; next != nil {
		s.Next = next.Time
	}
	if m.Marks != nil {
		s.Recent = m.Marks(j.Key)
	}
	if n := len(s.Recent); n > 0 {
		s.Last = s.Recent[n-1].Outcome
	}
	for i := range m.Records {
		switch m.Records[i].Outcome {
		case job.OutcomeMissed:
			s.Day.Missed++
		case job.OutcomeSkipped:
			s.Day.Skipped++
		}
	}
	for _, mark := range s.Recent {
		if mark.Late >= job.RegularDelay {
			s.Day.Late++
		}
	}
	return s
}
