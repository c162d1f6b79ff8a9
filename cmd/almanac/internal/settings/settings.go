// Package settings has all settings of the commands in one table, and what they mean: values, and the files that they
// name. [For] gives a command its flags, and [Config.Load] reads them with package flags; then it reads the files and
// checks that the settings agree. Package wiring builds what the settings describe.
package settings

import (
	"crypto/x509"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"almanac/activities/senders"
	"almanac/cmd/almanac/internal/flags"
	"almanac/internal/audit/refusals"
	"almanac/internal/codec"
	"almanac/internal/ratelimit"
	"almanac/internal/web"
	"almanac/job/input"
)

// A Lookup finds an environment variable, as [os.LookupEnv] does.
type Lookup func(name string) (value string, set bool)

// A Config is the settings of a command. Settings that the command does not have are zero.
type Config struct {
	Listen, TemporalListen, UIListen, CodecListen, WorkerListen string // "": not opened
	Live                                                        bool
	Hosts                                                       *web.Hosts // names that the servers answer to
	// nil: links begin with the host of the request
	PublicURL *url.URL
	Console   bool

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
	Limits              input.Limits
	Keys                *codec.KeyRing // nil: no encryption

	CollectionLabel bool
	ShowNextRun     bool // see [scheduler.Options.ShowNext]
	Preview         Preview

	Certificates *web.Certificates // nil: plain HTTP
	Proxies      *web.Proxies
	PerCaller    ratelimit.Limits
	Refusals     *refusals.Log // nil: none
	Access       Access

	EgressMode              string // "": the command neither sends nor checks what is sent
	EgressAllow, EgressDeny []string
	EgressProtect           []string
	Roots                   *x509.CertPool // nil: the system's
	Sending                 senders.Options
	SMTPTLS                 string
	LogLevel, LogFormat     string
	TracePropagation        string // on or off

	Warnings []string // to be logged

	set flags.Set

	unauthenticated    bool
	allowedHosts       []string
	tlsFiles           web.CertificateFiles
	trustedProxies     []string
	auditLog           string
	stateDir           string // directory that systemd made for the data of this service; "": none
	journal            string // directory of outcomes; "": none
	caFile             string
	smtpPasswordFile   string
	mailDomains        []string
	plans              string
	keepSecrets        bool
	keysFile, keysText string
	clearPayloads      bool
}

// For gives a command the flags that the table has for it. Their values are zero until [Config.Load].
func For(cmd *cobra.Command, getenv Lookup) *Config {
	c := new(Config)
	c.stateDirectory(cmd.Name(), getenv)
	c.set = flags.Declare(cmd, c.table(), getenv)
	return c
}

// Load reads the settings and the files that they name. The error lists every mistake.
func (c *Config) Load() error {
	if err := c.set.Load(); err != nil {
		return err
	}
	if c.exposed() != nil && !c.set.Get("egress-allow").Given() {
		c.EgressAllow = nil // others may write jobs, which must not call this machine by default
	}
	return nil
}

// Setting returns the setting of a flag, or of a variable without a flag. The command has it.
func (c *Config) Setting(name string) *flags.Setting { return c.set.Get(name) }
