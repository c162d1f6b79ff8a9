package egress_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/internal/egress"
)

const (
	ownHost    = "no action may reach this host: Almanac or Temporal runs there; an operator can except a port of another service, with --egress-allow HOST:PORT"
	likelyPort = "no action may reach this port of this machine: Almanac or a Web UI of Temporal usually listens there; an operator can except it, with --egress-allow HOST:PORT"
)

// protectHost returns a guard with rules that allow all else.
func protectHost(t *testing.T, allow string, hosts ...string) *egress.Guard {
	t.Helper()
	g := parse(t, "any", "0.0.0.0/0 ::/0 "+allow, "")
	for _, h := range hosts {
		require.NoError(t, g.ProtectHost(h))
	}
	return g
}

func TestTheHostOfTemporalIsRefusedOnEveryPortByNameAndAddress(t *testing.T) {
	t.Parallel()
	g := protectHost(t, "", "temporal.test", "10.0.0.3", "fd12::3")
	resolve(t, g, map[string][]string{
		"temporal.test": {"10.0.0.1 10.0.0.2 fd12::1"}, "alias.test": {"10.0.0.2"}, "several.test": {"10.0.0.9 10.0.0.2"}, "other.test": {"10.0.0.9"},
	})
	for _, host := range []string{
		"temporal.test", "TEMPORAL.test.", "alias.test", "10.0.0.1", "10.0.0.2", "fd12::1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::1", "10.0.0.3", "fd12::3",
	} {
		for _, port := range []string{"80", "443", "8080"} {
			require.Equal(t, ownHost, ruleAt(t, g, net.JoinHostPort(host, port)), "%s:%s", host, port)
		}
		for _, port := range []string{"7233", "7243"} {
			require.NotEmpty(t, ruleAt(t, g, net.JoinHostPort(host, port)), "%s:%s", host, port)
		}
	}
	require.Empty(t, ruleAt(t, g, "several.test:80"), "one of its addresses is another host's")
	for _, host := range []string{"other.test", "10.0.0.4", "127.0.0.1", "fd12::4"} {
		require.Empty(t, ruleAt(t, g, net.JoinHostPort(host, "80")), host)
	}
	for _, at := range []string{"temporal.test:80", "Temporal.TEST.:443", "10.0.0.3:80", "167772163:80", "[::ffff:10.0.0.3]:80", "[fd12::3]:8080"} {
		require.Equal(t, ownHost, ruleOf(t, g.Check(at)), at)
	}
	require.NoError(t, g.Check("10.0.0.4:80"))
}

func TestAPortOfAnotherServiceOnTheHostOfTemporalMayBeExcepted(t *testing.T) {
	t.Parallel()
	g := protectHost(t, "temporal.test:9000 10.0.0.1:9001 [fd12::1]:9002", "temporal.test")
	resolve(t, g, map[string][]string{"temporal.test": {"10.0.0.1 fd12::1"}, "alias.test": {"10.0.0.1"}})
	for _, at := range []string{"temporal.test:9000", "10.0.0.1:9001", "alias.test:9001", "temporal.test:9001", "[fd12::1]:9002"} {
		require.Empty(t, ruleAt(t, g, at), at)
		require.NoError(t, g.Check(at), at)
	}
	for _, at := range []string{"10.0.0.1:9000", "alias.test:9000", "temporal.test:80", "[fd12::1]:9001", "temporal.test:7243"} {
		require.NotEmpty(t, ruleAt(t, g, at), at)
	}
	require.NoError(t, g.CheckExceptions())
	for _, bad := range []string{"temporal.test:7243", "temporal.test:7233", "127.0.0.1:7243", "[::1]:7233"} {
		require.ErrorContains(t, protectHost(t, bad, "127.0.0.1", "temporal.test").CheckExceptions(), bad+`", where Almanac or Temporal listens: no setting allows that port`)
	}
}

func TestAPortIsAllowedWithoutItsHost(t *testing.T) {
	t.Parallel()
	g := parse(t, "public", "10.0.0.1:9000 name.test:9000 127.0.0.1:9000", "")
	resolve(t, g, map[string][]string{"name.test": {"10.0.0.2"}, "rebinding.test": {"127.0.0.1"}})
	for _, at := range []string{"10.0.0.1:9000", "name.test:9000", "127.0.0.1:9000", "rebinding.test:9000"} {
		require.Empty(t, ruleAt(t, g, at), at)
	}
	for _, at := range []string{"10.0.0.1:9001", "name.test:9001", "127.0.0.1:9001", "10.0.0.2:9000"} {
		require.NotEmpty(t, ruleAt(t, g, at), at)
	}
}

func TestOnThisMachineThePortsOfTemporalAreRefusedAndNoOthers(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"127.0.0.1", "localhost", "::1", "0.0.0.0", "192.168.77.1"} {
		g := protectHost(t, "", host)
		for _, at := range []string{"127.0.0.1", "::1", "192.168.77.1"} {
			for _, port := range []string{"7233", "7234", "7243", "7246", "6933"} {
				if host == "localhost" {
					resolve(t, g, map[string][]string{"localhost": {"127.0.0.1"}})
				}
				require.Equal(t, ownPort, ruleAt(t, g, net.JoinHostPort(at, port)), "%s at %s", port, at)
			}
			require.Empty(t, ruleAt(t, g, net.JoinHostPort(at, "9000")), "%s: %s", host, at)
		}
	}
}

func TestPortsOnWhichAlmanacUsuallyListensAreRefusedUnlessExcepted(t *testing.T) {
	t.Parallel()
	g := protectHost(t, "127.0.0.1:8081")
	g.ProtectLikely(8080, 8081)
	for _, at := range []string{"127.0.0.1:8080", "[::1]:8080", "192.168.77.1:8080"} {
		require.Equal(t, likelyPort, ruleAt(t, g, at), at)
		require.Equal(t, likelyPort, ruleOf(t, g.Check(at)), at)
	}
	for _, at := range []string{"127.0.0.1:8081", "192.168.77.1:8081", "127.0.0.1:8082", "10.0.0.1:8080"} {
		require.Empty(t, ruleAt(t, g, at), at)
		require.NoError(t, g.Check(at), at)
	}
}

func TestAProtectedHostThatDoesNotExistDoesNoHarm(t *testing.T) {
	t.Parallel()
	g := protectHost(t, "", "nowhere.test")
	resolve(t, g, nil)
	for _, port := range []string{"80", "7233", "7243"} {
		require.Empty(t, ruleAt(t, g, "10.0.0.1:"+port))
	}
	require.Equal(t, ownHost, ruleAt(t, g, "nowhere.test:80"))
}

func TestTheAddressesOfAProtectedHostOutliveDNS(t *testing.T) {
	t.Parallel()
	var passed atomic.Int64
	g := protectHost(t, "", "temporal.test")
	g.Clock(func() time.Time { return time.Unix(1e9, passed.Load()) })
	pass := func(d time.Duration) { passed.Add(int64(d)) }
	names := resolve(t, g, map[string][]string{"temporal.test": {"10.0.0.1", "10.0.0.2"}})
	broken := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("DNS is down") }}

	empty := (&zone{t: t}).resolver()
	g.Resolve(broken)
	_, err := g.DialContext(t.Context(), "tcp", "10.0.0.9:80")
	require.ErrorContains(t, err, "DNS does not say at the moment which addresses that host has", "it is not known yet")
	pass(time.Minute)
	g.Resolve(names.resolver())
	require.Equal(t, ownHost, ruleAt(t, g, "10.0.0.1:80"))
	asked := names.questions()
	require.Empty(t, ruleAt(t, g, "10.0.0.9:80"))
	require.Equal(t, asked, names.questions(), "it is not asked for each connection")

	pass(time.Minute)
	require.Equal(t, ownHost, ruleAt(t, g, "10.0.0.2:80"), "the host has moved")
	require.Equal(t, ownHost, ruleAt(t, g, "10.0.0.1:80"), "an answer may be part of a longer list")
	g.Resolve(empty)
	pass(time.Minute)
	require.Equal(t, ownHost, ruleAt(t, g, "10.0.0.2:7243"), "the name is gone for a moment, since nothing behind it is ready")
	g.Resolve(broken)
	pass(time.Hour)
	require.Equal(t, ownHost, ruleAt(t, g, "10.0.0.2:80"), "DNS is down, and Temporal may be where it was")
	require.Empty(t, ruleAt(t, g, "10.0.0.9:80"))
	g.Resolve(names.resolver())
	pass(time.Hour)
	require.Equal(t, ownHost, ruleAt(t, g, "10.0.0.2:80"))
	require.Empty(t, ruleAt(t, g, "10.0.0.1:80"), "it has not been the host's for ten minutes")
}

func TestOnlyAHostCanBeProtected(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "*.test", "10.0.0.0/8", "temporal:7233", "a b", "http://temporal.test"} {
		require.ErrorContains(t, new(egress.Guard).ProtectHost(bad), "is no host; allowed: an address such as 10.1.2.3, or a name such as temporal.internal", bad)
	}
	for _, good := range []string{"temporal", "temporal.test", "10.0.0.1", "fd12::1", "[fd12::1]", "fe80::1%eth0", "::ffff:10.0.0.1"} {
		require.NoError(t, new(egress.Guard).ProtectHost(good))
	}
}
