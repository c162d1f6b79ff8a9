// Package config has all settings of the commands, declared in one table, and makes what they describe.
package config

import (
	"crypto/x509"
	"io"
	"log/slog"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"almanac/activities/senders"
	"almanac/internal/audit/refusals"
	"almanac/internal/build"
	"almanac/internal/callers"
	"almanac/internal/codec"
	"almanac/internal/settings"
	"almanac/internal/telemetry"
	"almanac/internal/web"
	"almanac/job/input"
	"almanac/recurrence"
)

// A Lookup finds an environment variable, as [os.LookupEnv] does.
type Lookup func(name string) (value string, set bool)

// A Config is the configuration of a command: the values of its settings, and what their checks make from them.
// What belongs to settings that the command does not have is zero.
type Config struct {
	Build build.Info // of this program
	Out   io.Writer  // standard output
	Log   *slog.Logger

	Listen, TemporalListen, UIListen, CodecListen, WorkerListen string // "": not opened
	Live                                                        bool
	Hosts                                                       *web.Hosts // names that the servers answer to

	CodecToken string
	Origins    []string // that may call the codec server

	TokenFile string
	Token     tokenConfig

	Data, Synchronous   string
	Retention           time.Duration
	MinFree             uint64
	MaxHold             time.Duration
	PerHost, CachedJobs int
	PollTimeout         time.Duration
	Senders             *senders.Senders
	Limits              input.Limits
	Keys                *codec.KeyRing // nil: no encryption

	CollectionLabel bool
	ShowNextRun     bool                 // see [scheduler.Options.ShowNext]
	Telemetry       *telemetry.Telemetry // set by the command
	Preview         previewOptions

	settings settings.Set
	warnings []string

	unauthenticated bool
	allowedHosts    []string
	publicURL       *url.URL // nil: links begin with the host of the request
	tlsFiles        web.CertificateFiles
	certificates    *web.Certificates // nil: plain HTTP
	trustedProxies  []string
	proxies         *web.Proxies
	perCaller       callers.Limits
	auditLog        string
	refusals        *refusals.Log // nil: none
	access          accessConfig

	stateDir string // in which systemd wants the data of this service; "": none
	journal  string // directory of outcomes; "": none

	egressMode                string
	egressAllow, egressDeny   []string
	egressProtect             []string
	caFile                    string
	roots                     *x509.CertPool // nil: the system's
	senderOptions             senders.Options
	smtpTLS, smtpPasswordFile string
	mailDomains               []string
	plans                     string
	keepSecrets               bool
	keysFile, keysText        string
	clearPayloads             bool
	logLevel, logFormat       string
	tracePropagation          string // on or off
}

// Command returns cmd with the flags that the table has for it. It loads the configuration and calls run.
func Command(cmd *cobra.Command, getenv Lookup, built build.Info, run func(cmd *cobra.Command, args []string, c *Config) error) *cobra.Command {
	c := &Config{Build: built}
	c.stateDirectory(cmd.Name(), getenv)
	c.settings = settings.Declare(cmd, c.table(), getenv)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := c.load(); err != nil {
			return err
		}
		c.Build.Zones = recurrence.CurrentZones().Release()
		c.Out, c.Log = cmd.OutOrStdout(), c.logger(cmd.ErrOrStderr())
		for _, w := range c.warnings {
			c.Log.Warn(w)
		}
		return run(cmd, args, c)
	}
	return cmd
}

// load reads the settings, and makes what they describe.
func (c *Config) load() error {
	if err := c.settings.Load(); err != nil {
		return err
	}
	return c.wire()
}

// Setting returns the setting of a flag, or of a variable without a flag. The command has it.
func (c *Config) Setting(name string) *settings.Setting { return c.settings.Get(name) }

// logger returns the log of a command. Commands without settings for it log text, from level info.
func (c *Config) logger(w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.logLevel)) // the table has checked it
	options := &slog.HandlerOptions{Level: level}
	if c.logFormat == "json" {
		return slog.New(telemetry.LogHandler(slog.NewJSONHandler(w, options)))
	}
	return slog.New(telemetry.LogHandler(slog.NewTextHandler(w, options)))
}
