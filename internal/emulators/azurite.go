package emulators

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
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

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/sas"
	"github.com/stretchr/testify/require"
)

// The account of every Azurite; the key is public.
const (
	AzuriteAccount = "devstoreaccount1"
	AzuriteKey     = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

// An Azurite is the queue service of Azurite, which keeps messages in memory. It has one
// account, [AzuriteAccount].
//
// Without TLS its queues are at [Azurite.Endpoint]. With TLS they are at the addresses of
// Azure's public cloud, for clients that connect by [Azurite.Dial] and trust RootCAs.
type Azurite struct {
	Address string         // host and port
	RootCAs *x509.CertPool // nil without TLS

	modules string
	options AzuriteOptions
	node    *node
}

// AzuriteOptions configure [RunAzurite].
type AzuriteOptions struct {
	Port              int       // 0 means a free one
	CertFile, KeyFile string    // PEM; "" means no TLS
	Log               io.Writer // gets Azurite's errors; nil discards them
}

// RunAzurite starts Azurite on this machine; the caller calls Stop. modules is the
// directory from [Install].
func RunAzurite(ctx context.Context, modules string, o AzuriteOptions) (*Azurite, error) {
	a := &Azurite{modules: modules, options: o}
	if err := a.start(ctx); err != nil {
		return nil, err
	}
	return a, nil
}

// StartAzurite starts Azurite for a test, which is skipped if there is no Node. Azurite
// is stopped when the test ends.
func StartAzurite(t testing.TB) *Azurite {
	t.Helper()
	return startAzurite(t, AzuriteOptions{Log: t.Output()})
}

// StartSecureAzurite is [StartAzurite] with TLS.
func StartSecureAzurite(t testing.TB) *Azurite {
	t.Helper()
	certificate, key, roots := certificateFor(t, "*.queue.core.windows.net")
	o := AzuriteOptions{CertFile: filepath.Join(t.TempDir(), "cert.pem"), KeyFile: filepath.Join(t.TempDir(), "key.pem"), Log: t.Output()}
	require.NoError(t, os.WriteFile(o.CertFile, []byte(certificate), 0o600))
	require.NoError(t, os.WriteFile(o.KeyFile, []byte(key), 0o600))
	a := startAzurite(t, o)
	a.RootCAs = roots
	return a
}

func startAzurite(t testing.TB, o AzuriteOptions) *Azurite {
	t.Helper()
	a, err := RunAzurite(t.Context(), Modules(t), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Stop()) })
	return a
}

func (a *Azurite) start(ctx context.Context) error {
	args := []string{
		"--queueHost", "127.0.0.1", "--queuePort", strconv.Itoa(a.options.Port),
		"--inMemoryPersistence", "--silent", "--disableTelemetry",
	}
	if a.options.CertFile != "" {
		args = append(args, "--cert", a.options.CertFile, "--key", a.options.KeyFile)
	}
	node, url, err := startNode(ctx, a.modules, "azurite/dist/src/queue/main.js", "successfully listens on ", a.options.Log, args...)
	if err != nil {
		return fmt.Errorf("start Azurite: %w", err)
	}
	_, a.Address, _ = strings.Cut(url, "://")
	a.node = node
	return nil
}

// Stop stops Azurite; its messages are lost. Further calls have no effect.
func (a *Azurite) Stop() error { return a.node.stop() }

// Restart stops Azurite and starts it again, without queues, at the same address.
func (a *Azurite) Restart(t testing.TB) {
	t.Helper()
	require.NoError(t, a.Stop())
	_, port, err := net.SplitHostPort(a.Address)
	require.NoError(t, err)
	a.options.Port, err = strconv.Atoi(port)
	require.NoError(t, err)
	require.NoError(t, a.start(t.Context()))
}

// Endpoint returns the URL of an account's queues, with {account} for the account's name.
func (a *Azurite) Endpoint() string {
	if a.options.CertFile != "" {
		return "https://{account}.queue.core.windows.net"
	}
	return "http://" + a.Address + "/{account}"
}

// Dial connects to Azurite. It ignores the address.
func (a *Azurite) Dial(ctx context.Context, network, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, a.Address)
}

// Queue returns a client of a queue, with all permissions. The queue need not exist.
func (a *Azurite) Queue(name string) (*azqueue.QueueClient, error) {
	key, err := Credential()
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{DialContext: a.Dial, TLSClientConfig: &tls.Config{RootCAs: a.RootCAs}, DisableKeepAlives: true}
	return azqueue.NewQueueClientWithSharedKeyCredential(
		strings.ReplaceAll(a.Endpoint(), "{account}", AzuriteAccount)+"/"+name, key,
		&azqueue.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: &http.Client{Transport: transport}}})
}

// NewQueue creates a queue and returns a client with all permissions.
func (a *Azurite) NewQueue(t testing.TB, name string) *azqueue.QueueClient {
	t.Helper()
	queue, err := a.Queue(name)
	require.NoError(t, err)
	_, err = queue.Create(t.Context(), nil)
	require.NoError(t, err)
	return queue
}

// Credential returns the credential of [AzuriteAccount].
func Credential() (*azqueue.SharedKeyCredential, error) {
	return azqueue.NewSharedKeyCredential(AzuriteAccount, AzuriteKey)
}

// QueueSAS returns a shared access signature for a queue of [AzuriteAccount]. By default
// it allows adding messages, from any address, by http and https, for an hour.
func QueueSAS(t testing.TB, v sas.QueueSignatureValues) string {
	t.Helper()
	v.Permissions = cmp.Or(v.Permissions, "a")
	v.Protocol = cmp.Or(v.Protocol, sas.ProtocolHTTPSandHTTP)
	if v.ExpiryTime.IsZero() {
		v.ExpiryTime = time.Now().Add(time.Hour)
	}
	key, err := Credential()
	require.NoError(t, err)
	signed, err := v.SignWithSharedKey(key)
	require.NoError(t, err)
	return signed.Encode()
}

// Messages is [Take] for a test.
func Messages(t testing.TB, queue *azqueue.QueueClient) []string {
	t.Helper()
	texts, err := Take(t.Context(), queue)
	require.NoError(t, err)
	return texts
}

// Take removes all messages from a queue and returns their texts, in the order in which
// they were added.
func Take(ctx context.Context, queue *azqueue.QueueClient) (texts []string, err error) {
	for {
		got, err := queue.DequeueMessages(ctx, &azqueue.DequeueMessagesOptions{NumberOfMessages: new(int32(32))})
		if err != nil || len(got.Messages) == 0 {
			return texts, err
		}
		for _, m := range got.Messages {
			if _, err := queue.DeleteMessage(ctx, *m.MessageID, *m.PopReceipt, nil); err != nil {
				return texts, err
			}
			texts = append(texts, *m.MessageText)
		}
	}
}
