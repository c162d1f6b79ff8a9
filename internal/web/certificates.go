package web

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"almanac/internal/files"
)

// followEvery is the interval at which files of certificates are read again.
const followEvery = time.Second

// CertificateFiles are files in PEM. Cert has a server's certificate, followed by those of intermediate authorities,
// and Key its key. ClientCA has the authorities that sign certificates of callers; "" means that callers are not asked
// for one.
type CertificateFiles struct{ Cert, Key, ClientCA string }

// Certificates are what servers need for TLS. They are read from files, and read again when the files change.
type Certificates struct {
	files   CertificateFiles
	loaded  atomic.Pointer[certificates]
	content [][]byte // of the files, when they were last read
}

// certificates are the content of the files.
type certificates struct {
	server, api *tls.Config
	expiries    map[string]time.Time
}

// LoadCertificates reads the files. The error says which file is wrong.
func LoadCertificates(files CertificateFiles) (*Certificates, error) {
	c := &Certificates{files: files}
	content, err := files.read()
	if err != nil {
		return nil, err
	}
	loaded, err := files.parse(content)
	if err != nil {
		return nil, err
	}
	c.content = content
	c.loaded.Store(loaded)
	return c, nil
}

// Server returns the configuration of a server that does not ask callers for a certificate: TLS 1.2 or newer, HTTP/2
// and HTTP/1.1. Every new connection has the certificate that was loaded last.
func (c *Certificates) Server() *tls.Config {
	return config(func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.loaded.Load().server, nil })
}

// API returns the configuration of a server that asks callers for a certificate, if there is a ClientCA. Callers need
// none; one that no authority in ClientCA signed ends the connection.
func (c *Certificates) API() *tls.Config {
	return config(func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.loaded.Load().api, nil })
}

func config(choose func(*tls.ClientHelloInfo) (*tls.Config, error)) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, GetConfigForClient: choose}
}

// Follow reads the files every second until ctx ends, and loads what changed. If that cannot be used, the
// certificates that were loaded before stay, and the log says why.
func (c *Certificates) Follow(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	failure := "" // that was logged last
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		changed, err := c.Reload()
		switch {
		case err != nil && err.Error() != failure:
			failure = err.Error()
			log.WarnContext(ctx, "the TLS certificate stays as it was, because its files cannot be used", "error", err, "expires", c.Expires())
		case changed:
			failure = ""
			log.InfoContext(ctx, "the TLS certificate was loaded again", "certificate", c.files.Cert, "expires", c.Expires())
		}
	}
}

// Reload reads the files, and loads them if they changed. On an error, the certificates that were loaded before stay.
func (c *Certificates) Reload() (changed bool, err error) {
	content, err := c.files.read()
	if err != nil {
		return false, err
	}
	if slices.EqualFunc(content, c.content, bytes.Equal) {
		return false, nil
	}
	loaded, err := c.files.parse(content)
	if err != nil {
		return false, err
	}
	c.content = content
	c.loaded.Store(loaded)
	return true, nil
}

// Shown returns the certificate that servers show, and those of intermediate authorities after it.
func (c *Certificates) Shown() (leaf *x509.Certificate, intermediates *x509.CertPool) {
	chain := c.loaded.Load().server.Certificates[0]
	intermediates = x509.NewCertPool()
	for _, der := range chain.Certificate[1:] {
		if authority, err := x509.ParseCertificate(der); err == nil {
			intermediates.AddCert(authority)
		}
	}
	return chain.Leaf, intermediates
}

// Expires returns the time at which the certificate that servers show expires.
func (c *Certificates) Expires() time.Time {
	return c.loaded.Load().server.Certificates[0].Leaf.NotAfter
}

// Expiries returns when the first of the certificates that servers show, "server", and of the authorities of callers,
// "client-ca", expires.
func (c *Certificates) Expiries() map[string]time.Time { return c.loaded.Load().expiries }

// earliest returns when the first of the certificates in a PEM file expires; the zero time if there is none.
func earliest(text []byte) (first time.Time) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if c, err := x509.ParseCertificate(block.Bytes); err == nil && (first.IsZero() || c.NotAfter.Before(first)) {
			first = c.NotAfter
		}
	}
	return first
}

func (f CertificateFiles) read() ([][]byte, error) {
	var content [][]byte
	for _, name := range []string{f.Cert, f.Key, f.ClientCA} {
		if name == "" {
			continue
		}
		text, err := files.Read(name)
		if err != nil {
			return nil, err
		}
		content = append(content, text)
	}
	return content, nil
}

func (f CertificateFiles) parse(content [][]byte) (*certificates, error) {
	pair, err := tls.X509KeyPair(content[0], content[1])
	if err != nil {
		return nil, fmt.Errorf("%s and %s are not a certificate and its key in PEM: %w", f.Cert, f.Key, err)
	}
	loaded := &certificates{server: config(nil), api: config(nil), expiries: map[string]time.Time{"server": earliest(content[0])}}
	loaded.server.Certificates = []tls.Certificate{pair}
	loaded.api.Certificates = loaded.server.Certificates
	if f.ClientCA != "" {
		authorities := x509.NewCertPool()
		if !authorities.AppendCertsFromPEM(content[2]) {
			return nil, fmt.Errorf("%s has no certificate in PEM", f.ClientCA)
		}
		loaded.expiries["client-ca"] = earliest(content[2])
		loaded.api.ClientCAs, loaded.api.ClientAuth = authorities, tls.VerifyClientCertIfGiven
		// A resumed session would keep a certificate of an authority that is no longer in the file.
		loaded.api.SessionTicketsDisabled = true
	}
	return loaded, nil
}
