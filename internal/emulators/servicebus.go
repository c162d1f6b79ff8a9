package emulators

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/stretchr/testify/require"
)

//go:embed servicebus.js
var serviceBusProgram string

// The namespace of every [ServiceBus], and its one key.
const (
	ServiceBusNamespace = "contoso"
	ServiceBusKeyName   = "send"
	ServiceBusKey       = "bm90LWEtc2VjcmV0LWJ1dC1pdC1sb29rcy1saWtlLW9uZQ=="

	serviceBusHost = ServiceBusNamespace + ".servicebus.windows.net"
)

// A ServiceBus is a Service Bus namespace on this machine. It keeps messages in memory,
// accepts those of up to 256 KiB, and speaks AMQP over TLS only, at the address of Azure's
// public cloud: for clients that connect by [ServiceBus.Dial] and trust RootCAs.
type ServiceBus struct {
	Address string         // host and port
	RootCAs *x509.CertPool // of [StartServiceBus]

	modules string
	options ServiceBusOptions
	control string // host and port
	node    *node
}

// ServiceBusOptions configure [RunServiceBus].
type ServiceBusOptions struct {
	Port              int    // 0 means a free one
	CertFile, KeyFile string // PEM, for *.servicebus.windows.net
	Queues            []ServiceBusQueue
	Topics            []ServiceBusTopic
	Log               io.Writer // gets the program's errors; nil discards them
}

// A ServiceBusQueue is a queue of a [ServiceBus].
type ServiceBusQueue struct {
	Name string `json:"name"`
	// a message with an id that was used before is accepted and dropped
	DetectDuplicates bool `json:"detectDuplicates"`
}

// A ServiceBusTopic is a topic of a [ServiceBus]. Each subscription gets every message.
type ServiceBusTopic struct {
	Name          string   `json:"name"`
	Subscriptions []string `json:"subscriptions"`
}

// RunServiceBus starts a namespace on this machine; the caller calls Stop. modules is the
// directory from [Install].
func RunServiceBus(ctx context.Context, modules string, o ServiceBusOptions) (*ServiceBus, error) {
	s := &ServiceBus{modules: modules, options: o}
	if err := s.start(ctx); err != nil {
		return nil, fmt.Errorf("start the Service Bus namespace: %w", err)
	}
	return s, nil
}

// StartServiceBus starts a namespace for a test, which is skipped if there is no Node. The
// namespace is stopped when the test ends. StartServiceBus sets the certificate and the log.
func StartServiceBus(t testing.TB, o ServiceBusOptions) *ServiceBus {
	t.Helper()
	modules := Modules(t)
	certificate, key, roots := certificateFor(t, "*.servicebus.windows.net")
	o.CertFile, o.KeyFile, o.Log = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem"), t.Output()
	require.NoError(t, os.WriteFile(o.CertFile, []byte(certificate), 0o600))
	require.NoError(t, os.WriteFile(o.KeyFile, []byte(key), 0o600))
	s, err := RunServiceBus(t.Context(), modules, o)
	require.NoError(t, err)
	s.RootCAs = roots
	t.Cleanup(func() { require.NoError(t, s.Stop()) })
	return s
}

func (s *ServiceBus) start(ctx context.Context) error {
	program, err := os.CreateTemp("", "servicebus-*.js")
	if err != nil {
		return err
	}
	defer os.Remove(program.Name()) // it has been loaded by then
	_, err = program.WriteString(serviceBusProgram)
	if err := errors.Join(err, program.Close()); err != nil {
		return err
	}
	config, err := json.Marshal(map[string]any{
		"port": s.options.Port, "certFile": s.options.CertFile, "keyFile": s.options.KeyFile,
		"keyName": ServiceBusKeyName, "key": ServiceBusKey, "queues": s.options.Queues, "topics": s.options.Topics,
	})
	if err != nil {
		return err
	}
	node, ports, err := startNode(ctx, s.modules, program.Name(), "listening on ", s.options.Log, string(config))
	if err != nil {
		return err
	}
	port, control, _ := strings.Cut(ports, " ")
	s.Address, s.control, s.node = net.JoinHostPort("127.0.0.1", port), net.JoinHostPort("127.0.0.1", control), node
	return nil
}

// Stop stops the namespace; its messages are lost.
func (s *ServiceBus) Stop() error { return s.node.stop() }

// Start starts a stopped namespace again, without messages, at the same address.
func (s *ServiceBus) Start(t testing.TB) {
	t.Helper()
	_, port, err := net.SplitHostPort(s.Address)
	require.NoError(t, err)
	s.options.Port, err = strconv.Atoi(port)
	require.NoError(t, err)
	require.NoError(t, s.start(context.WithoutCancel(t.Context())))
}

// Dial connects to the namespace. It ignores the address.
func (s *ServiceBus) Dial(ctx context.Context, network, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, s.Address)
}

// A ServiceBusFailure is a failure of an entity, on request of a test.
type ServiceBusFailure struct {
	Entity string `json:"entity"`

	// At is the operation that fails: "token" (a token for the entity is refused), "attach"
	// (of a link to it) or "transfer" (over such a link).
	At string `json:"at"`

	// How is how a transfer fails: "reject" or "release" it, "detach" the link, "drop" the
	// connection, or "ignore" the transfer for ever. An attach is refused, or with "drop" its
	// connection dropped.
	How    string `json:"how"`
	Stored bool   `json:"stored"` // the message of a failed transfer is kept

	Status      int    `json:"status"`    // of the answer to a token
	Condition   string `json:"condition"` // of the error that the client gets otherwise
	Description string `json:"description"`
	Times       int    `json:"times"` // 0 means always
}

// Fail adds a failure.
func (s *ServiceBus) Fail(t testing.TB, f ServiceBusFailure) {
	t.Helper()
	s.command(t, "fail", f, nil)
}

// Drop breaks all connections.
func (s *ServiceBus) Drop(t testing.TB) {
	t.Helper()
	s.command(t, "drop", nil, nil)
}

// Detach detaches all links that messages are sent over, as the service does with idle
// links.
func (s *ServiceBus) Detach(t testing.TB) {
	t.Helper()
	s.command(t, "detach", map[string]string{"condition": "amqp:link:detach-forced", "description": "The link is idle."}, nil)
}

// ServiceBusStats count operations since the [ServiceBus] was started.
type ServiceBusStats struct {
	Connections int `json:"connections"`
	Open        int `json:"open"`      // connections, now
	Links       int `json:"links"`     // to send to an entity
	Tokens      int `json:"tokens"`    // accepted or not
	Transfers   int `json:"transfers"` // accepted or not
}

// Stats returns the counts.
func (s *ServiceBus) Stats(t testing.TB) ServiceBusStats {
	t.Helper()
	var stats ServiceBusStats
	s.command(t, "stats", nil, &stats)
	return stats
}

// command sends a command to the program.
func (s *ServiceBus) command(t testing.TB, name string, in, out any) {
	t.Helper()
	body, err := json.Marshal(in)
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.control+"/"+name, bytes.NewReader(body))
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	if out != nil {
		require.NoError(t, json.NewDecoder(response.Body).Decode(out))
	}
}

// Client returns a client of the official SDK without retries.
func (s *ServiceBus) Client(t testing.TB) *azservicebus.Client {
	t.Helper()
	client, err := azservicebus.NewClientFromConnectionString(
		"Endpoint=sb://"+serviceBusHost+"/;SharedAccessKeyName="+ServiceBusKeyName+";SharedAccessKey="+ServiceBusKey,
		&azservicebus.ClientOptions{
			CustomEndpoint: s.Address,
			TLSConfig:      &tls.Config{RootCAs: s.RootCAs, MinVersion: tls.VersionTLS12},
			RetryOptions:   azservicebus.RetryOptions{MaxRetries: -1}, // 0 would mean 3
		})
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close(context.WithoutCancel(t.Context())) })
	return client
}

// receiveLimit is how long [ServiceBus.Receive] waits for messages.
const receiveLimit = time.Minute

// Receive takes messages from a queue, or from a topic's subscription, until it
// has n of them.
func (s *ServiceBus) Receive(t testing.TB, n int, entity string, subscription ...string) []*azservicebus.ReceivedMessage {
	t.Helper()
	client := s.Client(t)
	receiver, err := client.NewReceiverForQueue(entity, nil)
	if len(subscription) > 0 {
		receiver, err = client.NewReceiverForSubscription(entity, subscription[0], nil)
	}
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), receiveLimit)
	defer cancel()
	var all []*azservicebus.ReceivedMessage
	for len(all) < n {
		got, err := receiver.ReceiveMessages(ctx, n-len(all), nil)
		require.NoError(t, err, "with %d of %d messages received", len(all), n)
		for _, m := range got {
			require.NoError(t, receiver.CompleteMessage(ctx, m, nil))
		}
		all = append(all, got...)
	}
	return all
}
