package settings

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"almanac/cmd/almanac/internal/flags"
	"almanac/internal/audit/refusals"
	"almanac/internal/web"
)

// serverSettings are the settings of TLS, proxies and limits of the servers of a process.
func (c *Config) serverSettings() flags.Group {
	return flags.Group{Name: "TLS, proxies and limits of callers", Settings: []*flags.Setting{
		{Flag: "tls-cert", Variable: "ALMANAC_TLS_CERT", Commands: "dev server api worker codec",
			Value: flags.File(&c.tlsFiles.Cert), Check: c.readCertificates,
			Help: "PEM file of the certificate with which the HTTP servers of the process speak TLS.",
			More: "Certificates of intermediate authorities follow it in the file. The API, the Web UI, the codec " +
				"server and the probes of a worker then answer by https only, with TLS 1.2 or newer; Temporal's own " +
				"port stays as it is. " +
				"The files are read every second. What cannot be used is logged, and the last good certificate stays."},
		{Flag: "tls-key", Variable: "ALMANAC_TLS_KEY", Commands: "dev server api worker codec",
			Value: flags.File(&c.tlsFiles.Key),
			Help:  "PEM file of the certificate's key.",
			More:  "Only the user that Almanac runs as should be able to read it."},
		{Flag: "client-ca", Variable: "ALMANAC_CLIENT_CA", Commands: "dev server api",
			Value: flags.File(&c.tlsFiles.ClientCA),
			Help:  "PEM file of the authorities that sign certificates of callers of the API.",
			More: "Callers need no certificate. The connection of one whose certificate no authority in the file " +
				"signed is ended. It needs `--tls-cert`, and is followed as that is."},
		{Flag: "client-crl", Variable: "ALMANAC_CLIENT_CRL", Commands: "dev server api",
			Value: flags.File(&c.Access.revokedFile), Check: c.readRevocations,
			Help: "File of lists of revoked certificates of callers (CRL), in PEM or DER.",
			More: "With it, a certificate counts only if there is a list of each authority in its chain that has not " +
				"expired. A change is in force within 2 s, for open connections, too. " +
				"[Access](access.md#client-certificates) has the rest."},
		{Flag: "trusted-proxies", Variable: "ALMANAC_TRUSTED_PROXIES", Commands: "dev server api",
			Value: flags.List("networks", &c.trustedProxies, c.readProxies),
			Help:  "Addresses and networks of proxies whose X-Forwarded-For is believed.",
			More: "Such as `10.0.0.0/8,192.0.2.7`. The address of a caller, in the log and for limits, is then the " +
				"rightmost one in the header that is none of these. Otherwise, and for all other connections, it is " +
				"that of the connection."},
		{Flag: "max-rate-per-caller", Variable: "ALMANAC_MAX_RATE_PER_CALLER", Commands: "dev server api",
			Value: flags.Int(&c.PerCaller.Rate, 0, 1_000_000), Default: "1000",
			Help: "Maximum number of requests a second of one caller of the API; 0: any number.",
			More: "A caller that was idle may send two seconds' worth at once. Further requests get 429 with " +
				"`Retry-After`. A caller is who has logged in, or else an address, for IPv6 a /64 network. Probes and " +
				"`/metrics` are exempt. Behind a proxy set `--trusted-proxies`; otherwise all its callers count as one."},
		{Flag: "max-in-flight-per-caller", Variable: "ALMANAC_MAX_IN_FLIGHT_PER_CALLER", Commands: "dev server api",
			Value: flags.Int(&c.PerCaller.InFlight, 0, 10_000), Default: "16",
			Help: "Maximum number of requests of one caller that the API processes at once; 0: any.",
			More: "8 times as many wait up to 10 s for their turn, so that a bulk load of one caller does not delay " +
				"the requests of others. Further requests get 429 with `Retry-After`."},
		{Flag: "audit-log", Variable: "ALMANAC_AUDIT_LOG", Commands: "dev server api",
			Value: flags.File(&c.auditLog, auditStdout), Check: c.openAuditLog,
			Help: "File to which refused calls of the API are appended as lines of JSON, or stdout.",
			More: "It grows by at most 600 lines a minute. [Security](security.md#the-log-of-refused-calls) has the schema."},
	}}
}

// auditStdout stands for standard output in --audit-log.
const auditStdout = "stdout"

func (c *Config) openAuditLog() (err error) {
	switch c.auditLog {
	case "":
		return nil
	case auditStdout:
		c.Refusals = refusals.New(os.Stdout)
		return nil
	}
	if c.Refusals, err = refusals.Open(c.auditLog); err != nil {
		return c.set.Get("audit-log").Wrong(err, "a file that Almanac may write, or stdout")
	}
	return nil
}

// readCertificates loads the certificates, if there are any. It warns about a key that others may read.
func (c *Config) readCertificates() (err error) {
	cert, key, authorities := c.set.Get("tls-cert"), c.set.Get("tls-key"), c.set.Get("client-ca")
	files := c.tlsFiles
	switch {
	case files.Cert != "" && files.Key == "":
		return cert.Wrong(errors.New("the certificate has no key"), "a certificate together with --tls-key, or neither")
	case files.Cert == "" && files.Key != "":
		return key.Wrong(errors.New("the key has no certificate"), "a key together with --tls-cert, or neither")
	case files.Cert == "" && files.ClientCA != "":
		return authorities.Wrong(errors.New("callers can show a certificate by TLS only"),
			"a file of authorities together with --tls-cert and --tls-key")
	case files.Cert == "":
		return nil
	}
	if c.Certificates, err = web.LoadCertificates(files); err != nil {
		return cert.Wrong(err, "files of a certificate and its key in PEM, which begin with -----BEGIN")
	}
	if info, err := os.Stat(files.Key); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o004 != 0 {
		c.Warnings = append(c.Warnings, fmt.Sprintf("all users of this machine may read the TLS key in %s, which has "+
			"the permissions %#o: chmod 600 it", files.Key, info.Mode().Perm()))
	}
	return nil
}

func (c *Config) readProxies(list []string) (err error) {
	c.Proxies, err = web.ParseProxies(list...)
	return err
}

// Scheme returns the scheme of the URLs of this process's servers.
func (c *Config) Scheme() string {
	if c.tlsFiles.Cert != "" {
		return "https"
	}
	return "http"
}
