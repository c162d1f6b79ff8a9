package egress_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/internal/egress"
)

const ownPort = "no action may reach this port: Almanac or Temporal listens there; no setting allows it"

// protect returns a guard with the most permissive rules.
func protect(t *testing.T, addresses ...string) *egress.Guard {
	t.Helper()
	g := parse(t, "any", "0.0.0.0/0 ::/0", "")
	for _, a := range addresses {
		require.NoError(t, g.Protect(a))
	}
	return g
}

// ruleAt is rule for one port.
func ruleAt(t *testing.T, g *egress.Guard, address string) string {
	t.Helper()
	reached := errors.New("the rules allow it")
	err := g.DialUntilAllowed(t.Context(), address, func(string) error { return reached })
	require.Error(t, err)
	if errors.Is(err, reached) {
		return ""
	}
	return ruleOf(t, err)
}

func TestAProtectedPortIsRefusedAtEveryAddressOfTheMachine(t *testing.T) {
	t.Parallel()
	for _, listener := range []string{"127.0.0.1:8233", "[::1]:8233", "0.0.0.0:8233", "[::]:8233", ":8233", "192.168.77.1:8233", "localhost:8233"} {
		t.Run(listener, func(t *testing.T) {
			t.Parallel()
			g := protect(t, listener)
			resolve(t, g, map[string][]string{
				"localhost":      {"127.0.0.1"},
				"rebinding.test": {"127.0.0.1"},
				"own.test":       {"fd77::1"},
				"0x7f.1":         {"127.0.0.1"},
			})
			for _, host := range []string{
				"127.0.0.1", "127.0.0.2", "::1", "0.0.0.0", "::", "::ffff:127.0.0.1", "::ffff:0.0.0.0", "64:ff9b::7f00:1", "::127.0.0.1",
				"2002:7f00:1::1", "::1%lo", "192.168.77.1", "8.8.4.4", "fd77::1", "::ffff:192.168.77.1", "2002:c0a8:4d01::1",
				"localhost", "LOCALHOST.", "rebinding.test", "own.test", "0x7f.1", "",
			} {
				require.Equal(t, ownPort, ruleAt(t, g, net.JoinHostPort(host, "8233")), host)
				require.Empty(t, ruleAt(t, g, net.JoinHostPort(host, "8234")), "another port of %s", host)
			}
			for _, host := range []string{"10.1.2.3", "8.8.8.8", "fd78::1", "2606:4700::1"} {
				require.Empty(t, ruleAt(t, g, net.JoinHostPort(host, "8233")), host)
			}
		})
	}
}

func TestAProtectedPortIsRefusedWhenAJobIsWritten(t *testing.T) {
	t.Parallel()
	g := protect(t, "127.0.0.1:8233", "temporal.test:7233")
	for _, address := range []string{
		"127.0.0.1:8233", "127.1:8233", "2130706433:8233", "0x7f000001:8233", "017700000001:8233", "[::1]:8233", "[::ffff:7f00:1]:8233",
		"0.0.0.0:8233", "0:8233", "[::]:8233", "localhost:8233", "db.localhost:8233", "192.168.77.1:8233", ":8233", "Temporal.TEST.:7233",
	} {
		require.Equal(t, ownPort, ruleOf(t, g.Check(address)), address)
	}
	for _, address := range []string{"127.0.0.1:8234", "localhost:80", "10.1.2.3:8233", "temporal.test:80", "unknown.test:8233", "8.8.8.8:7233"} {
		require.NoError(t, g.Check(address), address)
	}
}

func TestEveryAddressOfAProtectedNameIsRefused(t *testing.T) {
	t.Parallel()
	g := protect(t, "temporal.test:7233")
	resolve(t, g, map[string][]string{
		"temporal.test": {"10.0.0.1 10.0.0.2 fd12::1"},
		"alias.test":    {"10.0.0.2"},
		"several.test":  {"10.0.0.9 10.0.0.2"},
	})
	for _, host := range []string{"10.0.0.1", "10.0.0.2", "fd12::1", "::ffff:10.0.0.1", "temporal.test", "alias.test"} {
		require.Equal(t, ownPort, ruleAt(t, g, net.JoinHostPort(host, "7233")), host)
	}
	require.Empty(t, ruleAt(t, g, "10.0.0.2:80"))
	require.Empty(t, ruleAt(t, g, "10.0.0.9:7233"))
}

// The name is resolved for each connection, since Temporal may have moved.
func TestAProtectedNameMayChangeItsAddress(t *testing.T) {
	t.Parallel()
	g := protect(t, "temporal.test:7233")
	resolve(t, g, map[string][]string{"temporal.test": {"10.0.0.1", "10.0.0.2"}})
	require.Empty(t, ruleAt(t, g, "10.0.0.2:7233"))
	require.Equal(t, ownPort, ruleAt(t, g, "10.0.0.2:7233"))
}

func TestAProtectedPortIsRefusedWhileItsNameCannotBeResolved(t *testing.T) {
	t.Parallel()
	g := protect(t, "temporal.test:7233")
	resolve(t, g, nil)
	_, err := g.DialContext(t.Context(), "tcp", "127.0.0.1:7233")
	require.EqualError(t, err, "some host, or this port of it, is not for actions, and DNS does not say at the moment which addresses that host has")
	_, refused := errors.AsType[*egress.RefusedError](err)
	require.False(t, refused, "it may be told another time")
}

func TestADeniedPort(t *testing.T) {
	t.Parallel()
	g := parse(t, "any", "10.0.0.0/8", "10.0.0.7:8233 ui.test:8234 [fd12::1]:80")
	resolve(t, g, map[string][]string{"ui.test": {"10.0.0.8"}, "alias.test": {"10.0.0.8"}})
	const advice = "; an operator can take it off"
	require.Equal(t, "the egress deny list has 10.0.0.7:8233"+advice, ruleAt(t, g, "10.0.0.7:8233"))
	require.Equal(t, "the egress deny list has ui.test:8234"+advice, ruleAt(t, g, "ui.test:8234"))
	require.Equal(t, "the egress deny list has ui.test:8234"+advice, ruleAt(t, g, "alias.test:8234"))
	require.Equal(t, "the egress deny list has [fd12::1]:80"+advice, ruleAt(t, g, "[fd12::1]:80"))
	require.Empty(t, ruleAt(t, g, "10.0.0.7:80"))
	require.Empty(t, ruleAt(t, g, "ui.test:80"))
}

func TestTheAddressesOfTheMachineCountAsTheMachine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ host, mode, allow, deny, rule string }{
		{"192.168.77.1", "private", "", "", "addresses of this machine are refused in egress mode private; an operator can allow the address"},
		{"8.8.4.4", "public", "", "", "addresses of this machine are refused in egress mode public; an operator can allow the address"},
		{"fd77::1", "private", "", "", "addresses of this machine"},
		{"::ffff:192.168.77.1", "private", "", "", "addresses of this machine"},
		{"192.168.77.1", "any", "", "", ""},
		{"192.168.77.1", "public", "192.168.77.1", "", ""},
		{"192.168.77.1", "public", "127.0.0.0/8", "", ""},
		{"fd77::1", "public", "::1", "", ""},
		{"fd77::1", "private", "127.0.0.0/8", "", "addresses of this machine"},
		{"own.test", "private", "own.test", "", "addresses of this machine"},
		{"192.168.77.1", "any", "", "127.0.0.0/8", "the egress deny list has 127.0.0.0/8"},
		{"192.168.77.2", "private", "", "", ""},
	} {
		g := parse(t, tt.mode, tt.allow, tt.deny)
		resolve(t, g, map[string][]string{"own.test": {"192.168.77.1"}})
		got := rule(t, g, tt.host)
		if tt.rule == "" {
			require.Empty(t, got, "%+v", tt)
		} else {
			require.Contains(t, got, tt.rule, "%+v", tt)
		}
	}
}

func TestAnAddressOfTheMachineIsNotRefusedForSureIfItIsAllowedHereOrElsewhere(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		mode, allow, host string
		refused           bool
	}{
		{"private", "", "192.168.77.1", false},           // elsewhere
		{"public", "", "192.168.77.1", true},             // neither
		{"public", "127.0.0.0/8", "192.168.77.1", false}, // here
		{"public", "127.0.0.0/8", "192.168.77.2", true},
	} {
		require.Equal(t, tt.refused, parse(t, tt.mode, tt.allow, "").Check(tt.host+":80") != nil, "%+v", tt)
	}
}

// This test uses the real addresses of the machine.
func TestTheAddressesOfThisMachineAreKnown(t *testing.T) {
	t.Parallel()
	found, err := net.InterfaceAddrs()
	require.NoError(t, err)
	g, err := egress.Parse(egress.ModePrivate, nil, nil)
	require.NoError(t, err)
	for _, f := range found {
		a := f.(*net.IPNet).IP
		require.NotEmpty(t, rule(t, g, a.String()), a)
	}
}

func TestARedirectToAProtectedPortFails(t *testing.T) {
	t.Parallel()
	own := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was asked") }))
	defer own.Close()
	s := httptest.NewServer(http.RedirectHandler(own.URL, http.StatusFound))
	defer s.Close()
	transport := &http.Transport{DialContext: protect(t, own.Listener.Addr().String()).DialContext}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, http.NoBody)
	require.NoError(t, err)
	_, err = (&http.Client{Transport: transport}).Do(req)
	require.Equal(t, ownPort, ruleOf(t, err))
}

func TestOnlyAnAddressWithAPortCanBeProtected(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "temporal", "temporal:x", "temporal:70000", "::1:1"} {
		require.ErrorContains(t, new(egress.Guard).Protect(bad), "host:port", bad)
	}
}
