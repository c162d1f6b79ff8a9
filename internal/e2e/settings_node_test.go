package e2e_test

import (
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"almanac/internal/codec"
)

// written returns the name of a file with a text.
func written(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

// printed returns what follows a word in what a node prints.
func printed(t *testing.T, p *process, word string) string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^` + word + ` +(\S+)`).FindStringSubmatch(strings.Join(p.output, "\n"))
	require.Len(t, found, 2, p.output)
	return found[1]
}

// temporalOf returns a client of the Temporal of a node.
func temporalOf(t *testing.T, p *process) client.Client {
	t.Helper()
	c, err := client.DialContext(t.Context(), client.Options{HostPort: printed(t, p, "Temporal")})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

const defaultJobs = "/jobCollections/default/jobs"

func aNodeHasItsSettings(t *testing.T) {
	var log transcript
	var mu sync.Mutex
	now, most := 0, 0
	target := newSink(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/slow" {
			return
		}
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		time.Sleep(time.Second)
		mu.Lock()
		now--
		mu.Unlock()
	})
	data := t.TempDir()
	p := devTo(t, &log, data, "--retention", "2h", "--public-url", "https://jobs.example.com/base", "--allowed-hosts", "jobs.internal", "--plans", "unlimited",
		"--allow-secret-retargeting", "--metrics-collection", "--log-format", "json", "--max-per-host", "1")
	require.Equal(t, http.StatusOK, call(t, http.MethodGet, p.url+"/readyz", "").code)
	require.Equal(t, http.StatusOK, call(t, http.MethodGet, printed(t, p, "Web UI"), "").code)
	require.FileExists(t, filepath.Join(data, "lock"))
	described, err := temporalOf(t, p).WorkflowService().DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: "default"})
	require.NoError(t, err)
	require.Equal(t, 2*time.Hour, described.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration())

	for host, code := range map[string]int{"jobs.internal": http.StatusOK, "jobs.example.com": http.StatusOK, "other.internal": http.StatusMisdirectedRequest} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+"/healthz", nil)
		require.NoError(t, err)
		r.Host = host
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, code, answer.StatusCode, host)
	}
	ok(t, http.MethodPatch, p.url+"/jobCollections/default", `{"properties":{"sku":{"name":"Free"}}}`)
	secret := func(host, password string) string {
		return `{"properties":{"action":{"type":"Https","request":{"method":"GET","uri":"https://` + host + `/","authentication":{"type":"Basic","username":"u"` + password + `}}},"recurrence":{"frequency":"minute"}` + inAYear() + `}}`
	}
	// each minute, with authentication: not in the plan Free of Azure
	created(t, p.url+defaultJobs+"/secret", secret("a.example", `,"password":"p"`))
	ok(t, http.MethodPut, p.url+defaultJobs+"/secret", secret("b.example", ""))
	for _, name := range []string{"/a", "/b"} {
		created(t, p.url+defaultJobs+name, get(target.URL+"/slow", ""))
	}
	target.await(t, "/slow", 2)
	mu.Lock()
	require.Equal(t, 1, most)
	mu.Unlock()
	eventually(t, "metric with the collection", func() bool {
		return strings.Contains(call(t, http.MethodGet, p.url+"/metrics", "").body, `almanac_executions_total{collection="default"`)
	})
	require.Contains(t, log.String(), `{"time":`)
}

// A post is a mail server with TLS from the beginning, for whoever has a user and a password.
type post struct {
	user, password string
	mu             sync.Mutex
	from           string
	mail           string
}

func (p *post) NewSession(*smtp.Conn) (smtp.Session, error) { return p, nil }
func (p *post) AuthMechanisms() []string                    { return []string{sasl.Plain} }
func (p *post) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != p.user || password != p.password {
			return errors.New("wrong password")
		}
		return nil
	}), nil
}
func (p *post) Mail(from string, _ *smtp.MailOptions) error { p.from = from; return nil }
func (p *post) Rcpt(string, *smtp.RcptOptions) error        { return nil }
func (p *post) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mail = string(text)
	return err
}
func (p *post) Reset()        {}
func (p *post) Logout() error { return nil }

// secure returns a receiver with TLS, and a file with the authority of its certificate.
func secure(t *testing.T) (web *httptest.Server, authority string) {
	t.Helper()
	web = httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(web.Close)
	return web, written(t, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})))
}

// open starts the mail server and returns its address, and a file with the authority of its certificate.
func (p *post) open(t *testing.T) (address, authority string) {
	t.Helper()
	web, authority := secure(t)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: web.TLS.Certificates})
	require.NoError(t, err)
	server := smtp.NewServer(p)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return l.Addr().String(), authority
}

// requireMail requires that a node can send mail.
func (p *post) requireMail(t *testing.T, node *process) {
	t.Helper()
	created(t, node.url+defaultJobs+"/mailed", `{"properties":{"action":{"type":"Http","request":{"method":"GET","uri":"http://127.0.0.1:9/"}},`+
		`"notifications":[{"name":"mail","on":["failed"],"target":{"type":"Email","email":{"to":["a@example.com"]}}}]`+inAYear()+`}}`)
	test := call(t, http.MethodPost, node.url+defaultJobs+"/mailed/testNotification", "")
	require.Equal(t, "Delivered", test.get("value.0.status"), test.body)
	p.mu.Lock()
	defer p.mu.Unlock()
	require.Equal(t, "almanac@example.com", p.from)
	require.Contains(t, p.mail, "From: ")
}

func aMailHasWhatTheSettingsSay(t *testing.T) {
	server := &post{user: "almanac", password: "canary-of-mail"}
	address, authority := server.open(t)
	server.requireMail(t, dev(t, t.TempDir(), "--smtp-server", address, "--smtp-from", "almanac@example.com", "--smtp-tls", "implicit", "--smtp-username", "almanac",
		"--smtp-password-file", written(t, "canary-of-mail\n"), "--ca-file", authority))
}

func aPasswordMayBeInAVariable(t *testing.T) {
	server := &post{user: "almanac", password: "canary-of-mail"}
	address, authority := server.open(t)
	target := newSink(t, nil)
	p := devIn(t, []string{"ALMANAC_SMTP_PASSWORD=canary-of-mail", "ALMANAC_SMTP_SERVER=" + address, "ALMANAC_SMTP_FROM=almanac@example.com", "ALMANAC_SMTP_TLS=implicit",
		"ALMANAC_SMTP_USERNAME=almanac", "ALMANAC_CA_FILE=" + authority}, os.Stderr, t.TempDir(), "--show-next-run", "--max-hold", "10m", "--max-cached-workflows", "1")
	server.requireMail(t, p)

	created(t, p.url+defaultJobs+"/often", get(target.URL+"/often", `,"recurrence":{"frequency":"minute","interval":9}`))
	target.await(t, "/often", 1)
	temporal := temporalOf(t, p)
	id := key(p.url+defaultJobs, "often").WorkflowID()
	eventually(t, "second activity, which is held", func() bool {
		var scheduled, ended []time.Time
		events := temporal.GetWorkflowHistory(t.Context(), id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			e, err := events.Next()
			require.NoError(t, err)
			switch e.GetEventType() {
			case enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
				scheduled = append(scheduled, e.GetEventTime().AsTime())
			case enums.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
				ended = append(ended, e.GetEventTime().AsTime())
			}
		}
		if len(scheduled) < 2 {
			return false
		}
		require.Less(t, scheduled[1].Sub(ended[0]), 3*time.Minute, "by default it is scheduled 5 minutes before it is due at the earliest")
		return true
	})
	eventually(t, "next run in Temporal's lists", func() bool {
		d, err := temporal.DescribeWorkflowExecution(t.Context(), id, "")
		require.NoError(t, err)
		return d.GetWorkflowExecutionInfo().GetSearchAttributes().GetIndexedFields()["AlmanacNextRun"] != nil
	})
	cached := regexp.MustCompile(`(?m)^temporal_sticky_cache_size(?:\{.*\})? (\d+)`).FindStringSubmatch(call(t, http.MethodGet, p.url+"/metrics", "").body)
	require.Len(t, cached, 2)
	require.Contains(t, []string{"0", "1"}, cached[1])
}

func aNodeReachesWhatItMay(t *testing.T) {
	target := newSink(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/messages") {
			w.WriteHeader(http.StatusCreated)
		}
	})
	bus, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = bus.Close() })
	names := make(chan string, 100)
	go func() {
		for {
			c, err := bus.Accept()
			if err != nil {
				return
			}
			_ = tls.Server(c, &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
				names <- hello.ServerName
				return nil, errors.New("the name is enough")
			}}).Handshake()
			_ = c.Close()
		}
	}()
	p := devIn(t, []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=" + target.URL + "/v1/traces"}, os.Stderr, t.TempDir(), "--egress", "public", "--egress-allow", "127.0.0.1", "--egress-deny", "denied.example",
		"--egress-protect", "own.example", "--oauth-authority", target.URL, "--storage-queue-endpoint", target.URL+"/{account}", "--service-bus-host", "{namespace}.bus.example",
		"--service-bus-endpoint", bus.Addr().String(), "--trace-propagation", "off")
	for uri, want := range map[string]string{
		"http://10.0.0.1/": "are refused in egress mode public", "https://denied.example/": "the egress deny list has denied.example", "https://own.example:9/": "no action may reach this host",
	} {
		r := call(t, http.MethodPut, p.url+defaultJobs+"/refused", get(uri, ""))
		require.Equal(t, http.StatusBadRequest, r.code, r.body)
		require.Contains(t, r.body, want)
	}
	created(t, p.url+defaultJobs+"/untraced", get(target.URL+"/untraced", ""))
	require.Empty(t, target.await(t, "/untraced", 1)[0].header.Get("traceparent"))
	eventually(t, "spans", func() bool { return len(target.got("/v1/traces")) > 0 })
	created(t, p.url+defaultJobs+"/oauth", `{"properties":{"action":{"type":"Http","request":{"method":"GET","uri":"`+target.URL+`/x","authentication":`+
		`{"type":"ActiveDirectoryOAuth","tenant":"contoso","audience":"https://a.example/","clientId":"c","secret":"s"}}}}}`)
	target.await(t, "/contoso/oauth2/token", 1)
	created(t, p.url+defaultJobs+"/queue", `{"properties":{"action":{"type":"StorageQueue","queueMessage":{"storageAccount":"acct","queueName":"letters","sasToken":"sv=2012-02-12&sig=x","message":"m"}}}}`)
	target.await(t, "/acct/letters/messages", 1)
	created(t, p.url+defaultJobs+"/bus", `{"properties":{"action":{"type":"ServiceBusQueue","serviceBusQueueMessage":{"namespace":"ns","queueName":"q","message":"m","transportType":"AMQP",`+
		`"authentication":{"type":"sharedAccessKey","sasKeyName":"k","sasKey":"a2V5"}}}}}`)
	select {
	case name := <-names:
		require.Equal(t, "ns.bus.example", name)
	case <-time.After(patience):
		t.Fatal("nobody connected to the endpoint of Service Bus")
	}
}

func aNodeEncrypts(t *testing.T) {
	data := t.TempDir()
	p := dev(t, data, "--synchronous", "normal")
	created(t, p.url+defaultJobs+"/clear", get("https://example.com/", inAYear()))
	p.kill(t)
	keys := "one:" + codec.GenerateKey()
	p = devIn(t, []string{"ALMANAC_CODEC_TOKEN=canary-of-codec"}, os.Stderr, data, "--encryption-keys-file", written(t, keys+"\n"), "--accept-clear-payloads", "--codec-listen", "127.0.0.1:0")
	require.Equal(t, http.StatusOK, call(t, http.MethodGet, p.url+defaultJobs+"/clear", "").code, "it was stored in clear")
	created(t, p.url+defaultJobs+"/encrypted", get("https://example.com/", inAYear()))
	requireEncrypted(t, p, "encrypted")
	for token, code := range map[string]int{"": http.StatusUnauthorized, "canary-of-codec": http.StatusOK} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, printed(t, p, "Codec")+"/decode", bytes.NewReader([]byte(`{"payloads":[]}`)))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, code, answer.StatusCode, token)
	}
	p.kill(t)

	p = devIn(t, []string{"ALMANAC_ENCRYPTION_KEYS=" + keys}, os.Stderr, data, "--accept-clear-payloads", "--min-free-disk", "1000000TiB")
	require.Equal(t, http.StatusOK, call(t, http.MethodGet, p.url+defaultJobs+"/encrypted", "").code)
	require.Equal(t, http.StatusServiceUnavailable, call(t, http.MethodGet, p.url+"/readyz", "").code)
}

// requireEncrypted requires that Temporal has a job's definition encrypted.
func requireEncrypted(t *testing.T, p *process, name string) {
	t.Helper()
	events := temporalOf(t, p).GetWorkflowHistory(t.Context(), key(p.url+defaultJobs, name).WorkflowID(), "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	e, err := events.Next()
	require.NoError(t, err)
	input := e.GetWorkflowExecutionStartedEventAttributes().GetInput().GetPayloads()[0]
	require.Contains(t, string(input.GetMetadata()["encoding"]), "encrypted")
	require.NotContains(t, string(input.GetData()), "example.com")
}
