package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"almanac/internal/build"
	"almanac/internal/telemetry"
)

// probeTimeout is the time limit for the answer to a probe.
const probeTimeout = 6 * time.Second

// A probeAnswer is the answer to a probe, as in the API.
type probeAnswer struct {
	Status  string `json:"status"`
	Missing string `json:"missing,omitempty"`

	Build *build.Info `json:"build,omitempty"`
}

// askProbe asks the server that listens on an address of this machine, by http or https, and returns the status that it
// answers. The error says what is missing.
func askProbe(ctx context.Context, scheme, listen, path string) (string, error) {
	local, err := localAddress(listen)
	if err != nil {
		return "", err
	}
	url := scheme + "://" + local + path
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	// There is no proxy, since it is this machine. Its certificate has the name that other machines call it by, and so
	// does not fit the address; nothing secret is sent.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return "", fmt.Errorf("nothing answers: %w", err)
	}
	defer response.Body.Close()
	var body probeAnswer
	if err := json.NewDecoder(io.LimitReader(response.Body, 1<<16)).Decode(&body); err != nil {
		return "", fmt.Errorf("%s answers %s, and not as Almanac does", url, response.Status)
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", body.Status, body.Missing)
	}
	return body.Status, nil
}

// probeHandler answers the probes /healthz and /readyz, as the API does, and scrapes. check returns what is missing.
func probeHandler(built build.Info, check func(context.Context) error, metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		replyToProbe(w, http.StatusOK, probeAnswer{Status: "alive", Build: &built})
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := check(r.Context()); err != nil {
			replyToProbe(w, http.StatusServiceUnavailable, probeAnswer{Status: "not ready", Missing: err.Error()})
			return
		}
		replyToProbe(w, http.StatusOK, probeAnswer{Status: "ready"})
	})
	mux.Handle("GET "+telemetry.Path, metrics)
	return mux
}

func replyToProbe(w http.ResponseWriter, status int, body probeAnswer) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the caller may be gone
}
