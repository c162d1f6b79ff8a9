package client

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// The names of the resource group that the short paths of the API stand for.
const (
	DefaultSubscription  = "00000000-0000-0000-0000-000000000000"
	DefaultResourceGroup = "default"
)

// version is the version of the API that this package is written for.
const version = "2016-03-01"

// Options configure a [Client]. The zero value is ready to use.
type Options struct {
	// Token is sent with each request, in the header Authorization. "" sends none.
	Token string

	// Transport sends the requests. Nil means [http.DefaultTransport]. With [ServedBy] no connection is needed.
	Transport http.RoundTripper

	// Subscription and ResourceGroup name a resource group other than the one of the short paths. Both or none are set.
	Subscription  string
	ResourceGroup string
}

// A Client calls the API for the collections of one resource group. It is safe for concurrent use.
type Client struct {
	base          string // the URL of the API, without a slash at its end
	token         string
	http          *http.Client
	subscription  string // "": that of the short paths
	resourceGroup string
}

// New returns a client of the API at a URL such as https://jobs.example.com/almanac.
func New(base string, o Options) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("the URL of the API: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("the URL of the API is %q; allowed: http or https, a host, and a path", base)
	}
	if (o.Subscription == "") != (o.ResourceGroup == "") {
		return nil, errors.New("a subscription needs a resource group, and a resource group a subscription")
	}
	return &Client{
		base: strings.TrimRight(u.String(), "/"), token: o.Token,
		http:         &http.Client{Transport: o.Transport, CheckRedirect: stay},
		subscription: o.Subscription, resourceGroup: o.ResourceGroup,
	}, nil
}

// stay follows no redirect: the API has none, and the token is for the API alone.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// In returns a client for another resource group of the same API.
func (c *Client) In(subscription, resourceGroup string) *Client {
	other := *c
	other.subscription, other.resourceGroup = subscription, resourceGroup
	return &other
}

const provider = "/providers/Microsoft.Scheduler"

// A place is a path below the URL of the API, and the parameters of the query that it needs.
type place struct {
	path  string // escaped
	query url.Values
}

// group returns the place of parts of a path in the resource group.
func (c *Client) group(parts ...string) place {
	if c.subscription == "" {
		return place{path: joined(parts)}
	}
	return place{
		path:  joined([]string{"subscriptions", c.subscription, "resourceGroups", c.resourceGroup}) + provider + joined(parts),
		query: url.Values{"api-version": {version}},
	}
}

// wholeSubscription returns the place of parts of a path in the subscription.
func (c *Client) wholeSubscription(parts ...string) place {
	of := c.subscription
	if of == "" {
		of = DefaultSubscription
	}
	return place{
		path:  joined([]string{"subscriptions", of}) + provider + joined(parts),
		query: url.Values{"api-version": {version}},
	}
}

// joined returns an escaped path of parts.
func joined(parts []string) string {
	var path strings.Builder
	for _, part := range parts {
		path.WriteString("/" + url.PathEscape(part))
	}
	return path.String()
}

func (c *Client) collectionAt(name string, more ...string) place {
	return c.group(append([]string{"jobCollections", name}, more...)...)
}

func (c *Client) jobAt(collection, name string, more ...string) place {
	return c.collectionAt(collection, append([]string{"jobs", name}, more...)...)
}

// A Scope says which jobs a list has. The zero value stands for all of the resource group of the client.
type Scope struct {
	collection   string
	subscription bool
}

// InCollection returns the scope of the jobs of a job collection.
func InCollection(name string) Scope { return Scope{collection: name} }

// InSubscription returns the scope of all jobs of the subscription of the client.
func InSubscription() Scope { return Scope{subscription: true} }

// scoped returns the place of a word in a scope.
func (c *Client) scoped(s Scope, word string) place {
	switch {
	case s.subscription:
		return c.wholeSubscription(word)
	case s.collection != "":
		return c.collectionAt(s.collection, word)
	}
	return c.group(word)
}
