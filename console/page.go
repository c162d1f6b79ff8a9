package console

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	"almanac/access"
	"almanac/access/session"
	"almanac/client"
)

// maxForm is the size limit of a form, in bytes: a job has at most 16 KiB, and some of it is there twice.
const maxForm = 128 << 10

// policy has browsers load nothing but what the console serves, run no script but those, and show it in no frame.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// A page is a request and the page that answers it. Templates show it.
type page struct {
	console *Console
	at      group // what it is about
	w       http.ResponseWriter
	r       *http.Request
	ctx     context.Context // of calls of the API, as the caller
	most    time.Duration   // how long those may take in all; 0: no limit of its own

	template string
	status   int
	refused  error  // why the caller may not send the request
	moved    string // the path at which the page is, if that is another one
	text     string // what is sent instead of the page, as Markdown; "" for the page

	Title   string
	Current string // the entry of the navigation
	Caller  Caller
	Clock   clock
	Token   string // of forms
	Refresh int    // seconds after which the page is loaded again; 0: never
	Live    *live  // what the page asks to learn whether it has changed; nil: nothing
	Notice  *notice
	Version string
	Login   bool
	Main    any // what the template of the page shows
}

// A notice says what happened.
type notice struct {
	Kind string // fail, warn, miss, info, ok
	Mark string
	Lead string // in bold
	Text string
	Undo string // the path of what undoes it; "" if nothing does, or the caller may not
}

// api returns the client of the API. Calls are given the context of the page.
func (p *page) api() *client.Client { return p.console.clientFor(p.at) }

// Link returns a path of the console in the group of the page, for browsers.
func (p *page) Link(path string) string { return p.Base(p.at.path() + path) }

// Base returns a path of the console that no group is added to, for browsers.
func (p *page) Base(path string) string { return p.console.prefix + root + path }

// Group returns the name of the resource group that the page is about.
func (p *page) Group() string { return p.at.Shown().Name }

// In returns what the title of a page outside the group of the short paths has of its group.
func (p *page) In() string { return p.at.Name }

// Here returns the path of the page, for a link that loads it again.
func (p *page) Here() string {
	q := p.r.URL.Query()
	q.Del("done")
	q.Del("due")
	return withQuery(p.Link(p.below()), q)
}

// Milli returns the time at which the page is sent, for its scripts.
func (p *page) Milli() int64 { return p.console.Now().UnixMilli() }

// Top returns a path beside the console, such as /docs.
func (p *page) Top(path string) string { return p.console.prefix + path }

// JobLink returns the path of a job, and of what is below it.
func (p *page) JobLink(collection, job string, more ...string) string {
	return p.Link(jobPath(collection, job, more...))
}

func jobPath(collection, job string, more ...string) string {
	parts := append([]string{"/jobs", url.PathEscape(collection), url.PathEscape(job)}, more...)
	for i := range more {
		parts[i+3] = url.PathEscape(more[i])
	}
	return strings.Join(parts, "/")
}

// CollectionLink returns the path of the jobs of a collection.
func (p *page) CollectionLink(name string) string { return p.Link("/jobs/" + url.PathEscape(name)) }

// Asset returns the path of a file that pages use.
func (p *page) Asset(name string) string {
	_, version := assets()
	return p.Base("/assets/" + version + "/" + name)
}

// May reports whether the caller may do something, in a collection of the group and to a job. Names may be empty: in any.
func (p *page) May(action access.Action, collection, job string) bool {
	g := p.at.Shown()
	return p.Caller.May(action, access.NewScope(g.Subscription, g.Name, collection, job))
}

// mayInSubscription reports whether the caller may do something in the whole subscription.
func (p *page) mayInSubscription(action access.Action) bool {
	return p.Caller.May(action, access.NewScope(p.at.Shown().Subscription, "", "", ""))
}

// A navEntry is an entry of the navigation.
type navEntry struct{ Name, Path string }

// Nav returns the navigation.
func (p *page) Nav() []navEntry {
	return []navEntry{{"Home", "/"}, {"Jobs", "/jobs"}, {"Activity", "/activity"}, {"Incident", "/incident"}, {"Calendars", "/calendars"},
		{"About", "/about"}}
}

// names returns the collection and the job that the path names.
func (p *page) names() (collection, job string) {
	return p.r.PathValue("collection"), p.r.PathValue("job")
}

// begin makes the page of a request; nil if the request was answered.
func (s *Console) begin(w http.ResponseWriter, r *http.Request) *page {
	p := s.open(w, r)
	if p.refused != nil {
		s.refuse(p)
		return nil
	}
	return p
}

// open makes the page of a request, with why it is refused.
func (s *Console) open(w http.ResponseWriter, r *http.Request) *page {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	p := &page{
		console: s, at: groupOf(r), w: w, r: r, ctx: client.WithCaller(r.Context(), r), status: http.StatusOK, Clock: s.clockOf(r), Login: s.Login,
		Version: s.Version,
	}
	who, err := s.Who(r)
	p.Caller = who
	if p.Caller.May == nil {
		p.Caller.May = func(access.Action, access.Scope) bool { return false }
	}
	switch bad, ok := errors.AsType[*access.CredentialError](err); {
	case ok:
		p.refused = unknown(bad.Problem)
	case err != nil:
		p.refused = err
	case !who.Known:
		p.refused = unknown("This server asks for a login.")
	}
	return p
}

// unknown returns the error of a caller who is not known.
func unknown(problem string) error {
	return &client.Error{Status: http.StatusUnauthorized, Code: "AuthenticationFailed", Message: problem}
}

// refuse answers a request that is refused. A browser whose user is not known is sent to the login page,
// if there is one.
func (s *Console) refuse(p *page) {
	if client.StatusOf(p.refused) != http.StatusUnauthorized {
		s.show(p, p.refused)
		return
	}
	if s.Login && p.r.Header.Get("Authorization") == "" {
		back := root + p.at.path() + "/"
		if p.r.Method == http.MethodGet {
			back = root + p.at.path() + strings.TrimPrefix(p.r.URL.RequestURI(), root)
		}
		p.w.Header().Set("Location", s.prefix+"/login?return="+url.QueryEscape(back))
		p.w.WriteHeader(http.StatusSeeOther)
		return
	}
	s.Refused(p.r, "", http.StatusUnauthorized, client.CodeOf(p.refused))
	s.show(p, p.refused)
}

// reading returns a handler that shows a page.
func (s *Console) reading(show func(*page) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p := s.begin(w, r)
		if p == nil {
			return
		}
		p.Token = s.formToken(w, r)
		s.groups.reading(p) // for the menu, meanwhile
		s.show(p, show(p))
	}
}

// changing returns a handler of a form that does something, and that sends the browser to the path that it returns. If
// that is "", the form is shown again, with what is wrong in it.
func (s *Console) changing(do func(*page) (string, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if p := s.begin(w, r); p != nil && s.takeForm(p) {
			s.answer(p, do)
		}
	}
}

// keeping returns a handler like changing that also has the forms of callers who are refused, so that what they wrote
// is shown again: see [page.refused].
func (s *Console) keeping(do func(*page) (string, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p := s.open(w, r)
		if p.refused != nil && !s.sentIt(p) {
			s.refuse(p)
			return
		}
		if s.takeForm(p) {
			s.answer(p, do)
		}
	}
}

// answer does what a form says, and leads to the page that shows it or shows what is wrong.
func (s *Console) answer(p *page, do func(*page) (string, error)) {
	to, err := do(p)
	if err != nil || to == "" {
		s.show(p, err)
		return
	}
	to = p.at.path() + to
	if strings.Contains(to, "?done=") {
		session.SetCookie(p.w, doneCookie, to, time.Minute, s.isSecure(p.r))
	}
	s.redirect(p.w, p.r, to)
}

// sentIt reports whether a page of the console sent the form of a request.
func (s *Console) sentIt(p *page) bool {
	p.r.Body = http.MaxBytesReader(p.w, p.r.Body, maxForm)
	return p.r.ParseForm() == nil && s.ownForm(p.r)
}

// takeForm reads the form of a request, and reports whether a page of the console sent it. If not, it has answered. It
// sets no cookie: a request of another site comes without that of the forms, and must not replace it.
func (s *Console) takeForm(p *page) bool {
	p.r.Body = http.MaxBytesReader(p.w, p.r.Body, maxForm)
	if err := p.r.ParseForm(); err != nil {
		s.show(p, &client.Error{Status: http.StatusBadRequest, Code: "BadRequest", Message: "The form cannot be read: it is too large, or not complete."})
		return false
	}
	if !s.ownForm(p.r) {
		const code = "CrossOriginRequestForbidden"
		s.Refused(p.r, p.Caller.ID, http.StatusForbidden, code)
		s.show(p, &client.Error{
			Status: http.StatusForbidden, Code: code,
			Message: "The form was not sent by a page of this console, or its page is old. Nothing was done. Load the page again, and repeat it.",
		})
		return false
	}
	p.Token = s.formToken(p.w, p.r)
	return true
}

// errNoPage is the error of a path without a page.
var errNoPage = &client.Error{Status: http.StatusNotFound, Code: "NotFound", Message: "There is no page at this address."}

// show answers with a page, or with the page of an error.
func (s *Console) show(p *page, err error) {
	if err != nil {
		if client.StatusOf(err) == http.StatusUnauthorized && p.refused == nil {
			p.refused = err
			s.refuse(p)
			return
		}
		s.fail(p, err)
	}
	if p.moved != "" && err == nil {
		s.redirect(p.w, p.r, p.at.path()+p.moved)
		return
	}
	if p.text != "" && err == nil {
		p.write("text/markdown; charset=utf-8", []byte(p.text))
		return
	}
	var text bytes.Buffer
	if err := templates()[p.template].ExecuteTemplate(&text, "page", p); err != nil {
		s.logError(p, err)
		http.Error(p.w, "The page could not be made. The log of Almanac says why.", http.StatusInternalServerError)
		return
	}
	p.write("text/html; charset=utf-8", text.Bytes())
}

// write sends the body of the answer.
func (p *page) write(kind string, body []byte) {
	h := p.w.Header()
	h.Set("Content-Type", kind)
	h.Set("Vary", "Accept-Encoding, Cookie")
	zipped := strings.Contains(p.r.Header.Get("Accept-Encoding"), "gzip")
	if zipped {
		h.Set("Content-Encoding", "gzip")
	}
	p.w.WriteHeader(p.status)
	switch {
	case p.r.Method == http.MethodHead:
	case zipped: // what is secret in a page, the token of its forms, is another text each time
		out, _ := gzip.NewWriterLevel(p.w, gzip.BestSpeed) // the level is valid
		_, _ = out.Write(body)                             // the caller may be gone
		_ = out.Close()
	default:
		_, _ = p.w.Write(body) // the caller may be gone
	}
}

// A failure is what the page of an error shows.
type failure struct {
	Heading string
	Text    string
	Details []client.ErrorDetail
	Code    string
	Request string
	Back    string
}

// told returns an error in the words of the API. One that is not of the API is logged instead.
func (s *Console) told(p *page, err error) *client.Error {
	if e, ok := errors.AsType[*client.Error](err); ok {
		return e
	}
	if p.ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) {
		return &client.Error{
			Status: http.StatusServiceUnavailable, Code: "ServiceUnavailable",
			Message: "Almanac did not answer in time. Try again later.",
		}
	}
	s.logError(p, err)
	return &client.Error{
		Status: http.StatusInternalServerError, Code: "InternalServerError",
		Message: "The page could not be made. The log of Almanac says why.",
	}
}

func (s *Console) logError(p *page, err error) {
	s.Log.ErrorContext(
		p.ctx, "a page of the console could not be made", slog.String("path", p.Link(p.below())), slog.Any("error", err),
	)
}

// fail makes a page that of an error, in the words of the API.
func (s *Console) fail(p *page, err error) {
	e := s.told(p, err)
	f := failure{
		Heading: "That did not work", Text: e.Message, Code: e.Code, Details: e.Details, Request: e.RequestID, Back: s.back(p),
	}
	p.status = e.Status
	if e.RetryAfter > 0 {
		p.w.Header().Set("Retry-After", itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	}
	switch p.status {
	case http.StatusNotFound:
		f.Heading = "Not found"
	case http.StatusForbidden:
		f.Heading = "Not allowed"
	case http.StatusConflict, http.StatusPreconditionFailed:
		f.Heading = "Nothing was done"
	case http.StatusServiceUnavailable:
		f.Heading = "Almanac cannot answer now"
	case http.StatusTooManyRequests:
		f.Heading = "Too many requests"
	}
	p.template, p.Title, p.Notice, p.Main = "error", f.Heading, nil, f
}

// back returns the link to the page that a form was on; "" if it is not known.
func (s *Console) back(p *page) string {
	if path := s.cameFrom(p); path != "" {
		return p.Link(path)
	}
	return ""
}

// cameFrom returns the path of the page of the same group that a form was on; "" if it is not known. If that is where
// another form was sent to, it is the path of the page above.
func (s *Console) cameFrom(p *page) string {
	r := p.r
	u, err := url.Parse(r.Header.Get("Referer"))
	if err != nil || r.Method != http.MethodPost {
		return ""
	}
	if u.Host != r.Host && (s.PublicURL == nil || u.Host != s.PublicURL.Host) {
		return ""
	}
	path, ok := strings.CutPrefix(u.EscapedPath(), s.prefix+root)
	if !ok || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") {
		return ""
	}
	at, path, _ := groupIn(path)
	if !at.is(p.at) || !strings.HasPrefix(path, "/") {
		return ""
	}
	if !s.isPage(path) {
		for !s.isPage(path) {
			path = path[:max(1, strings.LastIndex(path, "/"))]
		}
		return path
	}
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	return path
}

// isPage reports whether there is a page at a path of the console.
func (s *Console) isPage(path string) bool {
	u, err := url.Parse(root + path)
	if err != nil {
		return false
	}
	_, shown := s.mux.Handler(&http.Request{Method: http.MethodGet, URL: u})
	_, sent := s.mux.Handler(&http.Request{Method: http.MethodPost, URL: u})
	page, isPage := strings.CutPrefix(shown, "GET ")
	form, isForm := strings.CutPrefix(sent, "POST ")
	return isPage && (!isForm || page == form) // where a form is sent to looks like the page of a job of that name
}

// doneCookie has the path that a form leads to, for its page: a link that somebody else made does not have the page say
// that something was done.
const doneCookie = "almanac-done"

// done returns what a form did that has just led to the page; "" for nothing.
func (p *page) done() string {
	secure := p.console.isSecure(p.r)
	value, err := session.ReadCookie(p.r, doneCookie, secure)
	path, within := strings.CutPrefix(value, p.at.path())
	to, errParse := url.Parse(root + path)
	if err != nil || !within || path == "" || errParse != nil || to.Path != p.r.URL.Path || to.RawQuery != p.r.URL.RawQuery {
		return ""
	}
	session.SetCookie(p.w, doneCookie, "", 0, secure)
	return to.Query().Get("done")
}
