package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"almanac/scheduler/readiness"
)

// healthcheckTimeout is the limit for the answer to a health check.
const healthcheckTimeout = 6 * time.Second

func newHealthcheck(getenv lookup) *cobra.Command {
	return command(&cobra.Command{
		Use:   "healthcheck",
		Short: "Ask a running Almanac whether it is ready",
		Long: `Ask the API or the worker at an address of this machine whether jobs can be stored
and run. The exit status is 0 if so. Otherwise it is 1, and the error says what is
missing. It is made for the health check of a container.`,
		Example: "  almanac healthcheck\n  almanac healthcheck --listen 127.0.0.1:8081   # a worker",
		Args:    cobra.NoArgs,
	}, getenv, func(cmd *cobra.Command, _ []string, c *config) error {
		path := "/readyz"
		if c.live {
			path = "/healthz"
		}
		status, err := checkHealth(cmd.Context(), c.listen, path)
		if err != nil {
			return err
		}
		fmt.Fprintln(c.out, status)
		return nil
	})
}

// checkHealth asks the server that listens on an address of this machine, and returns the status that it
// answers. The error says what is missing.
func checkHealth(ctx context.Context, listen, path string) (string, error) {
	url, err := healthURL(listen, path)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, healthcheckTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := (&http.Client{Transport: &http.Transport{}}).Do(request) // no proxy: it is this machine
	if err != nil {
		return "", fmt.Errorf("nothing answers: %w", err)
	}
	defer response.Body.Close()
	var body healthBody
	if err := json.NewDecoder(io.LimitReader(response.Body, 1<<16)).Decode(&body); err != nil {
		return "", fmt.Errorf("%s answers %s, and not as Almanac does", url, response.Status)
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", body.Status, body.Missing)
	}
	return body.Status, nil
}

// healthURL returns the URL of a path of the server that listens on an address. A server that listens on all
// addresses is asked at the loopback address.
func healthURL(listen, path string) (string, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", err
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip.Is6() {
			host = "::1"
		}
	}
	return "http://" + net.JoinHostPort(host, port) + path, nil
}

// A healthBody is the answer to a probe, as in the API.
type healthBody struct {
	Status  string `json:"status"`
	Missing string `json:"missing,omitempty"`
}

// workerHealth returns the probes of a worker: /healthz and /readyz, with the answers of the API's.
func workerHealth(c client.Client, namespace string, config *config) http.Handler {
	checker := readiness.New(c, namespace, config.log)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		answerProbe(w, http.StatusOK, healthBody{Status: "alive"})
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := checker.Check(r.Context()); err != nil {
			answerProbe(w, http.StatusServiceUnavailable, healthBody{Status: "not ready", Missing: err.Error()})
			return
		}
		answerProbe(w, http.StatusOK, healthBody{Status: "ready"})
	})
	return config.hosts.Check(mux)
}

func answerProbe(w http.ResponseWriter, status int, body healthBody) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the caller may be gone
}
