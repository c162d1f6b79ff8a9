package docker_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"
	"github.com/stretchr/testify/require"
)

// A cluster is what is in a file of this directory, as processes on hosts of a network.
type cluster struct {
	t       *testing.T
	network *network
	names   map[string]*host  // of services, but also those that are not Almanac's
	lines   strings.Builder   // of /etc/hosts
	secrets map[string]string // by name
	token   string            // of an owner
	tokens  string            // the file of its hash
	hits    map[string]*atomic.Int64
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, network: newNetwork(t), names: map[string]*host{}, secrets: map[string]string{}, hits: map[string]*atomic.Int64{}}
	file := filepath.Join(t.TempDir(), "tokens.yaml")
	out, err := exec.Command(almanac(t), "token", "create", "--name", "me", "--role", "owner", "--token-file", file).Output()
	require.NoError(t, err)
	c.token = strings.TrimSpace(string(out))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	c.tokens = string(text)
	c.secrets["session-key"] = base64.StdEncoding.EncodeToString(make([]byte, 32))
	keys, err := exec.Command(almanac(t), "codec", "generate-key").Output()
	require.NoError(t, err)
	c.secrets["encryption-keys"] = string(keys)
	return c
}

// add adds a host that others know by names.
func (c *cluster) add(names []string, addresses ...string) *host {
	c.t.Helper()
	h := c.network.host(addresses...)
	for _, name := range names {
		c.names[name] = h
		for _, a := range addresses {
			address, _, _ := strings.Cut(a, "/")
			fmt.Fprintf(&c.lines, "%s %s\n", address, name)
		}
	}
	return h
}

// counts has a host answer on ports, and counts the requests by name and port.
func (c *cluster) counts(name string, ports ...string) {
	for _, port := range ports {
		hits := new(atomic.Int64)
		c.hits[name+":"+port] = hits
		c.names[name].serve(port, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	}
}

// runTemporal runs an embedded Temporal on a host.
func (c *cluster) runTemporal(on *host) {
	c.t.Helper()
	p := exec.Command(almanac(c.t), "dev", "--data", c.t.TempDir(), "--unauthenticated", "--temporal-listen", "0.0.0.0:7233", "--listen", "127.0.0.1:0", "--ui-listen", "127.0.0.1:0")
	out, err := p.StdoutPipe()
	require.NoError(c.t, err)
	require.NoError(c.t, on.in(p.Start))
	c.t.Cleanup(func() {
		_ = p.Process.Kill()
		_ = p.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "Try:") {
	}
	go io.Copy(io.Discard, out)
}

// An api is how callers reach an API: from a host, at an address, by a name.
type api struct {
	c    *cluster
	from *host
	at   string // 10.1.0.7:8080
	host string // header
}

// call sends a request, and returns its status, its body and its cookies. Headers are name and value, in turn.
func (a *api) call(method, path, body string, headers ...string) (int, string, []*http.Cookie) {
	a.c.t.Helper()
	r, err := http.NewRequestWithContext(a.c.t.Context(), method, "http://"+a.at+path, strings.NewReader(body))
	require.NoError(a.c.t, err)
	r.Host = a.host
	for pair := range slices.Chunk(headers, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	answer, err := a.from.client().Do(r)
	require.NoError(a.c.t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(a.c.t, err)
	return answer.StatusCode, string(text), answer.Cookies()
}

func (a *api) owner(method, path, body string) (int, string) {
	a.c.t.Helper()
	code, text, _ := a.call(method, path, body, "Authorization", "Bearer "+a.c.token)
	return code, text
}

// outcome puts a job that calls an address at once, and returns why it was refused, or what the history says of its
// first attempt.
func (a *api) outcome(name, uri string) string {
	a.c.t.Helper()
	code, text := a.owner(http.MethodPut, "/jobCollections/c/jobs/"+name, `{"properties":{"action":{"type":"Http","request":{"method":"GET","uri":"`+uri+`"},"retryPolicy":{"retryType":"none"}}}}`)
	if code >= 300 {
		return text
	}
	var entry struct {
		Value []struct {
			Properties struct{ Status, Message string }
		}
	}
	eventually(a.c.t, "entry in the history of a job that calls "+uri, func() bool {
		_, text := a.owner(http.MethodGet, "/jobCollections/c/jobs/"+name+"/history", "")
		require.NoError(a.c.t, json.Unmarshal([]byte(text), &entry), text)
		return len(entry.Value) > 0
	})
	return entry.Value[0].Properties.Status + " " + entry.Value[0].Properties.Message
}

// requireOneDoor requires that two APIs behind one address are as one: a session that one began counts at the other,
// and callers are known by their addresses, which a proxy says and nobody else.
func (c *cluster) requireOneDoor(first, second, stranger *api) {
	t := c.t
	t.Helper()
	code, _, cookies := first.call(http.MethodPost, "/login", url.Values{"token": {c.token}}.Encode(),
		"Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin")
	require.Less(t, code, 400)
	require.NotEmpty(t, cookies)
	for _, a := range []*api{first, second} {
		code, text, _ := a.call(http.MethodGet, "/jobCollections", "", "Cookie", cookies[0].Name+"="+cookies[0].Value, "Sec-Fetch-Site", "same-origin")
		require.Equal(t, http.StatusOK, code, text)
	}
	wrong := func(a *api, says string) int {
		code, _, _ := a.call(http.MethodGet, "/jobCollections", "", "Authorization", "Bearer alm_wrong", "X-Forwarded-For", says)
		return code
	}
	for range 12 {
		wrong(second, "192.0.2.8")
	}
	require.Equal(t, http.StatusTooManyRequests, wrong(second, "192.0.2.8"))
	require.Equal(t, http.StatusUnauthorized, wrong(second, "192.0.2.9"), "another caller behind the proxy")
	for i := range 12 {
		wrong(stranger, fmt.Sprint("192.0.2.", 100+i))
	}
	require.Equal(t, http.StatusTooManyRequests, wrong(stranger, "192.0.2.200"), "who is no proxy is known by its own address")
}

const ownHost = "no action may reach this host: Almanac or Temporal runs there"

// requireKept requires that jobs reach nothing of the cluster, by any of the addresses, and that they reach others.
func (c *cluster) requireKept(a *api, refused []string, reached string) {
	t := c.t
	t.Helper()
	code, text := a.owner(http.MethodPut, "/jobCollections/c", `{"properties":{"sku":{"name":"Standard"}}}`)
	require.Less(t, code, 300, text)
	for i, at := range refused {
		require.Contains(t, a.outcome(fmt.Sprint("refused", i), "http://"+at+"/"), "Almanac does not connect to", at)
	}
	require.Contains(t, a.outcome("reached", "http://"+reached+"/"), "Completed")
	for at, hits := range c.hits {
		require.Equal(t, at == reached, hits.Load() > 0, at)
	}
}

// composed returns a container with what a service of a Compose file has.
func (c *cluster) composed(project *types.Project, name string, more map[string]string) (*container, types.ServiceConfig) {
	c.t.Helper()
	s := project.Services[name]
	environment, files := map[string]string{}, map[string]string{}
	for variable, value := range s.Environment {
		environment[variable] = *value
	}
	for variable, value := range more {
		environment[variable] = value
	}
	for _, secret := range s.Secrets {
		require.NotEmpty(c.t, c.secrets[secret.Source], secret.Source)
		files[path.Join("/run/secrets", secret.Source)] = c.secrets[secret.Source]
	}
	for _, v := range s.Volumes {
		files[path.Join(v.Target, "tokens.yaml")] = c.tokens
	}
	return newContainer(c.t, c.names[name], environment, files, c.lines.String()), s
}

// What compose.cluster.yaml says is run, each service of Almanac on a host of its own, with that command, environment,
// secrets and network. Temporal is the embedded one, and nothing but its addresses is there of the proxy, the database
// and the Web UI.
func TestTheComposedClusterRuns(t *testing.T) {
	t.Parallel()
	project := compose(t, "compose.cluster.yaml")
	c := newCluster(t)
	prefix := func(network string) string {
		return strings.TrimSuffix(project.Networks[network].Ipam.Config[0].IPRange, "/26")
	}
	at := func(network string, i int) string { // an address that Docker may give
		base := prefix(network)
		dot := strings.LastIndexByte(base, '.')
		var last int
		_, err := fmt.Sscan(base[dot+1:], &last)
		require.NoError(t, err)
		return fmt.Sprint(base[:dot+1], last+i)
	}
	const bits = "/24" // both networks are on one segment
	services := []string{"temporal", "temporal-ui", "postgres", "setup", "worker-1", "worker-2", "api-1", "api-2"}
	inside, outside := map[string]string{}, map[string]string{}
	for i, name := range services {
		addresses := []string{}
		if _, ok := project.Services[name].Networks["inside"]; ok {
			inside[name] = at("inside", i)
			addresses = append(addresses, inside[name]+bits)
		}
		if _, ok := project.Services[name].Networks["outside"]; ok {
			outside[name] = at("outside", i)
			addresses = append(addresses, outside[name]+bits)
		}
		c.add([]string{name}, addresses...)
	}
	proxy := project.Services["proxy"].Networks
	c.add([]string{"proxy"}, proxy["inside"].Ipv4Address+bits, proxy["outside"].Ipv4Address+bits)
	target := c.add([]string{"target"}, at("outside", 40)+bits)
	c.counts("target", "9000")
	c.counts("temporal", "7243", "9100")
	c.counts("temporal-ui", "8080", "9100")
	c.counts("postgres", "5432")
	c.counts("proxy", "8080")
	c.runTemporal(c.names["temporal"])

	setup, s := c.composed(project, "setup", nil)
	require.NoError(t, setup.run(s.Command))
	start := func(more map[string]string) (all []*running) {
		for _, name := range []string{"worker-1", "worker-2", "api-1", "api-2"} {
			one, s := c.composed(project, name, more)
			all = append(all, one.start(s.Command))
			one.becomes("health of "+name, s.HealthCheck.Test)
		}
		return all
	}
	processes := start(nil)
	first := &api{c, c.names["proxy"], inside["api-1"] + ":8080", "api-1:8080"}
	second := &api{c, c.names["proxy"], outside["api-2"] + ":8080", "api-2:8080"}
	c.requireOneDoor(first, second, &api{c, target, outside["api-2"] + ":8080", "api-2:8080"})
	refused := []string{
		"temporal:7243", inside["temporal"] + ":7243", "temporal:7233", inside["temporal"] + ":7233", "temporal:9100", inside["temporal"] + ":9100",
		"temporal-ui:8080", outside["temporal-ui"] + ":8080", outside["temporal-ui"] + ":9100", "postgres:5432", inside["postgres"] + ":5432",
		"proxy:8080", proxy["outside"].Ipv4Address + ":8080", "api-1:8080", outside["api-1"] + ":8080", inside["api-2"] + ":8080",
		"worker-1:8081", outside["worker-2"] + ":8081", outside["worker-2"] + ":22", "TEMPORAL:7243", "temporal.:7243", "[::ffff:" + inside["temporal"] + "]:7243",
	}
	c.requireKept(first, refused, "target:9000")
	require.Contains(t, first.outcome("ui", "http://"+outside["temporal-ui"]+":9100/"), ownHost)

	// An operator excepts a port that is neither Almanac's nor Temporal's.
	for _, p := range processes {
		p.stop()
	}
	excepted := outside["temporal-ui"] + ":9100"
	start(map[string]string{"ALMANAC_EGRESS_ALLOW": excepted})
	require.Contains(t, first.outcome("excepted", "http://"+excepted+"/"), "Completed")
	require.Contains(t, second.outcome("other", "http://"+outside["temporal-ui"]+":8080/"), ownHost)
}
