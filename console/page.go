package console

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"almanac/access"
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
	w       http.ResponseWriter
	r       *http.Request
	ctx     context.Context // of calls of the API, as the caller

	template string
	status   int

	Title   string
	Current string // the entry of the navigation
	Caller  Caller
	Clock   clock
	Token   string // of forms
	Refresh int    // seconds after which the page is loaded again; 0: never
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
	Undo string // the path of what undoes it
}

// Context returns the context of calls of the API.
func (p *page) api() *client.Client { return p.console.client }

// Link returns a path of the console, for browsers.
func (p *page) Link(path string) string { return p.console.prefix + root + path }

// Top returns a path beside the console, such as /docs.
func (p *page) Top(path string) string { return p.console.prefix + path }

// JobLink returns the path of a job, and of what is below it.
func (p *page) JobLink(collection, job string, more ...string) string {
	return p.Link(jobPath(collection, job, more...))
}

func jobPath(collection, job string, more ...string) string {
	path := "/jobs/" + url.PathEscape(collection) + "/" + url.PathEscape(job)
	for _, part := range more {
		path += "/" + url.PathEscape(part)
	}
	return path
}

// CollectionLink returns the path of the jobs of a collection.
func (p *page) CollectionLink(name string) string { return p.Link("/jobs/" + url.PathEscape(name)) }

// Asset returns the path of a file that pages use.
func (p *page) Asset(name string) string { return p.Link("/assets/" + assetVersion + "/" + name) }

// May reports whether the caller may do something, by the last part of its name.
func (p *page) May(action access.Action, collection, job string) bool {
	return p.Caller.May(action, collection, job)
}

// A navEntry is an entry of the navigation.
type navEntry struct{ Name, Path string }

// Nav returns the navigation.
func (p *page) Nav() []navEntry {
	return []navEntry{{"Home", "/"}, {"Jobs", "/jobs"}, {"Activity", "/activity"}, {"About", "/about"}}
}

// names returns the collection and the job that the path names.
func (p *page) names() (collection, job string) {
	return p.r.PathValue("collection"), p.r.PathValue("job")
}

// begin makes the page of a request; nil if the request was answered.
func (s *Console) begin(w http.ResponseWriter, r *http.Request) *page {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	p := &page{
		console: s, w: w, r: r, ctx: client.WithCaller(r.Context(), r), status: http.StatusOK, Clock: s.clockOf(r), Login: s.Login,
		Version: s.Version,
	}
	who, err := s.Who(r)
	p.Caller = who
	if p.Caller.May == nil {
		p.Caller.May = func(access.Action, string, string) bool { return false }
	}
	if err != nil || !who.Known {
		s.askLogin(p, err)
		return nil
	}
	return p
}

// askLogin sends a browser to the login page, or says that nobody is logged in.
func (s *Console) askLogin(p *page, err error) {
	if s.Login {
		back := root + "/"
		if p.r.Method == http.MethodGet {
			back = p.r.URL.RequestURI()
		}
		p.w.Header().Set("Location", s.prefix+"/login?return="+url.QueryEscape(back))
		p.w.WriteHeader(http.StatusSeeOther)
		return
	}
	text := "This server asks for a login."
	if bad, ok := errors.AsType[*access.CredentialError](err); ok {
		text = bad.Problem
	}
	s.show(p, &client.Error{Status: http.StatusUnauthorized, Code: "AuthenticationFailed", Message: text})
}

// reading returns a handler that shows a page.
func (s *Console) reading(show func(*page) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p := s.begin(w, r)
		if p == nil {
			return
		}
		p.Token = s.formToken(w, r)
		s.show(p, show(p))
	}
}

// changing returns a handler of a form that does something, and that sends the browser to the path that it returns.
func (s *Console) changing(do func(*page) (string, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p := s.beginForm(w, r)
		if p == nil {
			return
		}
		to, err := do(p)
		if err != nil {
			s.show(p, err)
			return
		}
		s.redirect(w, r, to)
	}
}

// submitting returns a handler of a form that is shown again if something is wrong in it. Its path is "" then.
func (s *Console) submitting(do func(*page) (string, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p := s.beginForm(w, r)
		if p == nil {
			return
		}
		to, err := do(p)
		if err != nil || to == "" {
			s.show(p, err)
			return
		}
		s.redirect(w, r, to)
	}
}

// beginForm makes the page of a form; nil if the request was answered.
func (s *Console) beginForm(w http.ResponseWriter, r *http.Request) *page {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	p := s.begin(w, r)
	if p == nil {
		return nil
	}
	p.Token = s.formToken(w, r)
	if err := r.ParseForm(); err != nil {
		s.show(p, &client.Error{Status: http.StatusBadRequest, Code: "BadRequest", Message: "The form cannot be read: it is too large, or not complete."})
		return nil
	}
	if !s.ownForm(r) {
		s.show(p, &client.Error{
			Status: http.StatusForbidden, Code: "CrossOriginRequestForbidden",
			Message: "The form was not sent by a page of this console, or its page is old. Nothing was done. Load the page again, and repeat it.",
		})
		return nil
	}
	return p
}

// errNoPage is the error of a path without a page.
var errNoPage = &client.Error{Status: http.StatusNotFound, Code: "NotFound", Message: "There is no page at this address."}

// show answers with a page, or with the page of an error.
func (s *Console) show(p *page, err error) {
	if err != nil {
		if client.StatusOf(err) == http.StatusUnauthorized && s.Login && p.Caller.Known {
			p.Caller.Known = false
			s.askLogin(p, err)
			return
		}
		s.fail(p, err)
	}
	var text bytes.Buffer
	if err := templates[p.template].ExecuteTemplate(&text, "page", p); err != nil {
		http.Error(p.w, "The page could not be made: "+err.Error(), http.StatusInternalServerError)
		return
	}
	h := p.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
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
		_, _ = out.Write(text.Bytes())                     // the caller may be gone
		_ = out.Close()
	default:
		_, _ = p.w.Write(text.Bytes()) // the caller may be gone
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
	Retry   int // seconds
}

// fail makes a page that of an error, in the words of the API.
func (s *Console) fail(p *page, err error) {
	f := failure{Heading: "That did not work", Text: err.Error(), Code: client.CodeOf(err), Back: back(p.r)}
	p.status = http.StatusInternalServerError
	if e, ok := errors.AsType[*client.Error](err); ok {
		p.status, f.Details, f.Request, f.Retry = e.Status, e.Details, e.RequestID, int(e.RetryAfter.Seconds())
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
		if f.Retry > 0 {
			p.w.Header().Set("Retry-After", "5")
		}
	}
	p.template, p.Title, p.Notice, p.Main = "error", f.Heading, nil, f
}

// back returns the path of the page that a form was on; "" if it is not known.
func back(r *http.Request) string {
	if r.Method != http.MethodPost {
		return ""
	}
	u, err := url.Parse(r.Header.Get("Referer"))
	if err != nil || !strings.Contains(u.Path, root+"/") {
		return ""
	}
	return u.RequestURI()
}
