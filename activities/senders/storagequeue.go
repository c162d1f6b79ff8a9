package senders

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue"

	"almanac/activities"
	"almanac/internal/redact"
	"almanac/job"
	"almanac/job/kind"
)

// DefaultQueueEndpoint is the queue endpoint in Azure's public cloud, with {account} for the storage
// account.
const DefaultQueueEndpoint = "https://" + accountPlaceholder + ".queue.core.windows.net"

const (
	accountPlaceholder = "{account}"
	maxQueueMessage    = 64 << 10 // bytes of text, from the REST reference of Put Message
	maxQueueAnswer     = 64 << 10 // bytes of an answer that are read
)

// StorageQueue puts messages on Azure Storage queues. It is safe for concurrent use and caches
// connections, so use one for all jobs.
type StorageQueue struct {
	endpoint string
	client   transports
	options  azcore.ClientOptions // without a transport
}

// NewStorageQueue returns a sender for actions of type StorageQueue. It uses no proxy and follows no
// redirect. The error is an invalid endpoint.
func NewStorageQueue(o Options) (*StorageQueue, error) {
	endpoint := strings.TrimSuffix(cmp.Or(o.QueueEndpoint, DefaultQueueEndpoint), "/")
	u, err := url.Parse(strings.ReplaceAll(endpoint, accountPlaceholder, "account"))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || !strings.Contains(endpoint, accountPlaceholder) {
		return nil, fmt.Errorf("the endpoint of storage queues is to be an http or https address with %s in it, such as %s", accountPlaceholder, DefaultQueueEndpoint)
	}
	return &StorageQueue{
		endpoint: endpoint,
		client:   newTransports(o, nil),
		options: azcore.ClientOptions{
			Retry:     policy.RetryOptions{MaxRetries: -1}, // the job's retry policy retries
			Telemetry: policy.TelemetryOptions{ApplicationID: "Almanac/" + o.Version},
		},
	}, nil
}

// Send puts the message on the queue once. Account and queue names are sent in lower case, as Azure
// Storage requires; Azure Scheduler accepted any case.
func (q *StorageQueue) Send(ctx context.Context, e job.Execution, a *job.Action) (string, error) {
	m := a.QueueMessage
	if m == nil {
		err := &activities.PermanentError{Err: errors.New("the action has no queueMessage")}
		return activities.Fail(kind.StorageQueue, "Message cannot be sent: "+err.Error(), err)
	}
	name := strings.ToLower(m.StorageAccount + "/" + m.QueueName)
	secrets := secretsOf(a)
	token, _ := sasParameters(m.SASToken) // one that cannot be parsed has no signature
	secrets.Add(token.Get("sig"))
	if err := q.put(ctx, e, a, secrets); err != nil {
		return activities.Fail(kind.StorageQueue, fmt.Sprintf("Message to queue '%s' failed: %s", name, err), err)
	}
	return fmt.Sprintf("StorageQueue Action - Message accepted by queue '%s'", name), nil
}

// put makes the request and returns the attempt's error.
func (q *StorageQueue) put(ctx context.Context, e job.Execution, a *job.Action, s redact.Secrets) error {
	m := a.QueueMessage
	text, err := queueText(e, m)
	if err != nil {
		return &activities.PermanentError{Err: err}
	}
	token, err := sasParameters(m.SASToken)
	if err != nil {
		return &activities.PermanentError{Err: err}
	}
	options := azqueue.ClientOptions{ClientOptions: q.options}
	options.Transport = queueTransport{q.client.of(a, true)}
	client, err := azqueue.NewQueueClientWithNoCredential(q.url(m)+"?"+token.Encode(), &options)
	if err != nil {
		// err would quote the token
		return &activities.PermanentError{Err: errors.New("the address of the queue cannot be made from its names")}
	}
	var resp *http.Response
	// This header appears in the logs of Azure Storage.
	ctx = policy.WithHTTPHeader(ctx, http.Header{"X-Ms-Client-Request-Id": {e.ID}})
	_, err = client.EnqueueMessage(policy.WithCaptureResponse(ctx, &resp), text, nil)
	if err == nil || resp != nil && resp.StatusCode == http.StatusCreated {
		return nil // even if the rest of the response was lost, the message was accepted
	}
	return queueFailure(ctx, m.StorageAccount, token, s, err)
}

// Address returns the host and port to which a message goes.
func (q *StorageQueue) Address(p kind.Parameters) string {
	m, ok := p.(*kind.QueueMessage)
	if !ok {
		return ""
	}
	return addressOf(q.url(m))
}

func (q *StorageQueue) url(m *kind.QueueMessage) string {
	account := url.PathEscape(strings.ToLower(m.StorageAccount))
	return strings.ReplaceAll(q.endpoint, accountPlaceholder, account) + "/" + url.PathEscape(strings.ToLower(m.QueueName))
}

// queueText returns the message as put on the queue.
func queueText(e job.Execution, m *kind.QueueMessage) (string, error) {
	text := m.Message
	if m.MessageFormat != kind.MessageRaw {
		var err error
		if text, err = envelope(e, m.Message); err != nil {
			return "", err
		}
	}
	if len(text) > maxQueueMessage {
		return "", fmt.Errorf("the message is %d bytes long as it is sent, and a queue holds %d (64 KiB): shorten it", len(text), maxQueueMessage)
	}
	return text, nil
}

// sasParameters parses a shared access signature in any form that Azure's portal shows: alone, after a
// question mark, or at the end of an address.
func sasParameters(token string) (url.Values, error) {
	token = strings.TrimSpace(token)
	if _, query, ok := strings.Cut(token, "?"); ok {
		token = query
	}
	parameters, err := url.ParseQuery(token)
	if err != nil || parameters.Get("sig") == "" {
		// err would quote it
		return nil, errors.New("the sasToken is not a shared access signature, which has the form sv=…&sig=…: put one into the job")
	}
	return parameters, nil
}

// A queueTransport limits how much of an answer the SDK reads, and gives it the text in UTF-8, without content
// encodings. Unlike an [http.Client] it returns errors without the address, which holds the token.
type queueTransport struct{ http.RoundTripper }

// Do implements [policy.Transporter].
func (t queueTransport) Do(req *http.Request) (*http.Response, error) {
	resp, err := t.RoundTrip(req)
	if err == nil {
		body := resp.Body
		resp.Body = struct {
			io.Reader
			io.Closer
		}{&lateReader{open: func() (io.Reader, error) {
			read, err := readBody(resp.Header, body, maxQueueAnswer)
			return bytes.NewReader(read.text), err
		}}, body}
	}
	return resp, err
}
