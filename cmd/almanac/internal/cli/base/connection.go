package base

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/contexts"
	"almanac/cmd/almanac/internal/cli/output"
	"almanac/cmd/almanac/internal/flags"
)

// What is used where nothing else is said: what almanac dev listens on and makes.
const (
	DefaultURL        = "http://127.0.0.1:8080"
	DefaultCollection = "default"
)

// options are the values of the flags that all commands have.
type options struct {
	context   string
	given     contexts.Context
	token     string
	format    output.Format
	noHeads   bool
	utc       bool
	yes       bool
	timeLimit time.Duration
}

// An endpoint is a context with what a command says otherwise.
type endpoint struct {
	contexts.Context

	tokenText string // "": that of the file
	login     string // the file with the login of the context; "" if nobody has logged in
	timeLimit time.Duration
}

func (o *options) connectionFlags() flags.Group {
	return flags.Group{Name: "Connection", Settings: []*flags.Setting{
		{Flag: "context", Variable: "ALMANAC_CONTEXT", Value: flags.Text("name", &o.context),
			Help: "Context to work in, in place of the current one; as a flag it wins over the variables. See almanac context."},
		{Flag: "url", Variable: "ALMANAC_URL", Value: flags.Text("URL", &o.given.URL),
			Help: "URL of the API; without a context " + DefaultURL + ", where almanac dev listens."},
		{Flag: "token-file", Value: flags.File(&o.given.TokenFile),
			Help: "File with the token to call with; $ALMANAC_TOKEN has one itself."},
		{Variable: "ALMANAC_TOKEN", Value: flags.Text("secret", &o.token)},
		{Flag: "ca-file", Value: flags.File(&o.given.CAFile),
			Help: "PEM file of further certificate authorities that the API's certificate may be of."},
		{Flag: "subscription", Variable: "ALMANAC_SUBSCRIPTION", Value: flags.Text("id", &o.given.Subscription),
			Help: "Subscription of the resource group."},
		{Flag: "resource-group", Short: "g", Variable: "ALMANAC_RESOURCE_GROUP",
			Value: flags.Text("name", &o.given.ResourceGroup), Help: "Resource group of the job collections."},
		{Flag: "collection", Short: "c", Variable: "ALMANAC_COLLECTION", Value: flags.Text("name", &o.given.Collection),
			Help: "Job collection of the jobs that are named without one; without a context " + DefaultCollection + "."},
		{Flag: "timeout", Value: flags.Duration(&o.timeLimit, time.Second, time.Hour), Default: "60s",
			Help: "How long to wait for the beginning of an answer."},
	}}
}

func (o *options) outputFlags() flags.Group {
	return flags.Group{Name: "Output", Settings: []*flags.Setting{
		{Flag: "output", Short: "o", Default: "table",
			Value: flags.NewValue("format", "table, wide, json, yaml, name, jsonpath=PATH", func(text string) (err error) {
				o.format, err = output.ParseFormat(text)
				return err
			}, output.Words...),
			Help: "What is printed: a table, or for programs JSON, YAML, names, or a part of the JSON."},
		{Flag: "no-headers", Value: flags.Bool(&o.noHeads), Help: "Print tables without headings."},
		{Flag: "utc", Value: flags.Bool(&o.utc), Help: "Show times in tables in UTC, not in the time zone of this machine."},
		{Flag: "yes", Short: "y", Value: flags.Bool(&o.yes),
			Help: "Ask nothing. Without a terminal, what would be asked is refused without it."},
	}}
}

// place returns where to work, and the name of the context that says so. What a flag says comes first, then the context
// of --context, then variables, then the current context. login returns the file with the login of a context at a URL.
func (o *options) place(
	known *contexts.File, set flags.Set, login func(name, at string) (string, error),
) (endpoint, string, error) {
	name := cmp.Or(o.context, known.Current)
	of, err := known.Find(name)
	if err != nil && name != "" {
		return endpoint{}, "", err
	}
	flagged, variables := o.sources(set)
	chosen := o.context != "" && !fromVariable(set, "context")
	said := over(flagged, over(variables, of))
	if chosen {
		said = over(flagged, over(of, variables))
	}
	at := endpoint{Context: said, tokenText: o.token, timeLimit: o.timeLimit}
	at.URL = cmp.Or(at.URL, DefaultURL)
	if err := contexts.CheckURL(at.URL); err != nil {
		return endpoint{}, "", err
	}
	at.Collection = cmp.Or(at.Collection, DefaultCollection)
	own := sameURL(at.URL, of.URL)
	if !own { // the files of the context are for its API alone
		at.TokenFile, at.CAFile = flagged.TokenFile, flagged.CAFile
	}
	own = own && name != ""
	if own && at.TokenFile == "" {
		if at.login, err = login(name, of.URL); err != nil {
			return endpoint{}, "", err
		}
	}
	if chosen && own && (of.TokenFile != "" || at.login != "" || variables.URL != "" && !sameURL(variables.URL, of.URL)) {
		at.tokenText = "" // it is for the API that the variables name
	}
	if at.Subscription != "" || at.ResourceGroup != "" {
		at.Subscription = cmp.Or(at.Subscription, client.DefaultSubscription)
		at.ResourceGroup = cmp.Or(at.ResourceGroup, client.DefaultResourceGroup)
	}
	if flagged.TokenFile != "" {
		at.tokenText = ""
	}
	return at, name, nil
}

// sources returns what flags say, and what variables say.
func (o *options) sources(set flags.Set) (flagged, variables contexts.Context) {
	flagged = o.given
	for flag, member := range map[string]func(*contexts.Context) *string{
		"url":            func(c *contexts.Context) *string { return &c.URL },
		"subscription":   func(c *contexts.Context) *string { return &c.Subscription },
		"resource-group": func(c *contexts.Context) *string { return &c.ResourceGroup },
		"collection":     func(c *contexts.Context) *string { return &c.Collection },
	} {
		if fromVariable(set, flag) {
			*member(&variables), *member(&flagged) = *member(&flagged), ""
		}
	}
	return flagged, variables
}

// fromVariable reports whether the value of a flag is that of its variable.
func fromVariable(set flags.Set, flag string) bool {
	return strings.HasPrefix(set.Get(flag).Source(), "$")
}

// over returns a context with the members of another one where it has none.
func over(c, below contexts.Context) contexts.Context {
	return contexts.Context{
		URL: cmp.Or(c.URL, below.URL), TokenFile: cmp.Or(c.TokenFile, below.TokenFile), CAFile: cmp.Or(c.CAFile, below.CAFile),
		Subscription:  cmp.Or(c.Subscription, below.Subscription),
		ResourceGroup: cmp.Or(c.ResourceGroup, below.ResourceGroup),
		Collection:    cmp.Or(c.Collection, below.Collection),
	}
}

func sameURL(a, b string) bool { return strings.TrimRight(a, "/") == strings.TrimRight(b, "/") }

// token returns the token to call with; "" for none.
func (e endpoint) token() (string, error) {
	if e.tokenText != "" || e.TokenFile == "" {
		return strings.TrimSpace(e.tokenText), nil
	}
	text, err := os.ReadFile(e.TokenFile)
	if err != nil {
		return "", fmt.Errorf("the token: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsAny(token, "\r\n \t") {
		return "", fmt.Errorf("%s does not hold a token alone; the file of the server's tokens has their hashes, and is "+
			"not for callers", e.TokenFile)
	}
	return token, nil
}

// transport returns what connects to the API.
func (e endpoint) transport() (http.RoundTripper, error) {
	t, err := Transport(e.CAFile)
	if err != nil {
		return nil, err
	}
	t.ResponseHeaderTimeout = e.timeLimit
	return t, nil
}

// Transport returns what connects to servers whose certificates may be of further authorities, in a file in PEM; "" for
// none.
func Transport(authorities string) (*http.Transport, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 16
	if authorities == "" {
		return t, nil
	}
	text, err := os.ReadFile(authorities)
	if err != nil {
		return nil, fmt.Errorf("certificate authorities: %w", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(text) {
		return nil, errors.New(authorities + " has no certificate in PEM, which begins with -----BEGIN CERTIFICATE")
	}
	t.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	return t, nil
}
