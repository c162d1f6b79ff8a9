// Package console is the web console of Almanac: pages that show jobs, what they did and what comes next, and that steer
// them.
//
// Its pages are made on the server and work without scripts. It asks the API's own handler, in the same process, through
// package client, as whoever sent the request: what a caller may see and do, limits, and the audit log are those of the
// API. It keeps nothing, so that any number of processes may serve it.
package console

import (
	"cmp"
	"crypto/rand"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"almanac/access"
	"almanac/client"
)

// Path is the path of the first page, below that of the API.
const Path = root + "/"

// root is the path of the console below that of the API.
const root = "/console"

// Options configure the console. API is required.
type Options struct {
	// API answers the calls of the pages.
	API http.Handler

	// PublicURL is where browsers reach the API. Nil means the host of each request, and no path before that of the API.
	PublicURL *url.URL

	// Who returns the caller of a request, and what that caller may do: pages do not show what would be refused. An
	// [access.CredentialError] sends browsers to the login page; other errors are shown, in words if they are of package
	// client. Nil means that everyone may do everything.
	Who func(r *http.Request) (Caller, error)

	// Refused is called for each request that the console refuses itself, with the caller's ID, if that is known. The
	// API sees to what it refuses. Nil means that nothing is.
	Refused func(r *http.Request, caller string, status int, code string)

	// Login is whether there is a login page, at /login.
	Login bool

	// Version of the program is shown at the foot of each page.
	Version string

	// Log gets errors that pages do not show. Nil means none.
	Log *slog.Logger

	// Now returns the time. Nil means [time.Now].
	Now func() time.Time
}

// A Caller is who sent a request.
type Caller struct {
	Name    string // "" if it is not known
	ID      string // for the audit log
	Known   bool
	Session bool // the caller has logged in with a browser
	May     func(action access.Action, of access.Scope) bool
}

// anyone may do everything.
var anyone = Caller{Known: true, May: func(access.Action, access.Scope) bool { return true }}

// A Console serves the pages.
type Console struct {
	Options
	client *client.Client
	prefix string // of the paths that browsers use, without a slash at its end
	secure bool   // browsers reach it by TLS
	words  cache
	looks  looks
	losses lossReadings
	hours  hours
	groups groupReadings
	mux    *http.ServeMux
}

// New returns a console.
func New(o Options) (*Console, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Refused == nil {
		o.Refused = func(*http.Request, string, int, string) {}
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Who == nil {
		o.Who = func(*http.Request) (Caller, error) { return anyone, nil }
	}
	s := &Console{Options: o, mux: http.NewServeMux()}
	c, err := client.New("http://localhost", client.Options{Transport: client.ServedBy(s.looks.counting(o.API))})
	if err != nil {
		return nil, err
	}
	s.client = c
	if o.PublicURL != nil {
		s.prefix, s.secure = strings.TrimSuffix(o.PublicURL.EscapedPath(), "/"), o.PublicURL.Scheme == "https"
	}
	s.routes()
	templates() // before the first page is asked for: they take a while
	assets()
	return s, nil
}

// routes registers the pages and what their forms do.
func (s *Console) routes() {
	const job = "/jobs/{collection}/{job}"
	s.mux.HandleFunc("GET "+root, func(w http.ResponseWriter, r *http.Request) { s.redirect(w, r, "/") })
	s.mux.HandleFunc("GET "+root+"/assets/{version}/{file}", serveAsset)
	for path, show := range map[string]func(*page) error{
		"/{$}": s.home, "/jobs": s.allJobs, "/jobs/{collection}": s.jobs, job: s.job,
		job + "/explain": s.explain, job + "/edit": s.editJob, "/new": s.newJob,
		job + "/skips": s.skips, "/settings": s.newCollection, "/settings/{collection}": s.collectionSettings,
		job + "/delete": s.confirmDelete, job + "/backfill": s.backfill, job + "/backfills/{backfill}": s.backfillProgress, job + "/pause": s.pauseJob, job + "/resume": s.resumeJob,
		"/pause/{collection}": s.pauseCollection, "/resume/{collection}": s.resumeCollection, job + "/executions/{execution}": s.execution,
		"/bulk/{collection}/{operation}": s.bulkOperation, "/groups": s.listGroups, "/activity": s.activity, "/incident": s.incident, "/calendars": s.calendars, "/about": s.about,
	} {
		s.mux.HandleFunc("GET "+root+path, s.reading(show))
	}
	for path, see := range s.livePaths() {
		s.mux.HandleFunc("GET "+root+"/live"+strings.TrimSuffix(path, "/"), s.watching(see))
	}
	for path, do := range map[string]func(*page) (string, error){
		job + "/run": s.run, job + "/skip": s.skip, job + "/unskip": s.unskip, job + "/enable": s.enable, job + "/disable": s.disable,
		job + "/rerun": s.rerun, job + "/delete": s.deleteJob,
		job + "/backfill": s.beginBackfill, job + "/backfills/{backfill}/pause": s.changeBackfill("pause"),
		job + "/backfills/{backfill}/resume": s.changeBackfill("resume"), job + "/backfills/{backfill}/end": s.changeBackfill("end"),
		job + "/restore": s.restoreJob,
		job + "/pause":   s.doPauseJob, job + "/resume": s.doResumeJob, "/pause/{collection}": s.doPauseCollection, "/resume/{collection}": s.doResumeCollection,
		"/jobs/{collection}/enable": s.enableCollection, "/jobs/{collection}/disable": s.disableCollection,
		job + "/skips": s.skipWindow, "/settings": s.createCollection, "/settings/{collection}": s.saveSettings,
		"/zone": s.setZone, "/start": s.start, "/calendars": s.saveCalendar, "/calendars/delete": s.deleteCalendar,
	} {
		s.mux.HandleFunc("POST "+root+path, s.changing(do))
	}
	s.mux.HandleFunc("POST "+root+job+"/edit", s.keeping(s.saveJob))
	s.mux.HandleFunc("POST "+root+"/new", s.keeping(s.createJob))
	s.mux.HandleFunc("POST "+root+"/jobs/{collection}/bulk", s.changing(s.askBulk))
	s.mux.HandleFunc("POST "+root+"/jobs/{collection}/bulk/do", s.changing(s.doBulk))
	s.mux.HandleFunc(root+"/", s.reading(func(*page) error { return errNoPage }))
}

// Before returns a handler that answers requests to the console, sends browsers there that ask for / or follow the link
// of an alert, and passes all others to next.
func (s *Console) Before(next http.Handler) http.Handler {
	next = s.looks.counting(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := r.URL.Path
		switch {
		case asked == root || strings.HasPrefix(asked, root+"/"):
			if s.cleaned(w, r) {
				return
			}
			s.serve(w, r)
		case asked == "/" && r.Method == http.MethodGet && wantsPage(r):
			s.redirect(w, r, "/")
		case r.Method == http.MethodGet && wantsPage(r):
			if page, ok := pageOfResource(r.URL.EscapedPath()); ok {
				s.redirect(w, r, page)
				return
			}
			next.ServeHTTP(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// cleaned sends a browser that asks for a path with // or a part . or .. in it to the path without, and reports whether
// it did: http.ServeMux does not know the prefix of paths.
func (s *Console) cleaned(w http.ResponseWriter, r *http.Request) bool {
	was := r.URL.EscapedPath()
	to := path.Clean(was)
	if strings.HasSuffix(was, "/") && to != "/" {
		to += "/"
	}
	rest, ok := strings.CutPrefix(to, root)
	if to == was || !ok || rest != "" && rest[0] != '/' {
		return false
	}
	if r.URL.RawQuery != "" {
		rest += "?" + r.URL.RawQuery
	}
	s.redirect(w, r, rest)
	return true
}

// wantsPage reports whether a browser that opens a page sent a request.
func wantsPage(r *http.Request) bool {
	mode := r.Header.Get("Sec-Fetch-Mode")
	return strings.Contains(r.Header.Get("Accept"), "text/html") && (mode == "" || mode == "navigate")
}

// redirect sends a browser to a path of the console.
func (s *Console) redirect(w http.ResponseWriter, _ *http.Request, to string) {
	w.Header().Set("Location", s.prefix+root+to)
	w.Header().Set("Vary", "Accept, Sec-Fetch-Mode")
	w.WriteHeader(http.StatusSeeOther)
}

// newToken returns a text that nobody guesses.
func newToken() string { return rand.Text() }
