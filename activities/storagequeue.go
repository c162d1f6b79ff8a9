package activities

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue"

	"almanac/internal/redact"
	"almanac/job"
)

// DefaultQueueEndpoint is where Azure's public cloud has the queues of a storage
// account, with {account} for the account.
const DefaultQueueEndpoint = "https://" + accountPlaceholder + ".queue.core.windows.net"

const (
	accountPlaceholder = "{account}"
	defaultRegion      = "Almanac"
	maxQueueMessage    = 64 << 10 // bytes of text, by the REST reference of Put Message
	maxQueueAnswer     = 64 << 10 // bytes of an answer's body that are read
)

// StorageQueueOptions configure [NewStorageQueue].
type StorageQueueOptions struct {
	Version  string         // of Almanac, for the User-Agent
	Endpoint string         // as DefaultQueueEndpoint, for another cloud or an emulator; "" means that one
	Region   string         // what messages name as the region they come from; "" means Almanac
	RootCAs  *x509.CertPool // trusted for https; nil means the system's

	// Dial connects to an endpoint; nil means a [net.Dialer] that gives up after
	// 10 s. Where its error wraps an [egress.RefusedError], the action fails for
	// good.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// StorageQueue puts messages on queues of Azure Storage. It is safe for
// concurrent use and keeps connections, so one serves all jobs.
type StorageQueue struct {
	endpoint string
	region   string
	client   azqueue.ClientOptions
}

// NewStorageQueue returns a sender for actions of type StorageQueue. It uses no
// proxy and follows no redirect. An endpoint that cannot be used is an error.
func NewStorageQueue(o StorageQueueOptions) (*StorageQueue, error) {
	endpoint := strings.TrimSuffix(cmp.Or(o.Endpoint, DefaultQueueEndpoint), "/")
	u, err := url.Parse(strings.ReplaceAll(endpoint, accountPlaceholder, "account"))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || !strings.Contains(endpoint, accountPlaceholder) {
		return nil, fmt.Errorf("the endpoint of storage queues is to be an http or https address with %s in it, such as %s", accountPlaceholder, DefaultQueueEndpoint)
	}
	transport := newClient(HTTPOptions{RootCAs: o.RootCAs, Dial: o.Dial}, nil).Transport
	return &StorageQueue{
		endpoint: endpoint,
		region:   cmp.Or(o.Region, defaultRegion),
		client: azqueue.ClientOptions{ClientOptions: azcore.ClientOptions{
			Transport: boundedTransport{transport},
			Retry:     policy.RetryOptions{MaxRetries: -1}, // retries are the job's
			Telemetry: policy.TelemetryOptions{ApplicationID: "Almanac/" + o.Version},
		}},
	}, nil
}

// Send puts the message on the queue once. The names of the account and the
// queue are sent in lower case, the only one that Azure Storage knows: Azure
// Scheduler took them in any.
func (q *StorageQueue) Send(ctx context.Context, e job.Execution, a *job.Action) (string, error) {
	m := a.QueueMessage
	if m == nil {
		err := &PermanentError{errors.New("the action has no queueMessage")}
		return "StorageQueue Action - Message cannot be sent: " + err.Error(), err
	}
	name := strings.ToLower(m.StorageAccount + "/" + m.QueueName)
	if err := q.put(ctx, e, m, secretsOf(a)); err != nil {
		return fmt.Sprintf("StorageQueue Action - Message to queue '%s' failed: %s", name, err), err
	}
	return fmt.Sprintf("StorageQueue Action - Message accepted by queue '%s'", name), nil
}

// put makes the request and returns why it failed, as the error of an attempt.
func (q *StorageQueue) put(ctx context.Context, e job.Execution, m *job.QueueMessage, s redact.Secrets) error {
	text, err := q.text(e, m)
	if err != nil {
		return &PermanentError{err}
	}
	token, err := sasParameters(m.SASToken)
	if err != nil {
		return &PermanentError{err}
	}
	client, err := azqueue.NewQueueClientWithNoCredential(q.url(m)+"?"+token.Encode(), &q.client)
	if err != nil {
		return &PermanentError{errors.New("the address of the queue cannot be made from its names")} // err would quote the token
	}
	var resp *http.Response
	// The logs of Azure Storage show this header.
	ctx = policy.WithHTTPHeader(ctx, http.Header{"X-Ms-Client-Request-Id": {e.ID}})
	_, err = client.EnqueueMessage(policy.WithCaptureResponse(ctx, &resp), text, nil)
	if err == nil || resp != nil && resp.StatusCode == http.StatusCreated {
		return nil // also where the rest of the answer was lost: the message is there
	}
	return queueFailure(ctx, m.StorageAccount, token, s, err)
}

func (q *StorageQueue) url(m *job.QueueMessage) string {
	account := url.PathEscape(strings.ToLower(m.StorageAccount))
	return strings.ReplaceAll(q.endpoint, accountPlaceholder, account) + "/" + url.PathEscape(strings.ToLower(m.QueueName))
}

// text returns the message as it is to be on the queue.
func (q *StorageQueue) text(e job.Execution, m *job.QueueMessage) (string, error) {
	text := m.Message
	if m.MessageFormat != job.MessageRaw {
		var err error
		if text, err = envelope(e, m.Message, q.region); err != nil {
			return "", err
		}
	}
	if len(text) > maxQueueMessage {
		return "", fmt.Errorf("the message is %d bytes long as it is sent, and a queue holds %d (64 KiB): shorten it", len(text), maxQueueMessage)
	}
	return text, nil
}

// sasParameters returns the parameters of a shared access signature, which may
// be written as Azure's portal shows it in any place: by itself, after a
// question mark, or as the end of an address.
func sasParameters(token string) (url.Values, error) {
	token = strings.TrimSpace(token)
	if _, query, ok := strings.Cut(token, "?"); ok {
		token = query
	}
	parameters, err := url.ParseQuery(token)
	if err != nil || parameters.Get("sig") == "" {
		return nil, errors.New("the sasToken is not a shared access signature, which has the form sv=…&sig=…: put one into the job") // err would quote it
	}
	return parameters, nil
}

// boundedTransport lets the SDK see no more of an answer than it needs. Unlike
// an [http.Client] it reports errors without the address, which holds the token.
type boundedTransport struct{ http.RoundTripper }

// Do implements [policy.Transporter].
func (t boundedTransport) Do(req *http.Request) (*http.Response, error) {
	resp, err := t.RoundTrip(req)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxQueueAnswer), resp.Body}
	}
	return resp, err
}
