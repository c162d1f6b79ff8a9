package conformance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"almanac/internal/freeport"
)

// A wish is a request that a malicious page wants to be sent. {by} stands for the way in which it is sent.
type wish struct {
	Method string `json:"method"`
	URL    string `json:"url"`
	Body   string `json:"body"`
}

// Names of the page's own, which the browser resolves to this machine. The second one does what a name does whose
// address changes from the page's server to this machine while the page is open.
const (
	evil   = "evil.example"
	rebind = "rebind.example"
)

// browseBadly starts a browser that knows these names.
func browseBadly(t *testing.T) context.Context {
	t.Helper()
	return browse(t, chromedp.Flag("host-resolver-rules", "MAP *.example 127.0.0.1"))
}

// servePage serves the malicious page, and returns the port.
func servePage(t *testing.T) (port string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "malicious.html"))
	require.NoError(t, err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(text)
	}))
	t.Cleanup(server.Close)
	return portOf(t, server.URL)
}

func portOf(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	return u.Port()
}

// call calls a function of the page that is open.
func call[T any](ctx context.Context, t *testing.T, function string, argument any) T {
	t.Helper()
	text, err := json.Marshal(argument)
	require.NoError(t, err)
	return on(ctx, t, chromedp.Evaluate[T](function+"("+string(text)+")", chromedp.EvalAwaitPromise))
}

// A naive server believes every page: it does what they ask for, and tells browsers that they may.
type naive struct {
	*httptest.Server
	mu   sync.Mutex
	done map[string]bool // what was asked for: a method and the last element of the path
}

func newNaive(t *testing.T) *naive {
	t.Helper()
	n := &naive{done: map[string]bool{}}
	n.Server = httptest.NewServer(n)
	t.Cleanup(n.Close)
	return n
}

func (n *naive) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Access-Control-Allow-Origin", "*")
	if origin := r.Header.Get("Origin"); origin != "" {
		header.Set("Access-Control-Allow-Origin", origin)
		header.Set("Access-Control-Allow-Credentials", "true")
	}
	header.Set("Access-Control-Allow-Methods", "PUT, PATCH, DELETE")
	header.Set("Access-Control-Allow-Headers", "content-type, x-http-method-override, x-csrf-token")
	header.Set("Access-Control-Expose-Headers", "*")
	header.Set("Timing-Allow-Origin", "*")
	header.Set("Content-Type", "text/plain")
	if r.Header.Get("Accept") == "text/event-stream" {
		header.Set("Content-Type", "text/event-stream")
	}
	_, _ = io.WriteString(w, "data: secret\n\n")
	body, _ := io.ReadAll(r.Body)
	if r.Method != http.MethodOptions {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.done[r.Method+" "+strings.TrimPrefix(r.URL.Path, "/")+" "+strconv.FormatBool(strings.Contains(string(body), "harm"))] = true
	}
}

// has reports whether a request came with its body.
func (n *naive) has(method, by string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.done[method+" "+by+" true"]
}

// Without this test, the ones below might pass because the page can do nothing at all.
func TestTheMaliciousPageHarmsANaiveServer(t *testing.T) {
	t.Parallel()
	ctx, victim := browseBadly(t), newNaive(t)
	do(ctx, t, chromedp.Navigate("http://"+evil+":"+servePage(t)+"/"))
	const harm = `{"harm": "a=b"}`
	unasked := call[int](ctx, t, "change", []wish{{"POST", victim.URL + "/{by}", harm}, {"DELETE", victim.URL + "/{by}", harm}})
	require.Equal(t, 9, unasked)
	for _, by := range []string{"form-plain", "form-urlencoded", "form-multipart", "fetch-no-cors", "fetch-credentials", "fetch-plain", "xhr-plain", "beacon", "sandbox", "fetch-json", "xhr-json", "override"} {
		await(t, "POST by "+by, func() bool { return victim.has("POST", by) })
	}
	for _, by := range []string{"fetch-json", "xhr-json"} {
		require.True(t, victim.has("DELETE", by), by)
	}
	read := call[map[string]string](ctx, t, "read", []string{victim.URL + "/text"})
	for _, by := range []string{"fetch", "fetch-credentials", "fetch-head", "xhr", "events", "timing"} {
		require.NotEmpty(t, read[by+" "+victim.URL+"/text"], "%s: %v", by, read)
	}
}

// A prey is an Almanac without a login, with all its listeners, and two jobs.
type prey struct {
	api, ui, temporal, codec, worker string // URLs
	receiver                         *receiver
}

// The jobs.
const (
	victimPath      = "/jobCollections/default/jobs/victim"
	otherVictimPath = "/jobCollections/default/jobs/other-victim"
	otherVictim     = "job/default/default/other-victim" // its workflow
)

func newPrey(t *testing.T) prey {
	t.Helper()
	binary, err := build()
	require.NoError(t, err)
	key, err := exec.CommandContext(t.Context(), binary, "codec", "generate-key").Output()
	require.NoError(t, err)
	keys := filepath.Join(t.TempDir(), "keys")
	require.NoError(t, os.WriteFile(keys, key, 0o600))
	n := startNode(t, "--ui-listen", "127.0.0.1:0", "--codec-listen", "127.0.0.1:0", "--encryption-keys-file", keys)
	p := prey{
		api: n.addresses["API"], ui: n.addresses["Web UI"], temporal: "http://" + n.addresses["Temporal"], codec: n.addresses["Codec"],
		worker: startWorker(t, n.addresses["Temporal"], "--encryption-keys-file", keys), receiver: newReceiver(t),
	}
	for _, path := range []string{victimPath, otherVictimPath} {
		status, text := request(t, wish{"PUT", p.api + path, p.definition()})
		require.Equal(t, http.StatusCreated, status, text)
	}
	return p
}

// startWorker starts a worker with a listener for probes and metrics, and returns its URL.
func startWorker(t *testing.T, temporal string, args ...string) (address string) {
	t.Helper()
	binary, err := build()
	require.NoError(t, err)
	listen, err := freeport.Address()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), binary, slices.Concat([]string{"worker", "--listen", listen, "--egress-allow", "127.0.0.1"}, args)...)
	cmd.Env = append(os.Environ(), "TEMPORAL_ADDRESS="+temporal)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Wait() }) // it was killed
	await(t, "answer of the worker", func() bool {
		answer, err := http.Get("http://" + listen + "/healthz")
		if err != nil {
			return false
		}
		return answer.Body.Close() == nil
	})
	return "http://" + listen
}

// definition returns a job that is due in a year.
func (p prey) definition() string {
	return `{"properties":{"startTime":"` + time.Now().AddDate(1, 0, 0).Format(time.RFC3339) + `","action":{"type":"Http","request":{"method":"GET","uri":"` + p.receiver.URL + `"}}}}`
}

// wishes are changes that a page may want. In this order they all succeed if a caller may make them.
func (p prey) wishes() []wish {
	return []wish{
		{"POST", p.api + victimPath + "/run", ""},
		{"POST", p.api + "/jobCollections/default/jobs", p.definition()},
		{"PUT", p.api + "/jobCollections/default/jobs/{by}", p.definition()},
		{"PATCH", p.api + victimPath, `{"properties":{"state":"disabled"}}`},
		{"PUT", p.api + "/jobCollections/{by}", `{"properties":{"sku":{"name":"Standard"}}}`},
		{"POST", p.api + "/jobCollections/default/disable", ""},
		{"POST", p.api + "/jobCollections/default/enable", ""},
		{"POST", p.ui + "/api/v1/namespaces/default/workflows/{by}", `{"workflowType":{"name":"Harm"},"taskQueue":{"name":"nobody"}}`},
		{"POST", p.ui + "/api/v1/namespaces/default/workflows/" + url.PathEscape(otherVictim) + "/terminate", `{"reason":"harm"}`},
		{"DELETE", p.api + victimPath, ""},
	}
}

// others are requests to listeners that change nothing, whoever asks.
func (p prey) others() []wish {
	return []wish{
		{"POST", p.temporal + "/temporal.api.workflowservice.v1.WorkflowService/TerminateWorkflowExecution", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
		{"POST", p.codec + "/decode", `{"payloads":[]}`},
		{"POST", p.api + "/metrics", ""},
		{"POST", p.worker + "/metrics", ""},
	}
}

// secrets are URLs that have something to read.
func (p prey) secrets() []string {
	return []string{
		p.api + "/jobCollections", p.api + victimPath, p.api + victimPath + "/changes", p.api + "/metrics",
		p.ui + "/api/v1/namespaces/default/workflows", p.ui + "/api/v1/settings", p.codec + "/decode", p.temporal + "/", p.worker + "/metrics", p.worker + "/readyz",
	}
}

// state returns all that a page might change.
func (p prey) state(t *testing.T) map[string]string {
	t.Helper()
	state := map[string]string{}
	for _, path := range []string{"/jobCollections", "/jobCollections/default", "/jobCollections/default/jobs", victimPath, victimPath + "/history", victimPath + "/changes", otherVictimPath} {
		status, text := request(t, wish{"GET", p.api + path, ""})
		require.Equal(t, http.StatusOK, status, text)
		state[path] = text
	}
	return state
}

// request sends a request as a program does that is no browser.
func request(t *testing.T, w wish) (status int, text string) {
	t.Helper()
	return send(t, http.DefaultClient, w, nil)
}

func send(t *testing.T, client *http.Client, w wish, header http.Header) (status int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), w.Method, w.URL, strings.NewReader(w.Body))
	require.NoError(t, err)
	maps.Copy(r.Header, header)
	answer, err := client.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(body)
}

// refusals returns how many requests the API has answered with a status.
func (p prey) refusals(t *testing.T, status int) (sum int) {
	t.Helper()
	_, text := request(t, wish{"GET", p.api + "/metrics", ""})
	count := regexp.MustCompile(`(?m)^almanac_api_requests_total\{.*status="` + strconv.Itoa(status) + `"\} (\d+)$`)
	for _, found := range count.FindAllStringSubmatch(text, -1) {
		n, err := strconv.Atoi(found[1])
		require.NoError(t, err)
		sum += n
	}
	return sum
}

// to returns the wishes whose URL begins with base.
func to(base string, all []wish) []wish {
	return slices.DeleteFunc(slices.Clone(all), func(w wish) bool { return !strings.HasPrefix(w.URL, base) })
}

// ofPage returns the same URL under a name of the page's.
func ofPage(t *testing.T, address string) string {
	t.Helper()
	return "http://" + rebind + ":" + portOf(t, address)
}

func TestAMaliciousPageChangesAndReadsNothing(t *testing.T) {
	t.Parallel()
	p, ctx, port := newPrey(t), browseBadly(t), servePage(t)
	before := p.state(t)
	for _, origin := range []string{"http://" + evil + ":" + port, "http://127.0.0.1:" + port, "http://localhost:" + port} {
		// the second one is the same site, by its address
		do(ctx, t, chromedp.Navigate(origin+"/"))
		refused := p.refusals(t, http.StatusForbidden)
		unasked := call[int](ctx, t, "change", to(p.api, p.wishes()))
		await(t, fmt.Sprintf("%d refusals", unasked), func() bool { return p.refusals(t, http.StatusForbidden) >= refused+unasked })
		call[int](ctx, t, "change", slices.Concat(to(p.ui, p.wishes()), p.others()))
		require.Empty(t, call[map[string]string](ctx, t, "read", p.secrets()), origin)
	}
	p.requireUntouched(t, before)
	p.grant(t)
}

// A page whose name resolves to this machine is of the same origin as the server that it asks. The browser lets it send
// and read everything.
func TestAPageThatRebindsItsNameChangesAndReadsNothing(t *testing.T) {
	t.Parallel()
	p, ctx := newPrey(t), browseBadly(t)
	before := p.state(t)
	text, err := os.ReadFile(filepath.Join("testdata", "malicious.html"))
	require.NoError(t, err)
	_, script, _ := strings.Cut(string(text), "<script>")
	script, _, _ = strings.Cut(script, "\n</script>")
	do(ctx, t, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		// the page is the server's own refusal, whose policy the attacker's page would not have
		_, err := cdp.Call(ctx, target, page.SetBypassCSP, page.SetBypassCSPParams{Enabled: true})
		return err
	}))
	for _, listener := range []string{p.api, p.ui, p.codec, p.worker} {
		own := strings.NewReplacer(listener, ofPage(t, listener))
		do(ctx, t, chromedp.Navigate(ofPage(t, listener)+"/"), chromedp.Evaluate[chromedp.Void](script))
		wishes := to(listener, slices.Concat(p.wishes(), p.others()))
		for i := range wishes {
			wishes[i].URL = own.Replace(wishes[i].URL)
		}
		refused := p.refusals(t, http.StatusMisdirectedRequest)
		unasked := call[int](ctx, t, "change", wishes)
		if listener == p.api {
			await(t, fmt.Sprintf("%d refusals", unasked), func() bool { return p.refusals(t, http.StatusMisdirectedRequest) >= refused+unasked })
		}
		var urls []string
		for _, u := range p.secrets() {
			if strings.HasPrefix(u, listener) {
				urls = append(urls, own.Replace(u))
			}
		}
		require.NotEmpty(t, urls)
		read := call[map[string]string](ctx, t, "read", urls)
		for _, u := range urls {
			require.Contains(t, read["fetch "+u], "MisdirectedRequest", "the page may read %s, and there is nothing to read; %v", u, read)
		}
		for by, text := range read {
			if !strings.HasPrefix(by, "timing ") && !strings.HasPrefix(by, "fetch-head ") {
				// the size and the headers of the refusal
				require.Contains(t, text, "MisdirectedRequest", by)
			}
		}
	}
	p.requireUntouched(t, before)
	p.grant(t)
}

// requireUntouched fails the test if anything was changed.
func (p prey) requireUntouched(t *testing.T, before map[string]string) {
	t.Helper()
	require.Equal(t, before, p.state(t))
	require.Zero(t, p.receiver.count())
}

// grant makes the changes as a caller who may. So they were possible, and none was made before.
func (p prey) grant(t *testing.T) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	owner := &http.Client{Jar: jar}
	status, _ := send(t, owner, wish{"GET", p.ui + "/", ""}, nil)
	require.Equal(t, http.StatusOK, status)
	home, err := url.Parse(p.ui)
	require.NoError(t, err)
	header := http.Header{}
	for _, cookie := range jar.Cookies(home) {
		header.Set("X-Csrf-Token", cookie.Value)
	}
	for _, w := range p.wishes() {
		w.URL = strings.ReplaceAll(w.URL, "{by}", "owner")
		status, text := send(t, owner, w, header)
		require.Contains(t, []int{http.StatusOK, http.StatusCreated, http.StatusAccepted}, status, "%s %s: %s", w.Method, w.URL, text)
		if strings.HasSuffix(w.URL, "/run") { // before the job is deleted
			await(t, "execution", func() bool { return p.receiver.count() > 0 })
		}
	}
	require.Equal(t, 1, p.receiver.count())
	var workflows string
	await(t, "workflow of the owner", func() bool {
		_, workflows = send(t, owner, wish{"GET", p.ui + "/api/v1/namespaces/default/workflows", ""}, nil)
		return strings.Contains(workflows, `"Harm"`)
	})
	require.Equal(t, 1, strings.Count(workflows, `"Harm"`), "%s", workflows)
}
