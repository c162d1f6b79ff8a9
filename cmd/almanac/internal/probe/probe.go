// Package probe asks a server of Almanac whether it is ready, and answers that question for a worker.
package probe

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"almanac/cmd/almanac/internal/address"
	"almanac/internal/build"
	"almanac/internal/telemetry"
)

// timeout is the limit for the answer.
const timeout = 6 * time.Second

// An answer is that to a probe, as in the API.
type answer struct {
	Status  string `json:"status"`
	Missing string `json:"missing,omitempty"`

	Build *build.Info `json:"build,omitempty"`
}

// Ask asks the server that listens on an address of this machine, by http or https, and returns the status that it
// answers. The error says what is missing.
func Ask(ctx context.Context, scheme, listen, path string) (string, error) {
	local, err := address.Local(listen)
	if err != nil {
		return "", err
	}
	url := scheme + "://" + local + path
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	// There is no proxy, since it is this machine. Its certificate has the name that other machines call it by, and so does
	// not fit the address; nothing secret is sent.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return "", fmt.Errorf("nothing answers: %w", err)
	}
	defer response.Body.Close()
	var body answer
	if err := json.NewDecoder(io.LimitReader(response.Body, 1<<16)).Decode(&body); err != nil {
		return "", fmt.Errorf("%s answers %s, and not as Almanac does", url, response.Status)
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", body.Status, body.Missing)
	}
	return body.Status, nil
}

// Handler answers the probes /healthz and /readyz, as the API does, and scrapes. check returns what is missing.
func Handler(built build.Info, check func(context.Context) error, metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, answer{Status: "alive", Build: &built})
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := check(r.Context()); err != nil {
			reply(w, http.StatusServiceUnavailable, answer{Status: "not ready", Missing: err.Error()})
			return
		}
		reply(w, http.StatusOK, answer{Status: "ready"})
	})
	mux.Handle("GET "+telemetry.Path, metrics)
	return mux
}

func reply(w http.ResponseWriter, status int, body answer) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the caller may be gone
}
