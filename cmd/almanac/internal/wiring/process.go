// Package wiring builds what a command runs from its settings: the log, TLS, who may call, the API's handler, and the
// senders of actions with the guard of their connections.
package wiring

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"almanac/access"
	"almanac/access/issuer"
	"almanac/activities/senders"
	"almanac/cmd/almanac/internal/settings"
	"almanac/internal/build"
	"almanac/internal/egress"
	"almanac/internal/telemetry"
	"almanac/recurrence"
)

// A Process is a running command: its settings, and what was built from them.
type Process struct {
	*settings.Config
	Build build.Info
	Out   io.Writer // standard output
	Log   *slog.Logger

	Senders   *senders.Senders     // nil: the command neither sends nor checks what is sent
	Telemetry *telemetry.Telemetry // set by the command

	guard          *egress.Guard          // of Senders
	issuerClient   *http.Client           // for the issuers of tokens
	authenticators []access.Authenticator // of tokens, set by Authenticate
	issuer         *issuer.Authenticator  // nil without an issuer
}

// Command returns cmd with the flags that the table of settings has for it. It loads the settings and calls run.
func Command(cmd *cobra.Command, getenv settings.Lookup, built build.Info,
	run func(cmd *cobra.Command, args []string, p *Process) error,
) *cobra.Command {
	c := settings.For(cmd, getenv)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := c.Load(); err != nil {
			return err
		}
		p, err := newProcess(c, built)
		if err != nil {
			return err
		}
		p.Build.Zones = recurrence.CurrentZones().Release()
		p.Out, p.Log = cmd.OutOrStdout(), newLog(c, cmd.ErrOrStderr())
		for _, w := range c.Warnings {
			p.Log.Warn(w)
		}
		return run(cmd, args, p)
	}
	return cmd
}

// newProcess builds what connects to others.
func newProcess(c *settings.Config, built build.Info) (*Process, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: c.Roots, MinVersion: tls.VersionTLS12}
	p := &Process{Config: c, Build: built, issuerClient: &http.Client{Transport: transport, Timeout: 10 * time.Second}}
	if c.EgressMode == "" {
		return p, nil
	}
	return p, p.makeSenders()
}

// newLog returns the log of a command. Commands without settings for it log text, from level info.
func newLog(c *settings.Config, w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.LogLevel)) // the table has checked it
	options := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "json" {
		return slog.New(telemetry.LogHandler(slog.NewJSONHandler(w, options)))
	}
	return slog.New(telemetry.LogHandler(slog.NewTextHandler(w, options)))
}

// FlushAuditLog writes what the audit log has not written yet. It is for the end of the process.
func (p *Process) FlushAuditLog() {
	if p.Refusals == nil {
		return
	}
	if err := p.Refusals.Flush(); err != nil {
		p.Log.Error("refused requests are missing in the audit log", "error", err)
	}
}

// FollowCertificates loads certificates whose files change, until ctx ends, and shows when they expire.
func (p *Process) FollowCertificates(ctx context.Context) {
	if p.Certificates != nil {
		p.Telemetry.Certificates(p.Certificates.Expiries)
		go p.Certificates.Follow(ctx, p.Log)
	}
}

// ServerTLS returns the TLS of a server that does not ask callers for a certificate; nil for plain HTTP.
func (p *Process) ServerTLS() *tls.Config {
	if p.Certificates == nil {
		return nil
	}
	return p.Certificates.Server()
}

// APITLS returns the TLS of the API; nil for plain HTTP.
func (p *Process) APITLS() *tls.Config {
	if p.Certificates == nil {
		return nil
	}
	return p.Certificates.API()
}
