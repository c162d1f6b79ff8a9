package login

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"net/url"
	"strings"
)

var (
	//go:embed page.html
	pageText string
	//go:embed page.css
	style string
	//go:embed docs.js
	script []byte

	page = template.Must(template.New("page").Parse(pageText))

	// policy has browsers use the page's own style alone, and send its form nowhere else.
	policy = "default-src 'none'; style-src 'sha256-" + digest(style) + "'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// A view is what the login page shows. Its links are relative, since a proxy may serve it at any path.
type view struct {
	Style       template.CSS
	Top         string // relative path to what the paths are below
	Issuer      string // host of the issuer that logs browsers in; "": none
	Principal   string // the logged-in user
	Return      string
	ReturnQuery string // "" or ?return=…
	Problem     string
}

// show shows the login page. back is a local path or "".
func (h *Handler) show(w http.ResponseWriter, r *http.Request, status int, back, problem string) {
	v := view{Style: template.CSS(style), Top: strings.Repeat("../", strings.Count(r.URL.Path, "/")-1), Return: back, Problem: problem} //nolint:gosec // the style is part of the program
	if back != "" {
		v.ReturnQuery = "?return=" + url.QueryEscape(back)
	}
	if h.Provider != nil {
		v.Issuer = h.Provider.Issuer
		if u, err := url.Parse(v.Issuer); err == nil {
			v.Issuer = u.Host
		}
	}
	if status == http.StatusOK {
		if _, who, err := h.Sessions.Find(r); err == nil && who != nil {
			v.Principal = who.ID()
		}
	}
	w.Header().Set("Content-Security-Policy", policy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = page.Execute(w, v) // the caller may be gone
}

// serveScript serves the script that shows the logged-in user on the documentation page.
func serveScript(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	_, _ = w.Write(script) // the caller may be gone
}
