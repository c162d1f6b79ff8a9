package e2e_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/proxy"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/proto"
	"software.sslmate.com/src/go-pkcs12"

	"almanac/activities/senders"
	"almanac/devserver"
	"almanac/internal/codec"
	"almanac/job"
	"almanac/scheduler"
)

// A secret is planted in jobs and looked for everywhere else.
type secret struct {
	what, text string

	// shown says that answers show it with the rest of a job's definition, as
	// Azure Scheduler's did; it is hidden everywhere else.
	shown bool

	// derived says that it is never stored, but made of a secret on the way.
	derived bool
}

func canary(what string) string { return "canary-" + what + "-4f1c9a7e20bd" }

// secrets returns the secrets of the jobs in plants.
func secrets(pfx string) []secret {
	return []secret{
		{what: "password of type Basic", text: canary("basic")},
		{what: "value of an Authorization header", text: base64.StdEncoding.EncodeToString([]byte("u:" + canary("basic"))), derived: true},
		{what: "certificate", text: pfx[len(pfx)/2:][:48]},
		{what: "password of the certificate", text: canary("pfx")},
		{what: "secret of a client", text: canary("oauth")},
		{what: "access token", text: canary("token"), derived: true},
		{what: "SAS token", text: canary("sas-token")},
		{what: "SAS key", text: canary("sas-key")},
		{what: "password in a uri", text: canary("userinfo"), shown: true},
		{what: "secret in the query of a uri", text: canary("query"), shown: true},
		{what: "secret in a header", text: canary("header"), shown: true},
	}
}

// A plant is a job with secrets in it. Every kind of action succeeds and
// fails, but for Service Bus, which nobody answers.
type plant struct {
	name, action string
	fails        bool
}

func plants(receiver, pfx string) []plant {
	request := func(uri, more string) string {
		return `"type":"Https","request":{"method":"POST","uri":"` + uri + `"` + more + `}`
	}
	authenticated := func(uri, authentication string) string {
		return request(uri, `,"authentication":{`+authentication+`}`)
	}
	bus := func(kind, member, target string) plant {
		return plant{kind, `"type":"` + kind + `","` + member + `":{"namespace":"nobody","` + target +
			`":"orders","message":"hello","authentication":{"type":"sharedAccessKey","sasKeyName":"all","sasKey":"` + canary("sas-key") + `"}}`, true}
	}
	all := []plant{
		bus("ServiceBusQueue", "serviceBusQueueMessage", "queueName"),
		bus("ServiceBusTopic", "serviceBusTopicMessage", "topicPath"),
		{"unreachable", request("https://127.0.0.1:1/?code="+canary("query"), ""), true},
	}
	for outcome, fails := range map[string]bool{"accepted": false, "refused": true} {
		uri := receiver + "/" + outcome
		all = append(all,
			plant{"basic-" + outcome, authenticated(uri, `"type":"Basic","username":"u","password":"`+canary("basic")+`"`), fails},
			plant{"certificate-" + outcome, authenticated(uri, `"type":"ClientCertificate","pfx":"`+pfx+`","password":"`+canary("pfx")+`"`), fails},
			plant{"oauth-" + outcome, authenticated(uri, `"type":"ActiveDirectoryOAuth","tenant":"accepted","audience":"a","clientId":"c","secret":"`+canary("oauth")+`"`), fails},
			plant{"token-" + outcome, authenticated(receiver+"/accepted", `"type":"ActiveDirectoryOAuth","tenant":"`+outcome+`","audience":"b","clientId":"c","secret":"`+canary("oauth")+`"`), fails},
			plant{"uri-" + outcome, request(strings.Replace(uri, "//", "//u:"+canary("userinfo")+"@", 1)+"?code="+canary("query"), ""), fails},
			plant{"header-" + outcome, request(uri, `,"headers":{"Authorization":"Key `+canary("header")+`"}`), fails},
			plant{"queue-" + outcome, `"type":"StorageQueue","queueMessage":{"storageAccount":"` + outcome +
				`","queueName":"orders","message":"hello","sasToken":"sv=2018-03-28&sig=` + canary("sas-token") + `"}`, fails},
		)
	}
	return all
}

// definition returns a job that makes two attempts at most, and has an error action.
func (p plant) definition() string {
	const policy = `,"retryPolicy":{"retryType":"fixed","retryInterval":"PT1S","retryCount":1}`
	return `{"properties":{"action":{` + p.action + policy + `,"errorAction":{` + p.action + `}},"recurrence":{"frequency":"hour"}}}`
}

// newReceiver returns a web server, a token endpoint and a storage account in
// one, that sends back whatever it is sent.
func newReceiver(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		echo := fmt.Sprint(r.Header["Authorization"], " ", r.URL, " ", r.Form)
		switch {
		case strings.HasPrefix(r.URL.Path, "/refused"):
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, `{"error":"invalid_client","error_description":%q}`, echo)
		case strings.HasSuffix(r.URL.Path, "/token"):
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":"3599"}`, canary("token"))
		default:
			w.WriteHeader(http.StatusCreated)
			fmt.Fprint(w, echo)
		}
	}))
	s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// newPFX returns a certificate with its key, in base64.
func newPFX(t *testing.T, password string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "client"}, NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	file, err := pkcs12.Modern2023.Encode(key, certificate, nil, password)
	require.NoError(t, err)
	return base64.StdEncoding.EncodeToString(file)
}

// A vault is a stack of its own, of which everything is kept that may give a
// secret away.
type vault struct {
	*stack
	raw  client.Client // without keys: sees what Temporal sees
	data string        // the directory of its database
	log  transcript    // of all parts, in detail

	definitions, answers strings.Builder // of the API: those that show a job's definition, and all others
}

// A transcript is what several goroutines write.
type transcript struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *transcript) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *transcript) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newVault(t *testing.T, keys *codec.KeyRing, receiver *httptest.Server) *vault {
	t.Helper()
	v := &vault{data: t.TempDir()}
	trusted := x509.NewCertPool()
	trusted.AddCert(receiver.Certificate())
	v.stack = newStack(t, setup{
		data: v.data, keys: keys, log: slog.New(slog.NewTextHandler(&v.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		outbound: senders.Options{
			RootCAs: trusted, Authority: receiver.URL, QueueEndpoint: receiver.URL + "/{account}", BusEndpoint: "127.0.0.1:1",
		},
	})
	raw, err := client.NewClientFromExisting(v.temporal, client.Options{})
	require.NoError(t, err)
	t.Cleanup(raw.Close)
	v.raw = raw
	return v
}

// newServer starts an embedded Temporal of the test's own.
func newServer(t *testing.T, data string, log *slog.Logger) *devserver.Server {
	t.Helper()
	var server *devserver.Server
	compute(func() {
		var err error
		server, err = devserver.Start(t.Context(), devserver.Options{
			DataDir: data, Listen: "127.0.0.1:0", Synchronous: devserver.SynchronousNormal,
			SearchAttributes: scheduler.SearchAttributes(), Log: log,
		})
		require.NoError(t, err)
		t.Cleanup(server.Stop)
	})
	return server
}

// Every kind of secret is planted in jobs that are run, shown, changed and
// spoiled. Then everything is searched that anybody may get to see. With keys
// nothing is in clear that Temporal need not read.
func TestSecretsStaySecret(t *testing.T) {
	t.Parallel()
	keys, err := codec.ParseKeys("k:" + codec.GenerateKey())
	require.NoError(t, err)
	for name, keys := range map[string]*codec.KeyRing{"with keys": keys, "without keys": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			receiver, pfx := newReceiver(t), newPFX(t, canary("pfx"))
			v := newVault(t, keys, receiver)
			jobs := v.collection(t) + "/jobs"
			v.use(t, jobs, plants(receiver.URL, pfx)...)
			histories, rest := v.inspect(t, jobs)
			file := v.file(t)

			for _, s := range secrets(pfx) {
				s.find(t, false, "answers", v.answers.String())
				s.find(t, s.shown, "definitions in answers", v.definitions.String())
				s.find(t, false, "the log", v.log.String())
				s.find(t, false, "memos, search attributes, summaries", rest)

				// Without keys Temporal keeps secrets as it keeps everything,
				// which shows that they would be found.
				stored := keys == nil && !s.derived
				s.find(t, stored, "event histories", histories)
				s.find(t, stored, "the database", file)
			}
			require.Contains(t, v.log.String(), "level=DEBUG")
			if keys != nil {
				v.requireEncrypted(t, jobs)
			}
		})
	}
}

// find fails the test if a text holds the secret, or does not where it should.
func (s secret) find(t *testing.T, wanted bool, where, text string) {
	t.Helper()
	at := strings.Index(text, s.text)
	switch {
	case at < 0 && wanted:
		t.Errorf("%s: no %s", where, s.what)
	case at >= 0 && !wanted:
		t.Errorf("%s: the %s: %q", where, s.what, text[max(0, at-200):min(len(text), at+100)])
	}
}

// use makes jobs and has them run, and asks all that can be asked of them.
func (v *vault) use(t *testing.T, jobs string, plants ...plant) {
	t.Helper()
	ask := func(to io.Writer, code int, method, url, body string) reply {
		r := call(t, method, url, body)
		require.Equal(t, code, r.code, "%s %s: %s", method, url, r.body)
		fmt.Fprintln(to, r.head, r.body)
		return r
	}
	for _, p := range plants {
		for _, spoiled := range p.spoiled() {
			ask(&v.answers, http.StatusBadRequest, http.MethodPut, jobs+"/"+p.name, spoiled)
		}
		ask(&v.definitions, http.StatusCreated, http.MethodPut, jobs+"/"+p.name, p.definition())
	}
	for _, p := range plants {
		url := jobs + "/" + p.name
		p.await(t, url, 1)
		shown := ask(&v.definitions, http.StatusOK, http.MethodGet, url, "")
		ask(&v.definitions, http.StatusOK, http.MethodPut, url, shown.body) // leaves the secrets out, which are kept
		ask(&v.answers, http.StatusOK, http.MethodPost, url+"/run", "")
	}
	for _, p := range plants {
		url := jobs + "/" + p.name
		p.await(t, url, 2)
		h := ask(&v.answers, http.StatusOK, http.MethodGet, url+"/history", "")
		require.NotContains(t, h.body, "Encoded failure", "what failed can be read")
		ask(&v.definitions, http.StatusOK, http.MethodPatch, url, `{"properties":{"state":"disabled"}}`)
	}
	ask(&v.definitions, http.StatusOK, http.MethodGet, jobs, "")
}

// spoiled returns definitions that are refused.
func (p plant) spoiled() []string {
	good := p.definition()
	return []string{
		good[:len(good)-2],
		strings.Replace(good, `"hour"`, `"our"`, 1),
		strings.Replace(good, `"type"`, `"tipe"`, 1),
		strings.Replace(good, `"properties"`, `"properties":`, 1),
		strings.NewReplacer(`"https:`, `"httpx:`, `"storageAccount":"`, `"storageAccount":".`, `"namespace":"`, `"namespace":".`).Replace(good),
	}
}

// await waits until n executions have ended as they should.
func (p plant) await(t *testing.T, url string, n int) {
	t.Helper()
	if p.fails {
		status(t, url, "properties.status.failureCount", float64(n))
		return
	}
	eventually(t, fmt.Sprintf("%d executions of %s", n, p.name), func() bool {
		return call(t, http.MethodGet, url+"/history?$filter=status%20eq%20Completed", "").count("value") == n
	})
}

// inspect looks at all workflows as those do who have no keys: at the event
// histories, and at what describes them and lists of them.
func (v *vault) inspect(t *testing.T, jobs string) (histories, rest string) {
	t.Helper()
	var recorded, others strings.Builder
	for _, id := range v.workflows(t, jobs) {
		for e := range events(t, v.raw, id) {
			recorded.Write(binary(t, e))
		}
		found, err := v.raw.DescribeWorkflowExecution(t.Context(), id, "")
		require.NoError(t, err)
		others.Write(binary(t, found))
	}
	listed, err := v.raw.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{})
	require.NoError(t, err)
	require.NotEmpty(t, listed.GetExecutions())
	others.Write(binary(t, listed))
	return recorded.String(), others.String()
}

// workflows returns the ids of the workflows of a collection's jobs, its own
// and the subscription's.
func (v *vault) workflows(t *testing.T, jobs string) []string {
	t.Helper()
	collection := key(jobs, "").Collection
	ids := []string{collection.WorkflowID(), job.SubscriptionWorkflowID(collection.Subscription)}
	listed := call(t, http.MethodGet, jobs, "")
	for i := range listed.count("value") {
		_, name, _ := strings.Cut(listed.get(fmt.Sprintf("value.%d.name", i)).(string), "/")
		ids = append(ids, key(jobs, name).WorkflowID())
	}
	return ids
}

// events returns the events of a workflow's newest run as Temporal keeps them.
func events(t *testing.T, c client.Client, id string) iter.Seq[*history.HistoryEvent] {
	found := c.GetWorkflowHistory(t.Context(), id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	return func(yield func(*history.HistoryEvent) bool) {
		for found.HasNext() {
			e, err := found.Next()
			require.NoError(t, err)
			if !yield(e) {
				return
			}
		}
	}
}

// binary returns the binary form of a message, in which texts are as they are.
func binary(t *testing.T, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	require.NoError(t, err)
	return b
}

// file returns what Temporal has on disk.
func (v *vault) file(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(v.data, "*"))
	require.NoError(t, err)
	var all strings.Builder
	for _, f := range files {
		content, err := os.ReadFile(f)
		require.NoError(t, err)
		all.Write(content)
	}
	return all.String()
}

// requireEncrypted requires that Temporal has no payload in clear but search attributes, and that each is encrypted
// with the key "k" for its workflow.
func (v *vault) requireEncrypted(t *testing.T, jobs string) {
	t.Helper()
	ids := v.workflows(t, jobs)
	require.Greater(t, len(ids), 2, "jobs, their collection and the subscription")
	for _, id := range ids {
		found, err := v.raw.DescribeWorkflowExecution(t.Context(), id, "")
		require.NoError(t, err)
		require.Equal(t, []string{"k"}, keyIDs(t, found), "the memo and the summary of %s", id)
		require.Equal(t, []string{id}, metadata(t, found, "encryption-workflow-id"))
		for e := range events(t, v.raw, id) {
			if c := e.GetActivityTaskCanceledEventAttributes(); strings.Contains(c.GetDetails().String(), "ACTIVITY_ID_NOT_STARTED") {
				c.Details = nil // the server's words
			}
			require.NotContains(t, keyIDs(t, e), "", "%s of %s: %v", e.GetEventType(), id, e)
			for _, of := range metadata(t, e, "encryption-workflow-id") {
				require.Equal(t, id, of, "it is good in no other: %s", e.GetEventType())
			}
		}
	}
}

// keyIDs returns the ids of the keys that the payloads of a message are
// encrypted with, "" for none. Search attributes, which never are, do not count.
func keyIDs(t *testing.T, m proto.Message) []string {
	t.Helper()
	return metadata(t, m, "encryption-key-id")
}

// metadata returns what the payloads of a message name in a member of their metadata.
func metadata(t *testing.T, m proto.Message, member string) []string {
	t.Helper()
	ids := map[string]bool{}
	err := proxy.VisitPayloads(t.Context(), m, proxy.VisitPayloadsOptions{
		SkipSearchAttributes: true,
		Visitor: func(_ *proxy.VisitPayloadsContext, payloads []*common.Payload) ([]*common.Payload, error) {
			for _, p := range payloads {
				ids[string(p.GetMetadata()[member])] = true
			}
			return payloads, nil
		},
	})
	require.NoError(t, err)
	return slices.Sorted(maps.Keys(ids))
}
