package issuer

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/coreos/go-oidc/v3/oidc"
)

// maxReply is the size limit of what an issuer says about itself, and of its keys, in bytes.
const maxReply = 1 << 20

// Discover asks an issuer what it says about itself, for 10 s at most and up to 1 MiB. It follows redirects only to
// what [CheckURL] accepts.
func Discover(ctx context.Context, client *http.Client, issuer string) (*oidc.Provider, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	return oidc.NewProvider(oidc.ClientContext(ctx, Bounded(client)), issuer)
}

// Bounded returns a client for what an issuer is asked. Its answers end with an error after 1 MiB, and it follows
// redirects only to what [CheckURL] accepts.
func Bounded(client *http.Client) *http.Client {
	if client == nil {
		client = http.DefaultClient
	}
	b, inner := *client, client.Transport
	if inner == nil {
		inner = http.DefaultTransport
	}
	b.Transport = boundedTransport{inner}
	follow := client.CheckRedirect
	b.CheckRedirect = func(next *http.Request, before []*http.Request) error {
		if err := CheckURL(next.URL.String()); err != nil {
			return err
		}
		if follow != nil {
			return follow(next, before)
		}
		if len(before) >= maxRedirects {
			return fmt.Errorf("more than %d redirects", maxRedirects)
		}
		return nil
	}
	return &b
}

const maxRedirects = 10

type boundedTransport struct{ http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (t boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.RoundTripper.RoundTrip(r)
	if err == nil {
		answer.Body = &boundedBody{answer.Body, maxReply}
	}
	return answer, err
}

type boundedBody struct {
	io.ReadCloser
	left int64 // bytes that may still be read
}

// Read implements [io.Reader].
func (b *boundedBody) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, fmt.Errorf("the issuer's answer is longer than %d bytes", maxReply)
	}
	return n, err
}
