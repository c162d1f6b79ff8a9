package laws

import (
	"slices"
	"time"
)

// checkDemanded checks that every run on demand that was answered has an
// execution of its own, which reached the receiver or is in the history.
func (c *checker) checkDemanded(j *life) {
	type stretch struct {
		from, to int64 // seconds in which the execution may be due
		at       time.Time
	}
	var runs []stretch
	for _, r := range j.runs {
		outcome, at := r.Outcome()
		if outcome != Applied || j.changing(r.Issued(), at.Add(settling)) || at.Add(settling).After(c.log.Run.Frozen) {
			continue
		}
		runs = append(runs, stretch{r.Issued().Unix(), at.Unix() + 1, at})
	}
	if len(runs) == 0 {
		return
	}
	left := j.demandedExecutions()
	// The run whose stretch ends first takes the earliest execution: if executions
	// can be assigned to all runs at all, this assigns them.
	slices.SortStableFunc(runs, func(a, b stretch) int { return int(a.to - b.to) })
	for _, r := range runs {
		second := r.from
		for second <= r.to && left[second] == 0 {
			second++
		}
		if second > r.to {
			c.violation(NoLoss, j.Job, r.at, "the run on demand that was answered at %s was never sent, and the history does not mention it", clock(r.at))
			continue
		}
		left[second]--
	}
}

// demandedExecutions returns how many executions of runs on demand are due in
// each second.
func (j *life) demandedExecutions() map[int64]int {
	received, recorded := map[int64]map[string]bool{}, map[int64]map[entryKey]bool{}
	for _, s := range j.sends {
		if s.action == Main {
			put(received, s.due.Unix(), s.id)
		}
	}
	for unix, entries := range j.entries {
		for _, e := range entries {
			if e.Action == Main && (e.Due.Nanosecond() != 0 || !j.occurrence(e.Due)) {
				put(recorded, unix, entryKey{e.Due.UnixNano(), e.Repeat})
			}
		}
	}
	counts := map[int64]int{}
	for unix, ids := range received {
		counts[unix] = len(ids)
		if j.occurrence(time.Unix(unix, 0).UTC()) {
			counts[unix]-- // one is the occurrence
		}
	}
	for unix, keys := range recorded {
		counts[unix] = max(counts[unix], len(keys))
	}
	return counts
}

// An entryKey tells the executions of a history apart.
type entryKey struct {
	due    int64
	repeat int
}

func put[K, V comparable](sets map[K]map[V]bool, key K, value V) {
	if sets[key] == nil {
		sets[key] = map[V]bool{}
	}
	sets[key][value] = true
}
