// Package login has the pages at which people log in with a browser: at an OpenID Connect issuer, or by pasting a
// token. Both begin a session of package session.
package login

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"almanac/access"
	"almanac/access/session"
	"almanac/internal/ratelimit"
)

// Paths of the pages.
const (
	loginPath    = "/login"
	startPath    = "/login/start"    // leads to the issuer
	callbackPath = "/login/callback" // to which the issuer leads
	sessionPath  = "/login/session"  // returns the logged-in user
	logoutPath   = "/logout"
	scriptPath   = "/docs/login.js" // shows the logged-in user on the documentation page
)

// maxForm is the size limit of a form, in bytes.
const maxForm = 64 << 10

// Options configure a [Handler].
type Options struct {
	Sessions *session.Authenticator
	Provider *Provider // nil if no issuer logs browsers in
	Lifetime time.Duration

	CommandLine *CommandLine // nil if no issuer logs command lines in

	// PublicURL is where browsers reach the server. Nil means the scheme and host of each request.
	PublicURL *url.URL

	// Home is the path that a login without another one leads to.
	Home string

	Callers *ratelimit.Limiter // of requests of an address; nil means no limits
	Log     *slog.Logger

	// Refused is called for each login that is refused; its principal is not known. Nil means that nothing is.
	Refused func(r *http.Request, principal string, status int, code string)
}

// A Handler answers requests to the pages.
type Handler struct {
	Options
	failures *ratelimit.Logins
	pages    http.Handler
}

// New returns the handler of the pages.
func New(o Options) *Handler {
	h := &Handler{Options: o, failures: ratelimit.NewLogins()}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+loginPath, h.showForm)
	mux.HandleFunc("POST "+loginPath, h.takeToken)
	mux.HandleFunc("GET "+startPath, h.start)
	mux.HandleFunc("GET "+callbackPath, h.callback)
	mux.HandleFunc("GET "+sessionPath, h.showSession)
	mux.HandleFunc("POST "+logoutPath, h.logout)
	mux.HandleFunc("GET "+scriptPath, serveScript)
	if o.CommandLine != nil {
		mux.HandleFunc("GET "+metadataPath, h.showMetadata)
	}
	h.pages = mux
	return h
}

// Before returns a handler that answers requests to the pages, as far as guard admits them, and passes the others to
// next. The limits of callers come first.
func (h *Handler) Before(next http.Handler, guard func(http.Handler) http.Handler) http.Handler {
	pages := h.limit(guard(h.pages))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.has(r.URL.Path) {
			pages.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// has reports whether a path is one of the pages.
func (h *Handler) has(path string) bool {
	switch path {
	case loginPath, logoutPath, scriptPath:
		return true
	case metadataPath:
		return h.CommandLine != nil
	}
	return strings.HasPrefix(path, loginPath+"/")
}

// limit returns a handler that passes on the requests of callers that do not send too many.
func (h *Handler) limit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		done, err := h.Callers.Admit(r.Context(), ratelimit.ByAddress(r))
		if refusal, ok := errors.AsType[*ratelimit.Refusal](err); ok {
			h.slowDown(w, r, refusal)
			return
		}
		if err != nil {
			return // the caller is gone
		}
		defer done()
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		next.ServeHTTP(w, r)
	})
}

func (h *Handler) showForm(w http.ResponseWriter, r *http.Request) {
	h.show(w, r, http.StatusOK, localPath(r.URL.Query().Get("return")), "")
}

// takeToken begins a session for a token that was pasted.
func (h *Handler) takeToken(w http.ResponseWriter, r *http.Request) {
	if err := h.Sessions.Same.Check(r); err != nil {
		h.refuse(w, r, http.StatusForbidden, "CrossOriginRequestForbidden", "", "The form was not sent by the login page of this server.", err)
		return
	}
	if err := r.ParseForm(); err != nil {
		h.refuse(w, r, http.StatusBadRequest, "BadRequest", "", "The form cannot be read.", err)
		return
	}
	back := localPath(r.PostForm.Get("return"))
	token := strings.TrimSpace(r.PostForm.Get("token"))
	who, err := h.Sessions.HolderOf(r, token)
	if err != nil {
		h.refuseCredential(w, r, back, err)
		return
	}
	h.begin(w, r, back, session.Session{Token: token}, who)
}

// start sends a browser to the issuer.
func (h *Handler) start(w http.ResponseWriter, r *http.Request) {
	if h.Provider == nil {
		http.NotFound(w, r)
		return
	}
	back := localPath(r.URL.Query().Get("return"))
	a := newAttempt(h.Provider.Issuer, h.base(r)+callbackPath, back)
	to, err := h.Provider.url(r.Context(), a)
	if err == nil {
		err = h.save(w, r, a)
	}
	if err != nil {
		h.refuseCredential(w, r, back, err)
		return
	}
	redirect(w, to)
}

// callback ends a login at the issuer.
func (h *Handler) callback(w http.ResponseWriter, r *http.Request) {
	if h.Provider == nil {
		http.NotFound(w, r)
		return
	}
	a, said := h.take(w, r), r.URL.Query()
	if a == nil {
		h.refuse(w, r, http.StatusBadRequest, "AuthenticationFailed", "",
			"This login was not begun in this browser, took too long, or is over. Begin again.", nil)
		return
	}
	if problem := said.Get("error"); problem != "" {
		h.refuse(w, r, http.StatusUnauthorized, "AuthenticationFailed", a.Return,
			"The issuer refused the login: "+cut(problem)+".", errors.New(cut(said.Get("error_description"))))
		return
	}
	if err := h.checkSender(r, said); err != nil {
		h.refuseCredential(w, r, a.Return, err)
		return
	}
	who, err := h.Provider.identity(r.Context(), a, said.Get("code"))
	if err != nil {
		h.refuseCredential(w, r, a.Return, err)
		return
	}
	h.begin(w, r, a.Return, session.Session{Identity: who}, who.Principal())
}

// checkSender checks that an answer is of the issuer that was asked, as far as it says whose it is (RFC 9207).
func (h *Handler) checkSender(r *http.Request, said url.Values) error {
	found, err := h.Provider.discover(r.Context())
	if err != nil {
		return err
	}
	if name, named := said.Get("iss"), said.Has("iss"); named && name != h.Provider.Issuer || !named && found.namesSelf {
		return &access.CredentialError{Problem: "The answer is of another issuer than the one that was asked."}
	}
	return nil
}

// begin begins a session, and sends the browser on.
func (h *Handler) begin(w http.ResponseWriter, r *http.Request, back string, s session.Session, who *access.Principal) {
	s.Expires = time.Now().Add(h.Lifetime)
	if err := h.Sessions.Begin(w, r, s); err != nil {
		problem := "The session could not begin."
		if errors.Is(err, session.ErrTooLong) {
			problem = "The token, or the groups in it, do not fit into a cookie. Have the issuer put fewer groups " +
				"into tokens, such as only those assigned to this application, or application roles."
		}
		h.refuse(w, r, http.StatusBadRequest, "AuthenticationFailed", back, problem, err)
		return
	}
	h.Log.InfoContext(r.Context(), "a browser logged in", slog.String("principal", who.ID()), slog.String("client", ratelimit.ByAddress(r)))
	if back == "" {
		back = h.Home
	}
	redirect(w, h.path()+back)
}

// showSession returns the logged-in user as JSON: principal and expires, or nothing.
func (h *Handler) showSession(w http.ResponseWriter, r *http.Request) {
	var said struct {
		Principal string     `json:"principal,omitempty"`
		Expires   *time.Time `json:"expires,omitempty"`
	}
	if s, who, err := h.Sessions.Find(r); err == nil && who != nil {
		expires := s.Expires.UTC().Truncate(time.Second)
		said.Principal, said.Expires = who.ID(), &expires
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(said) // the caller may be gone
}

// logout ends the session of a browser.
func (h *Handler) logout(w http.ResponseWriter, r *http.Request) {
	if err := h.Sessions.Same.Check(r); err != nil {
		h.refuse(w, r, http.StatusForbidden, "CrossOriginRequestForbidden", "", "Only pages of this server may log out.", err)
		return
	}
	h.Sessions.End(w, r)
	redirect(w, h.path()+loginPath)
}

// base returns the URL that the paths are below.
func (h *Handler) base(r *http.Request) string {
	if h.PublicURL != nil {
		return strings.TrimSuffix(h.PublicURL.String(), "/")
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

// path returns the path that the paths are below, for browsers.
func (h *Handler) path() string {
	if h.PublicURL != nil {
		return strings.TrimSuffix(h.PublicURL.EscapedPath(), "/")
	}
	return ""
}

// redirect sends a browser on, with GET.
func redirect(w http.ResponseWriter, to string) {
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
}
