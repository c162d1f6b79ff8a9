package overview

import (
	"cmp"
	"context"
	"slices"
	"time"

	"almanac/job/listing"
)

const (
	// A forecast is counted dueSlice by dueSlice, until maxDue occurrences are.
	dueSlice = 10 * time.Minute
	maxDue   = 2_000_000
)

// ForecastAcross returns how many occurrences of the jobs of a scope come due in a window, by the index: see
// [Overview.Summaries] for how fresh that is.
func (v *Overview) ForecastAcross(
	ctx context.Context, s listing.Scope, q listing.ForecastQuery,
) (listing.Forecast, error) {
	ctx, cancel := context.WithTimeout(ctx, pageTime)
	defer cancel()
	r, err := v.survey(ctx, s, q.View, v.recent)
	if err != nil {
		return listing.Forecast{}, err
	}
	r.date(ctx, r.rows())
	c := r.counter(&q)
	if err := c.count(ctx); err != nil {
		return listing.Forecast{}, notInTime(0, len(r.jobs))
	}
	return c.forecast(), nil
}

// A counter counts occurrences.
type counter struct {
	*listing.ForecastQuery
	found   listing.Forecast
	due     []dueJob
	hosts   names
	groups  names    // collections
	seconds []uint32 // from From on, by planned starts
	spread  bool     // some have a flexible window
	// seconds by due times, as if nothing had a flexible window; only of those that are counted
	unspread map[int64]int
	steps    map[stepName]int
}

// A dueJob is a job in a forecast.
type dueJob struct {
	*outline
	next        time.Time // when the next one is due; zero after the last one
	host, group int
}

// A stepName is the number of a step with that of a host or, with group, of a collection.
type stepName struct {
	step, name int
	group      bool
}

// names numbers names, and counts how often they were counted.
type names struct {
	numbers map[string]int
	all     []listing.NamedCount
}

func (n *names) number(name string) int {
	if i, ok := n.numbers[name]; ok {
		return i
	}
	if n.numbers == nil {
		n.numbers = map[string]int{}
	}
	n.numbers[name] = len(n.all)
	n.all = append(n.all, listing.NamedCount{Name: name})
	return len(n.all) - 1
}

// top returns the names that were counted most.
func (n *names) top() []listing.NamedCount {
	all := slices.DeleteFunc(slices.Clone(n.all), func(c listing.NamedCount) bool { return c.Due == 0 })
	slices.SortFunc(all, func(a, b listing.NamedCount) int {
		return cmp.Or(cmp.Compare(b.Due, a.Due), cmp.Compare(a.Name, b.Name))
	})
	return all[:min(len(all), listing.MaxNamed)]
}

// counter returns a counter of the jobs of a survey.
func (r *survey) counter(q *listing.ForecastQuery) *counter {
	c := &counter{
		ForecastQuery: q, seconds: make([]uint32, max(0, int(q.Until.Sub(q.From)/time.Second))),
		steps: map[stepName]int{}, unspread: map[int64]int{}, found: listing.Forecast{AsOf: r.asOf},
	}
	except := ""
	if q.Except.Name != "" {
		except = q.Except.WorkflowID()
	}
	for i := range r.jobs {
		w := &r.jobs[i]
		switch {
		case w.outline == nil:
			c.found.Unread++
			continue
		case w.id == except, q.Host != "" && w.outline.Host != q.Host:
			continue
		}
		c.found.Jobs++
		if w.Inactive {
			continue
		}
		k := w.Key.Collection
		j := dueJob{outline: w.outline, host: c.hosts.number(w.outline.Host)}
		j.group = c.groups.number(k.ResourceGroup + "/" + k.Name)
		if len(c.seconds) > 0 {
			j.next, _ = j.timetable.After(q.From.Add(-time.Second - j.Delay))
		}
		c.spread = c.spread || j.Delay > 0
		c.due = append(c.due, j)
	}
	return c
}

// count counts what is due in the window.
func (c *counter) count(ctx context.Context) error {
	c.found.Until = c.From
	for c.found.Until.Before(c.Until) && c.found.Due < maxDue {
		if err := ctx.Err(); err != nil {
			return err
		}
		until := minTime(c.found.Until.Add(dueSlice), c.Until)
		for i := range c.due {
			for j := &c.due[i]; !j.next.IsZero() && j.next.Add(j.Delay).Before(until); {
				c.add(j)
				j.next, _ = j.timetable.After(j.next)
			}
		}
		c.found.Until = until
	}
	return nil
}

// add counts the next occurrence of a job.
func (c *counter) add(j *dueJob) {
	if c.spread {
		if second := j.next.Unix() - c.From.Unix(); second >= 0 {
			c.unspread[second]++
		}
	}
	since := max(0, j.next.Add(j.Delay).Sub(c.From))
	step := int(since / c.Step)
	c.found.Due++
	c.seconds[since/time.Second]++
	c.hosts.all[j.host].Due++
	c.groups.all[j.group].Due++
	c.steps[stepName{step: step, name: j.host}]++
	c.steps[stepName{step: step, name: j.group, group: true}]++
}

// forecast returns what was counted.
func (c *counter) forecast() listing.Forecast {
	f := c.found
	f.Hosts, f.Collections = c.hosts.top(), c.groups.top()
	f.Steps = c.stepCounts()
	var fullest []time.Time
	for _, second := range c.fullest() {
		fullest = append(fullest, c.From.Add(time.Duration(second)*time.Second))
	}
	f.Fullest, f.Times = c.at(fullest), c.at(c.Times)
	for second, n := range c.unspread {
		if u := f.Unspread; u == nil || n > u.Due || n == u.Due && second < u.Time.Unix()-c.From.Unix() {
			f.Unspread = &listing.DueCount{Time: c.From.Add(time.Duration(second) * time.Second), Due: n}
		}
	}
	return f
}

// stepCounts returns the steps in which something is due.
func (c *counter) stepCounts() (all []listing.DueCount) {
	index := map[int]int{}
	per := int(c.Step / time.Second)
	for second, n := range c.seconds {
		if n == 0 {
			continue
		}
		step := second / per
		i, ok := index[step]
		if !ok {
			i = len(all)
			index[step] = i
			all = append(all, listing.DueCount{Time: c.From.Add(time.Duration(step) * c.Step)})
		}
		d := &all[i]
		if d.Due += int(n); int(n) > d.Fullest {
			d.Fullest, d.FullestTime = int(n), c.From.Add(time.Duration(second)*time.Second)
		}
	}
	for key, n := range c.steps {
		d := &all[index[key.step]]
		if key.group {
			more(&d.Collection, listing.NamedCount{Name: c.groups.all[key.name].Name, Due: n})
		} else {
			more(&d.Host, listing.NamedCount{Name: c.hosts.all[key.name].Name, Due: n})
		}
	}
	return all
}

// more replaces a count by one that is higher or, if they are equal, whose name comes first.
func more(to *listing.NamedCount, by listing.NamedCount) {
	if by.Due > to.Due || by.Due == to.Due && by.Name < to.Name {
		*to = by
	}
}

// fullest returns the seconds in which most is due, the fullest first, and of several that are as full the first one
// first.
func (c *counter) fullest() (all []int) {
	for second, n := range c.seconds {
		if n == 0 || len(all) == listing.MaxFullest && c.seconds[all[len(all)-1]] >= n {
			continue
		}
		i, _ := slices.BinarySearchFunc(all, n, func(other int, n uint32) int {
			if c.seconds[other] >= n {
				return -1
			}
			return 1
		})
		all = slices.Insert(all, i, second)
		all = all[:min(len(all), listing.MaxFullest)]
	}
	return all
}

// at returns how many are due in some seconds.
func (c *counter) at(times []time.Time) []listing.DueCount {
	all := make([]listing.DueCount, len(times))
	hosts, groups := make([]map[int]int, len(times)), make([]map[int]int, len(times))
	order := make([]int, len(times)) // by time
	for i, t := range times {
		t = t.Truncate(time.Second)
		all[i].Time, all[i].FullestTime, order[i] = t, t, i
		hosts[i], groups[i] = map[int]int{}, map[int]int{}
	}
	slices.SortFunc(order, func(a, b int) int { return all[a].Time.Compare(all[b].Time) })
	for n := range c.due {
		j := &c.due[n]
		start, known := time.Time{}, false // the first planned start that is not before the time
		for _, i := range order {
			t := all[i].Time
			if !known || start.Before(t) {
				next, ok := j.timetable.After(t.Add(-time.Nanosecond - j.Delay))
				if !ok {
					break
				}
				start, known = next.Add(j.Delay), true
			}
			if start.Before(t.Add(time.Second)) {
				hosts[i][j.host]++
				groups[i][j.group]++
			}
		}
	}
	for i := range all {
		d := &all[i]
		for host, n := range hosts[i] {
			d.Due += n
			more(&d.Host, listing.NamedCount{Name: c.hosts.all[host].Name, Due: n})
		}
		for group, n := range groups[i] {
			more(&d.Collection, listing.NamedCount{Name: c.groups.all[group].Name, Due: n})
		}
		d.Fullest = d.Due
	}
	return all
}
