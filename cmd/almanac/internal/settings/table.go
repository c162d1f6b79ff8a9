package settings

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"almanac/activities"
	"almanac/activities/senders"
	"almanac/activities/senders/servicebus"
	"almanac/cmd/almanac/internal/flags"
	"almanac/internal/certificate"
	"almanac/internal/egress"
	"almanac/internal/web"
	"almanac/recurrence"
	"almanac/recurrence/tzdata"
	"almanac/worker"
)

// Limits of settings.
const (
	// the heartbeat timeout covers the hold, so after a longer one the loss of a worker that took over would be
	// detected late.
	maxHold          = 10 * time.Minute
	minRetention     = time.Hour           // Temporal's own limit
	defaultRetention = 60 * 24 * time.Hour // as Azure Scheduler had
	maxRetention     = 3650 * 24 * time.Hour

	maxPerHost = worker.DefaultSlots / 2 // half of the slots stay free for other hosts
)

// table returns all settings of all commands, with the groups of serverSettings, accessSettings and tokenSettings. Their values
// go to c. docs/configuration.md is generated from it.
//
//go:generate go test -tags slim -run TestTheConfigurationDocumentIsCurrent -write .
func (c *Config) table() []flags.Group {
	groups := []flags.Group{
		{Name: "Listening", Settings: []*flags.Setting{
			{Flag: "listen", Variable: "ALMANAC_LISTEN", Commands: "dev server api",
				Value: flags.HostPort(&c.Listen, "127.0.0.1:8080"), Default: "127.0.0.1:8080",
				Help: "Address of the API. Port 0 picks a free port."},
			{Flag: "listen", Variable: "ALMANAC_WORKER_LISTEN", Commands: "worker",
				Value: flags.Optional(flags.HostPort(&c.WorkerListen, "127.0.0.1:8081")),
				Help:  "Address at which the worker answers /healthz and /readyz, for probes.",
				More:  "Without it the worker opens no port. What it answers there needs no login."},
			{Flag: "listen", Variable: "ALMANAC_CODEC_LISTEN", Commands: "codec",
				Value: flags.HostPort(&c.CodecListen, "127.0.0.1:8234"), Default: "127.0.0.1:8234",
				Help: "Address of the codec server. Port 0 picks a free port.", Check: func() error { return c.checkToken("listen") }},
			{Flag: "temporal-listen", Variable: "ALMANAC_TEMPORAL_LISTEN", Commands: "dev server",
				Value: flags.HostPort(&c.TemporalListen, "127.0.0.1:7233"), Default: "127.0.0.1:7233",
				Help: "Address of Temporal, for the temporal CLI and other clients."},
			{Flag: "ui-listen", Variable: "ALMANAC_UI_LISTEN", Commands: "dev server",
				Value: flags.Optional(flags.HostPort(&c.UIListen, "127.0.0.1:8233")), Default: "127.0.0.1:8233",
				Help: "Address of the Temporal Web UI. If it is empty, there is none.",
				More: "With `--token-file`, `--oidc-issuer` or `--client-ca` there is none unless the flag is given, " +
					"and it asks for a [login](access.md#the-temporal-web-ui) of an owner of everything."},
			{Flag: "codec-listen", Variable: "ALMANAC_CODEC_LISTEN", Commands: "dev server",
				Value: flags.Optional(flags.HostPort(&c.CodecListen, "127.0.0.1:8234")),
				Help:  "Address of a codec server, which decrypts payloads for the Web UI.",
				More:  "It exposes secrets. Without encryption keys it is not started.",
				Check: func() error { return c.checkToken("codec-listen") }},
			{Variable: "ALMANAC_CODEC_TOKEN", Commands: "dev server codec", Value: flags.Text("secret", &c.CodecToken),
				Help: "Token that callers of the codec server must send.",
				More: "They send it as `Authorization: Bearer …`. Without it the codec server listens on loopback " +
					"addresses only, and asks for no token."},
			{Flag: "origin", Variable: "ALMANAC_CODEC_ORIGIN", Commands: "codec",
				Value: flags.List("origins", &c.Origins, func([]string) error { return nil }),
				Help:  "Origins of the Web UIs that may call the codec server, such as http://127.0.0.1:8233.",
				More:  "In `dev` the origins of its own Web UI are allowed."},
			{Flag: "unauthenticated", Variable: "ALMANAC_UNAUTHENTICATED", Commands: "dev server api",
				Value: flags.Bool(&c.unauthenticated), Check: c.checkExposure,
				Help: "Listen on non-loopback addresses although nothing there asks for a login.",
				More: "Without it, Temporal listens on loopback addresses only, and so do its Web UI and the API " +
					"unless they [ask for a login](access.md). With it, something else has to keep strangers out: a " +
					"proxy with a login, a firewall, or a container's network. [Security](security.md#who-may-call) " +
					"has the rules."},
			{Flag: "allowed-hosts", Variable: "ALMANAC_ALLOWED_HOSTS", Commands: "dev server api worker codec", Check: c.readHosts,
				Value: flags.List("names", &c.allowedHosts, func(l []string) error { _, err := web.ParseHosts(l...); return err }),
				Help:  "Further host names to answer to, such as jobs.example.com,*.internal.",
				More: "HTTP servers answer to addresses, to `localhost`, and to the hosts of `--public-url` and of " +
					"the addresses that they listen on. " +
					"Requests to other hosts get 421, which stops DNS rebinding."},
			{Flag: "public-url", Variable: "ALMANAC_PUBLIC_URL", Commands: "dev server api worker",
				Value: flags.PublicURL(&c.PublicURL),
				Help:  "URL at which callers reach the API, such as https://jobs.example.com.",
				More: "Links in answers (`nextLink`, `Location`, `Azure-AsyncOperation`) begin with it. Without it " +
					"they begin with `http://`, or `https://` with TLS, and the `Host` of the request. " +
					"[Alerts](notifications.md#what-is-sent), which workers send, link to the history of their job only with it."},
			{Flag: "console", Variable: "ALMANAC_CONSOLE", Commands: "dev server api", Value: flags.Bool(&c.Console), Default: "true",
				Help: "Serve the web console at /console/.",
				More: "Browsers that ask for `/` are sent there. It is [closed as the API is](console.md#who-may-see-it): who " +
					"may do what, limits and the audit log are the same."},
		}},
		c.accessSettings(),
		c.serverSettings(),
		{Name: "Storage", Settings: []*flags.Setting{
			{Flag: "data", Variable: "ALMANAC_DATA", Commands: "dev server backup restore",
				Value:   flags.Directory(&c.Data),
				Default: "./almanac-data", Check: c.checkData,
				Help: "Directory of the database.",
				More: "It gets the permissions 0700. A directory for all users, such as `/tmp`, is refused. In a " +
					"systemd unit with `StateDirectory=`, the default of `server` is that directory."},
			{Flag: "journal", Variable: "ALMANAC_JOURNAL", Commands: "worker",
				Value: flags.Directory(&c.journal), Check: c.checkJournal,
				Help: "Directory in which the worker keeps outcomes until Temporal has them.",
				More: "A worker that is started after one was killed finds in it what that one had sent, and sends " +
					"none of it again; so does any other worker of the machine that has the same directory. " +
					"It takes 16 MiB for each worker. Without it such requests are sent [again](guarantees.md). It " +
					"gets the permissions 0700, and a directory for all users is refused; files of other users in it " +
					"are not read. In a systemd unit with `StateDirectory=`, that " +
					"directory is the default. `dev` and `server` use `outcomes` in the directory of `--data`."},
			{Flag: "synchronous", Variable: "ALMANAC_SYNCHRONOUS", Commands: "dev server",
				Value: flags.Choice(&c.Synchronous, "full", "normal"), Default: "full",
				Help: "full: a commit survives a power failure. normal: it survives kill -9 only.",
				More: "`normal` is about 1.7 times as fast. After a power failure it may have lost the last commits."},
			{Flag: "retention", Variable: "ALMANAC_RETENTION", Commands: "dev server setup",
				Value: flags.Duration(&c.Retention, minRetention, maxRetention), Default: flags.Short(defaultRetention),
				Help: "How long Temporal keeps the histories of runs that have ended.",
				More: "The history of a job goes back no further. `setup` sets it for a namespace that it creates, " +
					"and leaves that of an existing one as it is. In `dev` a change applies to runs that end from " +
					"then on."},
			{Flag: "min-free-disk", Variable: "ALMANAC_MIN_FREE_DISK", Commands: "dev server",
				Value: flags.Size(&c.MinFree), Default: "256MiB",
				Help: "Free disk space below which new jobs and job collections are refused.",
				More: "Those that exist continue, and `/readyz` says why it is not ready. `0` turns it off."},
		}},
		{Name: "Punctuality and load", Settings: []*flags.Setting{
			{Flag: "max-hold", Variable: "ALMANAC_MAX_HOLD", Commands: "dev server worker",
				Value: flags.Duration(&c.MaxHold, 0, maxHold), Default: flags.Short(activities.DefaultMaxHold),
				Help: "After an execution, dispatch the next occurrence at once if it is due within this time.",
				More: "The worker holds a dispatched action until it is due. This saves a timer and a workflow task " +
					"for each execution of a job that runs often. Other jobs sleep and are dispatched 40 s to 5 " +
					"minutes before they are due, by a hash of " +
					"their names; 15 to 30 s before if that would be longer than this time. `0s` has all jobs sleep " +
					"between two occurrences. [Tuning](tuning.md#on-time) has more."},
			{Flag: "max-per-host", Variable: "ALMANAC_MAX_PER_HOST", Commands: "dev server worker",
				Value: flags.Int(&c.PerHost, 1, maxPerHost), Default: strconv.Itoa(activities.DefaultPerHost),
				Help: "Maximum number of unanswered requests of a worker to one host.",
				More: fmt.Sprintf("Further requests to the host are made later, so that a slow or silent host does "+
					"not delay the jobs of others. A worker holds or makes %d actions at once. "+
					"[Operations](operations.md#slow-and-silent-hosts) has the details.", worker.DefaultSlots)},
			{Flag: "poll-timeout", Variable: "ALMANAC_POLL_TIMEOUT", Commands: "worker",
				Value:   flags.Duration(&c.PollTimeout, worker.DefaultPollTimeout, worker.MaxPollTimeout),
				Default: flags.Short(worker.DefaultPollTimeout),
				Help:    "How long a poll for tasks stays open.",
				More: "The polls of a worker that is frozen or cut off take tasks for so long, less a second, and " +
					"these tasks are lost until they time out. While Temporal is slow, polls stay open for 70 s. " +
					"Temporal logs a warning for each poll of less than 10 s; [Tuning](tuning.md#a-worker-that-is-frozen) has more."},
			{Flag: "max-cached-workflows", Variable: "ALMANAC_MAX_CACHED_WORKFLOWS", Commands: "dev server worker",
				Value: flags.Int(&c.CachedJobs, 1, math.MaxInt), Default: strconv.Itoa(worker.DefaultCachedWorkflows),
				Help: "Maximum number of jobs that a worker keeps in memory, about 60 kB each.",
				More: "The jobs that ran last stay. Another job is replayed from its history when it is due, changed " +
					"or read. Raise the number if more jobs than that are due every few minutes."},
		}},
		{Name: "What jobs may reach", Settings: []*flags.Setting{
			{Flag: "egress", Variable: "ALMANAC_EGRESS", Commands: "dev server api worker",
				Value: flags.Choice(&c.EgressMode, egress.ModePublic, egress.ModePrivate,
					egress.ModeAny), Default: egress.ModePrivate,
				Help: "Targets of actions: public, the internet; private, also private networks; any.",
				More: "`public` and `private` refuse this machine, link-local addresses and cloud metadata. Hosts and " +
					"ports of Almanac and Temporal are always refused. " +
					"The API sends nothing: it refuses jobs that workers would refuse to send. " +
					"[Security](security.md#what-jobs-may-reach) has the details."},
			{Flag: "egress-allow", Variable: "ALMANAC_EGRESS_ALLOW", Commands: "dev server",
				Value: flags.List("rules", &c.EgressAllow,
					func(l []string) error {
						_, err := egress.Parse(egress.ModeAny, l,
							nil)
						return err
					}), Default: "127.0.0.0/8,::1",
				Help: "Addresses, networks, names and host:port to allow in addition, such as 10.0.0.0/8.",
				More: "A name on the list may lead to private addresses, but not to this machine. With a port, that " +
					"alone is allowed, also of a host of `--egress-protect` and of this machine. In `dev` the default " +
					"is empty if other machines can reach one of its servers."},
			{Flag: "egress-allow", Variable: "ALMANAC_EGRESS_ALLOW", Commands: "api worker",
				Value: flags.List("rules", &c.EgressAllow,
					func(l []string) error { _, err := egress.Parse(egress.ModeAny, l, nil); return err }),
				Help: "Addresses, networks, names and host:port to allow in addition, such as 10.0.0.0/8."},
			{Flag: "egress-deny", Variable: "ALMANAC_EGRESS_DENY", Commands: "dev server api worker",
				Value: flags.List("rules", &c.EgressDeny,
					func(l []string) error { _, err := egress.Parse(egress.ModeAny, nil, l); return err }),
				Help: "Addresses, networks, names and host:port to refuse, whatever else allows them.",
				More: "A name refuses requests by this name only; with a port, also those by every address that it has."},
			{Flag: "egress-protect", Variable: "ALMANAC_EGRESS_PROTECT", Commands: "dev server api worker",
				Value: flags.List("hosts", &c.EgressProtect, checkHosts),
				Help:  "Hosts of Almanac's and Temporal's other services, which no action reaches on any port.",
				More: "By the name and by every address that it has. `TEMPORAL_ADDRESS` is protected without being " +
					"listed. List the other services of Temporal, its Web UI, its database, and the APIs, workers, " +
					"proxies and codec servers of Almanac: a worker does not know where they are. `--egress-allow " +
					"host:port` excepts a port of another service."},
			{Flag: "ca-file", Variable: "ALMANAC_CA_FILE", Commands: "dev server api worker",
				Value: flags.File(&c.caFile), Check: c.readAuthorities,
				Help: "PEM file of certificate authorities to trust in addition to the system's."},
		}},
		{Name: "Other clouds and emulators", Settings: []*flags.Setting{
			{Flag: "oauth-authority", Variable: "ALMANAC_OAUTH_AUTHORITY", Commands: "dev server api worker", Default: senders.DefaultAuthority,
				Value: flags.Form("URL", "an http or https URL", "a URL such as "+senders.DefaultAuthority, &c.Sending.Authority, flags.IsWebURL),
				Help:  "URL at which ActiveDirectoryOAuth gets its tokens, without the tenant."},
			{Flag: "storage-queue-endpoint", Variable: "ALMANAC_STORAGE_QUEUE_ENDPOINT",
				Commands: "dev server api worker", Default: senders.DefaultQueueEndpoint,
				Value: flags.Form("URL", "an http or https URL with {account} in it",
					"a URL such as "+senders.DefaultQueueEndpoint, &c.Sending.QueueEndpoint, isQueueEndpoint),
				Help: "URL of storage queues, with {account} for the name of the account."},
			{Flag: "service-bus-host", Variable: "ALMANAC_SERVICE_BUS_HOST", Commands: "dev server api worker", Default: servicebus.DefaultHost,
				Value: flags.Form("host", "a host name with {namespace} in it", "a host name such as "+servicebus.DefaultHost,
					&c.Sending.BusHost, func(text string) bool { return strings.Contains(text, "{namespace}") }),
				Help: "Host of Service Bus namespaces, with {namespace} for the name of the namespace."},
			{Flag: "service-bus-endpoint", Variable: "ALMANAC_SERVICE_BUS_ENDPOINT", Commands: "dev server api worker",
				Value: flags.HostPort(&c.Sending.BusEndpoint, "127.0.0.1:5671"),
				Help:  "Address to connect to in place of the host of every Service Bus namespace.",
				More:  "The certificate must still be the one of the namespace's host."},
		}},
		{Name: "E-mail", Settings: []*flags.Setting{
			{Flag: "smtp-server", Variable: "ALMANAC_SMTP_SERVER", Commands: "dev server worker",
				Value: flags.HostPort(&c.Sending.SMTP.Server, "smtp.example.com:587"), Check: c.checkMail,
				Help: "Mail server for notifications. Without one, no mail is sent.",
				More: "The rules for outbound connections apply to it, too. [Notifications](notifications.md#e-mail) has examples."},
			{Flag: "smtp-from", Variable: "ALMANAC_SMTP_FROM", Commands: "dev server worker",
				Value: flags.Form("address", "a mail address", "a mail address such as almanac@example.com",
					&c.Sending.SMTP.From, senders.IsMailAddress),
				Help: "Address of the sender. A mail server needs one."},
			{Flag: "smtp-tls", Variable: "ALMANAC_SMTP_TLS", Commands: "dev server worker",
				Value: flags.Choice(&c.SMTPTLS, "starttls", "implicit", "off"), Default: "starttls",
				Help: "How the connection is encrypted: starttls, implicit as on port 465, or off."},
			{Flag: "smtp-username", Variable: "ALMANAC_SMTP_USERNAME", Commands: "dev server worker",
				Value: flags.Text("name", &c.Sending.SMTP.Username),
				Help:  "User name at the mail server. Without one, or with --smtp-tls off, no password is sent."},
			{Flag: "smtp-password-file", Variable: "ALMANAC_SMTP_PASSWORD_FILE", Commands: "dev server worker",
				Value: flags.File(&c.smtpPasswordFile), Check: c.readMailPassword,
				Help: "File with the password at the mail server; or use $" + mailPasswordVariable + "."},
			{Variable: mailPasswordVariable, Commands: "dev server worker",
				Value: flags.Text("secret", &c.Sending.SMTP.Password),
				Help:  "The password itself, instead of a file."},
			{Flag: "mail-domains", Variable: "ALMANAC_MAIL_DOMAINS", Commands: "dev server api worker",
				Value: flags.List("domains", &c.mailDomains, c.readMailDomains),
				Help:  "Domains to which mail may be sent, such as example.com,*.example.com.",
				More: "Whoever may change a job chooses to whom mail is sent. An API with the setting refuses other " +
					"addresses, and a worker sends nothing to them. Without it, all are allowed."},
		}},
		{Name: "Rules for jobs", Settings: []*flags.Setting{
			{Flag: "plans", Variable: "ALMANAC_PLANS", Commands: "dev server api",
				Value: flags.File(&c.plans, plansAzure, plansUnlimited), Default: plansAzure, Check: c.readPlans,
				Help: "What the plans of job collections allow: azure, unlimited, or a JSON file.",
				More: "`azure` has the limits of Azure Scheduler. A file names the plans to change (Free, Standard, " +
					"Premium, P10Premium, P20Premium): " +
					"`{\"Standard\":{\"jobs\":500,\"minRecurrence\":\"PT5M\",\"collections\":1000,\"authentication\":true}}`."},
			{Flag: "allow-secret-retargeting", Variable: "ALMANAC_ALLOW_SECRET_RETARGETING", Commands: "dev server api",
				Value: flags.Bool(&c.keepSecrets),
				Help:  "Keep a stored secret although a change sends it to another target.",
				More: "It is refused where the API asks for a login. It applies to passwords, certificates, client " +
					"secrets, SAS tokens and keys whose host, tenant, account or namespace changes, as in Azure " +
					"Scheduler. Without it, such a change must contain the secret again."},
		}},
		{Name: "Time zones", Settings: []*flags.Setting{
			{Flag: "zoneinfo", Variable: "ZONEINFO", Commands: "dev server api worker preview version", Value: zoneinfo(),
				Help: "Directory or zip archive with the time zones to use in place of Almanac's.",
				More: "Such as `/usr/share/zoneinfo`. All zones come from there, and are read once, at the start. Its " +
					"file `+VERSION`, `tzdata.zi` or `version` has to name the release. Give all workers and APIs the " +
					"same; [Operations](operations.md#time-zones) has the details."},
		}},
		c.tokenSettings(),
		{Name: "Encryption", Settings: []*flags.Setting{
			{Flag: "encryption-keys-file", Variable: "ALMANAC_ENCRYPTION_KEYS_FILE",
				Commands: "dev server api worker codec", Value: flags.File(&c.keysFile), Check: c.readKeys,
				Help: "File of encryption keys for what Temporal stores; or use $" + KeysVariable + ".",
				More: "A line `id:key` for each; `almanac codec generate-key` prints one. The first key encrypts, all " +
					"decrypt. Without keys nothing is encrypted."},
			{Variable: KeysVariable, Commands: "dev server api worker codec", Value: flags.Text("secret", &c.keysText),
				Help: "The encryption keys themselves, separated by commas or line ends, instead of a file."},
			{Flag: "accept-clear-payloads", Variable: "ALMANAC_ACCEPT_CLEAR_PAYLOADS",
				Commands: "dev server api worker", Value: flags.Bool(&c.clearPayloads),
				Help: "With encryption keys, also accept unencrypted payloads.",
				More: "For jobs that are older than the keys: [Operations](operations.md#adding-encryption-keys-to-an-existing-installation)."},
		}},
		{Name: "Temporal's lists", Settings: []*flags.Setting{
			{Flag: "show-next-run", Variable: "ALMANAC_SHOW_NEXT_RUN", Commands: "dev server api setup",
				Value: flags.Bool(&c.ShowNextRun),
				Help:  "Show in Temporal's lists when jobs run next, by a search attribute.",
				More: "`AlmanacNextRun` is then kept up for jobs that are created, and for those that a PUT or PATCH " +
					"reaches; without the flag, a PUT or PATCH ends it. It costs a write for each execution. " +
					"[The temporal CLI](temporal-cli.md#the-next-run) has the details."},
		}},
		{Name: "Log", Settings: []*flags.Setting{
			{Flag: "log-level", Variable: "ALMANAC_LOG_LEVEL", Commands: "dev server api worker",
				Value: flags.Choice(&c.LogLevel, "debug", "info", "warn", "error"), Default: "info",
				Help: "Minimum log level."},
			{Flag: "log-format", Variable: "ALMANAC_LOG_FORMAT", Commands: "dev server api worker",
				Value: flags.Choice(&c.LogFormat, "text", "json"), Default: "text",
				Help: "Format of the log, which goes to standard error."},
		}},
		{Name: "Metrics and traces", Settings: []*flags.Setting{
			{Flag: "metrics-collection", Variable: "ALMANAC_METRICS_COLLECTION", Commands: "dev server worker",
				Value: flags.Bool(&c.CollectionLabel),
				Help:  "Give the metric of executions the label collection.",
				More: "The first 50 job collections that have an execution are shown by their names, the others " +
					"together as `other`. [Monitoring](monitoring.md) has the metrics."},
			{Flag: "trace-propagation", Variable: "ALMANAC_TRACE_PROPAGATION", Commands: "dev server worker",
				Value: flags.Choice(&c.TracePropagation, "on", "off"), Default: "on",
				Help: "If traces are on, send the trace of an attempt to the receiver, as traceparent.",
				More: "Traces are off unless OpenTelemetry's variables say where to send them: [Monitoring](monitoring.md#traces)."},
		}},
		{Name: "Health check", Settings: []*flags.Setting{
			{Flag: "listen", Variable: "ALMANAC_LISTEN", Commands: "healthcheck",
				Value: flags.HostPort(&c.Listen, "127.0.0.1:8080"), Default: "127.0.0.1:8080",
				Help: "Address that the process to ask listens on, as in its own --listen.",
				More: "One that stands for all addresses, such as 0.0.0.0, is asked at the loopback address."},
			{Flag: "tls-cert", Variable: "ALMANAC_TLS_CERT", Commands: "healthcheck",
				Value: flags.File(&c.tlsFiles.Cert),
				Help:  "The --tls-cert of the process to ask, if it has one: then it is asked by https.",
				More:  "The file is not read, and the certificate not checked: nothing secret is sent to this machine."},
			{Flag: "live", Commands: "healthcheck", Value: flags.Bool(&c.Live),
				Help: "Ask only whether the process answers."},
		}},
		{Name: "Preview", Settings: []*flags.Setting{
			{Flag: "now", Commands: "preview", Value: flags.Time(&c.Preview.Now), Check: c.checkBatch,
				Help: "Time of creation. The default is the file's \"now\", or else the current time."},
			{Flag: "take", Commands: "preview", Value: flags.Int(&c.Preview.Take, 1, 1000),
				Help: "Maximum number of occurrences. The default is the file's \"take\", or else 10."},
			{Flag: "tz", Commands: "preview", Value: zone(&c.Preview.Zone),
				Help: "Time zone to show times in. The default is the recurrence's, or else UTC."},
			{Flag: "calendar", Commands: "preview", Value: flags.Lines("[name=]file", &c.Preview.Calendars),
				Help: "Files with calendars of the job, in YAML or JSON; - is standard input.",
				More: "The name is that of the file if none is given: `SE.yaml` has the calendar `SE`."},
			{Flag: "compare-zoneinfo", Commands: "preview", Value: release(&c.Preview.Compare),
				Help: "Show also when the job would run with these time zones, as in --zoneinfo.",
				More: "A line whose time differs has the other release's time at its end."},
			{Flag: "output", Short: "o", Commands: "preview",
				Value: flags.Choice(&c.Preview.Output, OutputText, OutputJSON), Default: OutputText,
				Help: "Format of the output."},
			{Flag: "batch", Commands: "preview", Value: flags.Bool(&c.Preview.Batch),
				Help: "Read JSON lines, and write a JSON line for each."},
		}},
	}
	for _, g := range groups {
		for _, s := range g.Settings {
			if d, differs := serverDefaults[s.Flag]; differs && slices.Contains(strings.Fields(s.Commands), "server") {
				s.Defaults = map[string]string{"server": d}
			}
		}
	}
	return groups
}

// readAuthorities reads the file of certificate authorities.
func (c *Config) readAuthorities() (err error) {
	if c.Roots, err = certificate.Roots(c.caFile); err != nil {
		return c.set.Get("ca-file").Wrong(err, "a file of certificates in PEM, which begin with -----BEGIN CERTIFICATE-----")
	}
	return nil
}

// checkHosts checks names and addresses of hosts.
func checkHosts(hosts []string) error {
	var errs []error
	for _, host := range hosts {
		errs = append(errs, new(egress.Guard).ProtectHost(host))
	}
	return errors.Join(errs...)
}

func isQueueEndpoint(text string) bool {
	_, err := senders.NewStorageQueue(senders.Options{QueueEndpoint: text})
	return err == nil
}

// zoneinfo is where the time zones come from. They are in use as soon as the value is read, before any time zone is
// loaded.
func zoneinfo() flags.Value {
	return flags.NewValue("path", allowedRelease, func(path string) error {
		zones, err := tzdata.Open(path)
		if err == nil {
			recurrence.UseZones(zones)
		}
		return err
	})
}

// release is a release of the time zone database.
func release(to **recurrence.Zones) flags.Value {
	return flags.NewValue("path", allowedRelease, func(path string) (err error) {
		*to, err = tzdata.Open(path)
		return err
	})
}

const allowedRelease = "a directory or a zip archive with a release of the time zone database"

// zone is a time zone, by any name that a recurrence may have.
func zone(to **time.Location) flags.Value {
	return flags.NewValue("zone", "an IANA time zone such as Europe/Stockholm, or a Windows one such as W. Europe Standard "+
		"Time", func(text string) (err error) {
		if *to, err = recurrence.LoadLocation(text); err != nil {
			return fmt.Errorf("%q is not a time zone", text)
		}
		return nil
	}, recurrence.Locations()...)
}
