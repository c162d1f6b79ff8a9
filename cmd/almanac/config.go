package main

import (
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"almanac/activities"
	"almanac/activities/senders"
	"almanac/internal/audit/refusals"
	"almanac/internal/callers"
	"almanac/internal/codec"
	"almanac/internal/settings"
	"almanac/internal/telemetry"
	"almanac/internal/web"
	"almanac/job/input"
)

// A lookup finds an environment variable, as [os.LookupEnv] does.
type lookup func(name string) (value string, set bool)

// A config is the configuration of a command: the values of its settings, and what their checks make from them.
// What belongs to settings that the command does not have is zero.
type config struct {
	settings settings.Set
	out      io.Writer
	log      *slog.Logger
	warnings []string

	listen, temporalListen, uiListen, codecListen, workerListen string // "": not opened
	unauthenticated, live                                       bool
	allowedHosts, origins                                       []string
	publicURL                                                   *url.URL // nil: links begin with the host of the request
	codecToken                                                  string
	hosts                                                       *web.Hosts
	tlsFiles                                                    web.CertificateFiles
	certificates                                                *web.Certificates // nil: plain HTTP
	trustedProxies                                              []string
	proxies                                                     *web.Proxies
	perCaller                                                   callers.Limits
	auditLog                                                    string
	refusals                                                    *refusals.Log // nil: none

	access accessConfig
	token  tokenConfig

	data, synchronous   string
	retention           time.Duration
	minFree             uint64
	stateDir            string // in which systemd wants the data of this service; "": none
	lead                activities.Lead
	perHost, cachedJobs int

	egressMode              string
	egressAllow, egressDeny []string
	caFile                  string
	senderOptions           senders.Options
	senders                 *senders.Senders

	plans       string
	keepSecrets bool
	limits      input.Limits

	keysFile, keysText string
	clearPayloads      bool
	keys               *codec.KeyRing // nil: no encryption

	logLevel, logFormat string
	tracePropagation    string // on or off
	collectionLabel     bool
	telemetry           *telemetry.Telemetry // set by observe
	preview             previewOptions
}

// command returns cmd with the flags that the table has for it. It loads the configuration and calls run.
func command(cmd *cobra.Command, getenv lookup, run func(cmd *cobra.Command, args []string, c *config) error) *cobra.Command {
	c := new(config)
	c.stateDirectory(cmd.Name(), getenv)
	c.settings = settings.Declare(cmd, c.table(), getenv)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := c.settings.Load(); err != nil {
			return err
		}
		c.out, c.log = cmd.OutOrStdout(), c.logger(cmd.ErrOrStderr())
		for _, w := range c.warnings {
			c.log.Warn(w)
		}
		return run(cmd, args, c)
	}
	return cmd
}

// logger returns the log of a command. Commands without settings for it log text, from level info.
func (c *config) logger(w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.logLevel)) // the table has checked it
	options := &slog.HandlerOptions{Level: level}
	if c.logFormat == "json" {
		return slog.New(telemetry.LogHandler(slog.NewJSONHandler(w, options)))
	}
	return slog.New(telemetry.LogHandler(slog.NewTextHandler(w, options)))
}

// checkLead checks that the leads are in order.
func (c *config) checkLead() error {
	if c.lead.Max == 0 || c.lead.Min <= c.lead.Max { // a lead that cannot be read has its own error
		return nil
	}
	least, most := c.settings.Get("min-lead"), c.settings.Get("max-lead")
	return least.Wrong(fmt.Errorf("%s is longer than %s, which is %s", least.Text(), most.Source(), most.Text()), "up to "+most.Text())
}
