package console

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"almanac/client"
)

// Pages that are open ask, every 1.5 seconds while they are shown, whether what they show has changed. They are told only
// that: a page then asks for itself, and shows what is new where the reader wants it. All pages of a caller that show the
// same are answered from one look at the API, which is taken when it may have changed: after something of the list came
// due, after a change through this process, and else after lookAgain.
const (
	// lookAgain is after what time the API is asked although nothing is known to have changed.
	lookAgain = 10 * time.Second

	// lookSoon is after what time it is asked again while something of the list is due.
	lookSoon = 1500 * time.Millisecond

	// dueFor is for how long something that came due may still change.
	dueFor = 15 * time.Second

	// leastApart is how long after a look no other one is taken, whatever changes.
	leastApart = 500 * time.Millisecond

	// maxLooks is how many looks are kept.
	maxLooks = 1000
)

// A look is what the API said last about what some pages show.
type look struct {
	mu      sync.Mutex // held while the API is asked
	seen    sight
	failed  error
	at      time.Time
	until   time.Time // when the API is asked again
	changes uint64    // of this process, at the time of the look
	used    time.Time
}

// A sight is what pages are told.
type sight struct {
	version string      // another one if something has changed
	ends    []time.Time // when the newest entries ended, for pages that count what is new; newest first
	due     time.Time   // when something changes next, as far as it is known
}

// looks are those of all pages that are open.
type looks struct {
	mu      sync.Mutex
	all     map[string]*look
	changes atomic.Uint64 // how many requests that may have changed something this process has answered
}

// get returns the look under a key, and forgets old ones.
func (l *looks) get(key string, now time.Time) *look {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[string]*look{}
	}
	if len(l.all) >= maxLooks {
		for other, one := range l.all {
			if now.Sub(one.used) > time.Minute {
				delete(l.all, other)
			}
		}
	}
	found := l.all[key]
	if found == nil || len(l.all) > 2*maxLooks {
		found = &look{}
		if len(l.all) < 2*maxLooks {
			l.all[key] = found
		}
	}
	found.used = now
	return found
}

// asks matches the paths of POST requests that change nothing.
var asks = regexp.MustCompile(`(?i)/(previewRecurrence|previewChange|previewPause|previewBackfill|bulkPreview|forecast|try)/?$`)

// counting counts the requests to a handler that may change something.
func (l *looks) counting(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodPost && asks.MatchString(r.URL.Path)
		if !reads {
			defer l.changes.Add(1)
		}
		h.ServeHTTP(w, r)
	})
}

// watching returns a handler that tells a page whether what it shows has changed.
func (s *Console) watching(see func(*page) (sight, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p := s.open(w, r)
		if p.refused != nil {
			w.WriteHeader(client.StatusOf(p.refused))
			return
		}
		seen, err := s.look(p, see)
		if err != nil {
			e := s.told(p, err)
			if e.RetryAfter > 0 {
				w.Header().Set("Retry-After", strconv.Itoa(int(e.RetryAfter.Seconds())+1))
			}
			w.WriteHeader(e.Status)
			return
		}
		q := r.URL.Query()
		if since, err := strconv.ParseInt(q.Get("since"), 10, 64); err == nil {
			told(w, "new", newer(seen.ends, time.UnixMilli(since)), 0)
			return
		}
		told(w, "v", seen.version, q.Get("v"))
	}
}

// told answers with a value as JSON, and with nothing if it is what the page has.
func told[T comparable](w http.ResponseWriter, name string, value, has T) {
	if value == has {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]T{name: value}) // the caller may be gone
}

// newer returns how many of some times, newest first, are after a time.
func newer(all []time.Time, since time.Time) (n int) {
	for _, at := range all {
		if at.After(since) {
			n++
		}
	}
	return n
}

// look returns what the API says about what a page shows, or said last.
func (s *Console) look(p *page, see func(*page) (sight, error)) (sight, error) {
	of := s.looks.get(lookKey(p), p.Clock.Now)
	of.mu.Lock()
	defer of.mu.Unlock()
	changes := s.looks.changes.Load()
	now := p.Clock.Now
	if now.Before(of.until) && of.changes == changes || now.Sub(of.at) < leastApart {
		return of.seen, of.failed
	}
	p.ctx = context.WithoutCancel(p.ctx) // other pages are answered by it, too
	defer p.limit()()
	of.seen, of.failed = see(p)
	of.changes, of.at, of.until = changes, now, now.Add(of.seen.next(now))
	if of.failed != nil {
		of.until = now.Add(lookSoon)
	}
	return of.seen, of.failed
}

// next returns after what time the API is asked again.
func (s *sight) next(now time.Time) time.Duration {
	if s.due.IsZero() {
		return lookAgain
	}
	away := s.due.Sub(now)
	switch {
	case away < -dueFor:
		return lookAgain
	case away < lookSoon:
		return lookSoon
	}
	return min(lookAgain, away+lookSoon/3)
}

// lookKey returns the same text for pages that are told the same: those of the same caller that show the same. Where
// callers are known, their credentials are a part of it, since two of one caller may see different things. It is short,
// however long the address of a page is.
func lookKey(p *page) string {
	q := p.r.URL.Query()
	q.Del("v")
	q.Del("since")
	of := []string{p.at.path(), p.r.URL.Path, q.Encode()}
	if p.Caller.ID != "" {
		of = append(of, p.Caller.ID, p.r.Header.Get("Authorization"), strings.Join(p.r.Header.Values("Cookie"), ";"))
	}
	sum := sha256.New()
	for _, text := range of {
		sum.Write([]byte(strconv.Itoa(len(text)) + ":" + text))
	}
	return string(sum.Sum(nil))
}

// A live says what a page asks to learn whether it has changed.
type live struct {
	Path    string // with what it is asked for
	Version string
	Since   int64 // milliseconds; 0: it asks by its version
}

// liveOf returns what a page of a list asks for.
func (p *page) liveOf(below, version string) *live {
	q := p.r.URL.Query()
	q.Del("done")
	q.Del("due")
	return &live{Path: withQuery(p.Link("/live"+below), q), Version: version}
}

func withQuery(path string, q url.Values) string {
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// versionOf returns a text that is another one if some values are.
func versionOf(values ...any) string {
	sum := sha256.New()
	_ = json.NewEncoder(sum).Encode(values) // they came as JSON
	return hex.EncodeToString(sum.Sum(nil))[:16]
}

// versionOfJobs returns the version of a list of jobs.
func versionOfJobs(found *client.Summaries) string {
	return versionOf(found.Matching, found.Value, len(found.Unread))
}

// nextOf returns when the next of some jobs is due, or the last one that came due a moment ago.
func nextOf(jobs []client.Summary, now time.Time) (next time.Time) {
	for i := range jobs {
		q := &jobs[i].Properties
		at := q.NextExecutionTime
		if n := len(q.Recent); n > 0 && now.Sub(q.Recent[n-1].ExpectedExecutionTime) < dueFor && q.Recent[n-1].Assumed {
			return q.Recent[n-1].ExpectedExecutionTime
		}
		if !at.IsZero() && now.Sub(at) < dueFor && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}

// seeJobs looks at a page of a list of jobs.
func (s *Console) seeJobs(p *page) (sight, error) {
	scope := client.Scope{}
	if name := p.r.PathValue("collection"); name != "" {
		scope = client.InCollection(name)
	}
	found, err := p.api().Summaries(p.ctx, scope, p.filter(&jobsView{}).list)
	if err != nil {
		return sight{}, err
	}
	return sight{version: versionOfJobs(&found), due: nextOf(found.Value, p.Clock.Now)}, nil
}

// seeJob looks at a job.
func (s *Console) seeJob(p *page) (sight, error) {
	collection, name := p.names()
	found, err := p.api().Summaries(p.ctx, client.InCollection(collection), oneJob(name))
	if err != nil {
		return sight{}, err
	}
	return sight{version: versionOfJobs(&found), due: nextOf(found.Value, p.Clock.Now)}, nil
}

// oneJob finds a job.
func oneJob(name string) client.Search {
	return client.Search{Filter: "name eq " + quoted(name), Top: 1}
}

// seeHome looks at what Home says first.
func (s *Console) seeHome(p *page) (sight, error) {
	found, err := p.api().Summaries(p.ctx, client.Scope{}, client.Search{Filter: "lastOutcome eq Failed", Top: listedFailing, OrderBy: "name"})
	if err != nil {
		return sight{}, err
	}
	return sight{version: versionOfHome(&found)}, nil
}

// versionOfHome returns the version of Home: what fails, what is disabled, and what did not go well since yesterday.
func versionOfHome(failing *client.Summaries) string {
	var names []string
	for i := range failing.Value {
		names = append(names, failing.Value[i].Name)
	}
	day := client.Day{}
	if d := failing.Counts.LastDay; d != nil {
		day = *d
	}
	return versionOf(failing.Total, names, failing.Counts.States, day.Missed, day.Skipped)
}

// newestEntries is how many entries are counted that are new.
const newestEntries = 100

// seeActivity looks at the newest entries of a history.
func (s *Console) seeActivity(p *page) (sight, error) {
	q := p.r.URL.Query()
	of := selection{q.Get("collection"), q.Get("name"), q.Get("outcome")}
	list := client.List{Filter: joinedFilter(filterOf(of.outcome), nameFilter(of.name)), Top: newestEntries}
	found, err := p.api().HistoryAcrossPage(p.ctx, of.scope(), list)
	if err != nil {
		return sight{}, err
	}
	seen := sight{}
	for i := range found.Value {
		at := found.Value[i].Properties.EndTime
		if at.IsZero() {
			at = found.Value[i].Properties.StartTime
		}
		seen.ends = append(seen.ends, at)
	}
	return seen, nil
}

// livePaths are below what path what is looked at.
func (s *Console) livePaths() map[string]func(*page) (sight, error) {
	return map[string]func(*page) (sight, error){
		"/": s.seeHome, "/jobs": s.seeJobs, "/jobs/{collection}": s.seeJobs, "/jobs/{collection}/{job}": s.seeJob, "/activity": s.seeActivity,
	}
}

// below returns the path of a page below the console.
func (p *page) below() string {
	return strings.TrimPrefix(p.r.URL.EscapedPath(), root)
}
