package preview

import (
	"time"

	"almanac/job"
	"almanac/job/timetable"
)

// A Held is which occurrences a pause holds, and what becomes of them.
type Held struct {
	Count       int
	Runs        int  // how many of them run when it ends
	AtOnce      int  // how many of those at once
	More        bool // there are more than were counted
	Occurrences []HeldOccurrence
}

// A HeldOccurrence is one of the newest occurrences that are held.
type HeldOccurrence struct {
	Due  time.Time
	Runs bool
}

// maxHeldListed is how many held occurrences are listed, and maxHeldCounted how many are counted.
const (
	maxHeldListed  = 20
	maxHeldCounted = 20_000
)

// HeldBetween returns which occurrences of a timetable are held after from and up to until, and what becomes of them by
// a promise. Without an until it has the first few.
func HeldBetween(t *timetable.Timetable, from, until time.Time, p *job.Promise) Held {
	h := Held{AtOnce: max(1, p.AtOnce)}
	var newest []time.Time
	for at := from; ; h.Count++ {
		next, ok := t.After(at)
		if !ok || !until.IsZero() && next.After(until) {
			break
		}
		if h.Count == maxHeldCounted || until.IsZero() && h.Count == maxHeldListed {
			h.More = true
			break
		}
		if at = next; len(newest) == maxHeldListed {
			newest = newest[1:]
		}
		newest = append(newest, next)
	}
	h.Runs = min(h.Count, p.Keep())
	if h.More && until.IsZero() {
		h.Runs = 0 // which ones will depends on its end
	}
	for i, due := range newest {
		h.Occurrences = append(h.Occurrences, HeldOccurrence{due, len(newest)-i <= h.Runs})
	}
	return h
}
