package egress_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/internal/egress"
)

func parse(t *testing.T, mode, allow, deny string) *egress.Guard {
	t.Helper()
	g, err := egress.Parse(mode, strings.Fields(allow), strings.Fields(deny))
	require.NoError(t, err)
	g.Own("127.0.0.1", "::1", "192.168.77.1", "8.8.4.4", "fd77::1") // independent of the machine that runs the test
	return g
}

// resolve gives a guard a name server of its own.
func resolve(t *testing.T, g *egress.Guard, answers map[string][]string) *zone {
	t.Helper()
	z := &zone{t: t, answers: answers}
	g.Resolve(z.resolver())
	return z
}

// rule returns the rule that forbids the guard to connect to a host; "" if it is allowed.
func rule(t *testing.T, g *egress.Guard, host string) string {
	t.Helper()
	reached := errors.New("the rules allow it")
	var allowed atomic.Bool // two addresses may be tried in parallel
	err := g.DialUntilAllowed(t.Context(), net.JoinHostPort(host, "80"), func(string) error {
		allowed.Store(true)
		return reached
	})
	if allowed.Load() {
		return ""
	}
	require.Error(t, err)
	return ruleOf(t, err)
}

func ruleOf(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	refused, ok := errors.AsType[*egress.RefusedError](err)
	require.True(t, ok, "want a refusal, got: %v", err)
	return refused.Rule
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	const everywhere, inPublic, nowhere = "public private", "public", ""
	for _, tt := range []struct {
		host, kind string
		refused    string // modes
	}{
		{"8.8.8.8", "", nowhere},
		{"172.15.255.255", "", nowhere},
		{"172.32.0.1", "", nowhere},
		{"192.167.255.255", "", nowhere},
		{"100.63.255.255", "", nowhere},
		{"100.128.0.1", "", nowhere},
		{"223.255.255.255", "", nowhere},
		{"2606:4700:4700::1111", "", nowhere},
		{"2a00:1450:4001:801::200e", "", nowhere},

		{"10.0.0.1", "private", inPublic},
		{"10.255.255.255", "private", inPublic},
		{"172.16.0.1", "private", inPublic},
		{"172.31.255.255", "private", inPublic},
		{"192.168.1.1", "private", inPublic},
		{"100.64.0.1", "private", inPublic},
		{"100.127.255.254", "private", inPublic},
		{"fc00::1", "private", inPublic},
		{"fd12:3456:789a::1", "private", inPublic},

		{"127.0.0.1", "loopback", everywhere},
		{"127.255.255.254", "loopback", everywhere},
		{"::1", "loopback", everywhere},
		{"169.254.1.1", "link-local", everywhere},
		{"fe80::1", "link-local", everywhere},
		{"febf::1", "link-local", everywhere},
		{"169.254.169.254", "metadata services", everywhere},
		{"168.63.129.16", "metadata services", everywhere},
		{"100.100.100.200", "metadata services", everywhere},
		{"192.0.0.192", "metadata services", everywhere},
		{"fd00:ec2::254", "metadata services", everywhere},
		{"fd00:ec2::23", "metadata services", everywhere},
		{"fd20:ce::254", "metadata services", everywhere},
		{"fd00:c1::a9fe:a9fe", "metadata services", everywhere},
		{"fd00:42::42", "metadata services", everywhere},
		{"fd00:a9fe:a9fe::1", "metadata services", everywhere},
		{"fd00:100::100:200", "metadata services", everywhere},
		{"fd00:42::43", "private", inPublic},
		{"0.0.0.0", "unspecified", everywhere},
		{"::", "unspecified", everywhere},
		{"", "unspecified", everywhere},
		{"224.0.0.1", "multicast", everywhere},
		{"239.255.255.250", "multicast", everywhere},
		{"ff02::1", "multicast", everywhere},
		{"ff0e::1", "multicast", everywhere},
		{"255.255.255.255", "broadcast", everywhere},

		{"0.1.2.3", "special-purpose", everywhere},
		{"192.0.0.1", "special-purpose", everywhere},
		{"192.0.2.1", "special-purpose", everywhere},
		{"192.88.99.1", "special-purpose", everywhere},
		{"198.18.0.1", "special-purpose", everywhere},
		{"198.19.255.255", "special-purpose", everywhere},
		{"198.51.100.1", "special-purpose", everywhere},
		{"203.0.113.1", "special-purpose", everywhere},
		{"240.0.0.1", "special-purpose", everywhere},
		{"100::1", "special-purpose", everywhere},
		{"2001:db8::1", "special-purpose", everywhere},
		{"2001:0:4136:e378:8000:63bf:3fff:fdd2", "special-purpose", everywhere}, // Teredo
		{"3fff::1", "special-purpose", everywhere},
		{"5f00::1", "special-purpose", everywhere},
		{"fec0::1", "special-purpose", everywhere},
		{"64:ff9b:1::a00:1", "special-purpose", everywhere}, // NAT64 prefix for use in one network

		// IPv4 addresses in IPv6 addresses
		{"::ffff:8.8.8.8", "", nowhere},
		{"::ffff:127.0.0.1", "loopback", everywhere},
		{"::ffff:7f00:1", "loopback", everywhere},
		{"::ffff:169.254.169.254", "metadata services", everywhere},
		{"::ffff:10.0.0.1", "private", inPublic},
		{"64:ff9b::8.8.8.8", "", nowhere},
		{"64:ff9b::127.0.0.1", "loopback", everywhere},
		{"64:ff9b::a9fe:a9fe", "metadata services", everywhere},
		{"64:ff9b::10.0.0.1", "private", inPublic},
		{"::127.0.0.1", "special-purpose", everywhere},
		{"::8.8.8.8", "special-purpose", everywhere},
		{"2002:7f00:1::1", "special-purpose", everywhere},
		{"2002:808:808::1", "special-purpose", everywhere},

		// Zones
		{"fe80::1%lo", "link-local", everywhere},
		{"::1%lo", "loopback", everywhere},
		{"fd12::1%1", "private", inPublic},
		{"fd00:ec2::254%1", "metadata services", everywhere},
		{"::ffff:127.0.0.1%lo", "loopback", everywhere},
	} {
		t.Run(tt.host, func(t *testing.T) {
			t.Parallel()
			for _, mode := range []string{"public", "private", "any"} {
				g := parse(t, mode, "", "")
				for when, rule := range map[string]string{
					"connecting": rule(t, g, tt.host),
					"checking":   ruleOf(t, g.Check(net.JoinHostPort(tt.host, "80"))),
				} {
					if strings.Contains(tt.refused, mode) {
						require.Contains(t, rule, tt.kind+" ", "%s in mode %s", when, mode)
						require.Contains(t, rule, " are refused in egress mode "+mode+"; an operator can ", when)
					} else {
						require.Empty(t, rule, "%s in mode %s", when, mode)
					}
				}
			}
		})
	}
}

func TestZeroGuardIsPublic(t *testing.T) {
	t.Parallel()
	var g egress.Guard
	require.Empty(t, rule(t, &g, "8.8.8.8"))
	require.Equal(t, "private addresses are refused in egress mode public; an operator can choose mode private, or allow the name or the address",
		rule(t, &g, "10.0.0.1"))
}

// Resolvers that follow the C library take these for addresses. Others query DNS, where a search list or a
// wildcard may match.
func TestOtherFormsOfAnAddressAreRefused(t *testing.T) {
	t.Parallel()
	private := parse(t, "private", "", "")
	for _, tt := range []struct{ host, kind string }{
		{"0x7f.1", "loopback"},
		{"0X7F.1", "loopback"},
		{"127.1", "loopback"},
		{"127.0.1", "loopback"},
		{"2130706433", "loopback"},
		{"0x7f000001", "loopback"},
		{"017700000001", "loopback"},
		{"0177.0.0.1", "loopback"},
		{"127.000.000.001", "loopback"},
		{"127.0.0.1.", "loopback"},
		{"127.65535", "loopback"},
		{"１２７.０.０.１", "loopback"},
		{"127。0。0。1", "loopback"},
		{"0", "unspecified"},
		{"0x0", "unspecified"},
		{"00", "unspecified"},
		{"2852039166", "metadata services"},
		{"0xa9fea9fe", "metadata services"},
		{"0251.0376.0251.0376", "metadata services"},
		{"169.254.43518", "metadata services"},
		{"::1", "loopback"},
		{"::ffff:7f00:1", "loopback"},
		{"localhost", "loopback"},
		{"LocalHost.", "loopback"},
		{"db.localhost", "loopback"},
		{"ⓛocalhost", "loopback"},

		{"8.8.8.8.", ""},
		{"0x08.8.8.8", ""},
		{"010.8.8.8", ""}, // 8.8.8.8
		{"134744072", ""},
		{"10.1", ""},
		{"4294967296", ""},  // too large for an address, so it is a name
		{"127.0.0.256", ""}, // also names
		{"127.0.0.0.1", ""},
		{"127..1", ""},
		{"0x", ""},
		{"08.0.0.1", ""},
		{"1_0.0.0.1", ""},
		{"www.example.com", ""},
		{"notlocalhost", ""},
	} {
		t.Run(tt.host, func(t *testing.T) {
			t.Parallel()
			rule := ruleOf(t, private.Check(net.JoinHostPort(tt.host, "80")))
			if tt.kind == "" {
				require.Empty(t, rule)
				return
			}
			require.Contains(t, rule, tt.kind)
			require.NoError(t, parse(t, "any", "", "").Check(net.JoinHostPort(tt.host, "80")))
		})
	}
}

func TestLocalhostIsRefusedOnlyIfEachOfItsAddressesIs(t *testing.T) {
	t.Parallel()
	require.Error(t, parse(t, "public", "", "").Check("localhost:80"))
	require.Error(t, parse(t, "public", "127.0.0.2", "").Check("localhost:80"))
	require.NoError(t, parse(t, "public", "127.0.0.0/8", "").Check("localhost:80"))
	require.NoError(t, parse(t, "public", "::1", "").Check("localhost:80"))
	require.Error(t, parse(t, "any", "", "localhost").Check("localhost:80"))
}

func TestNames(t *testing.T) {
	t.Parallel()
	names := map[string][]string{
		"public.test":         {"8.8.8.8"},
		"public6.test":        {"2606:4700:4700::1111"},
		"private.test":        {"10.1.2.3"},
		"db.private.test":     {"10.1.2.3"},
		"unique.test":         {"fd12::1"},
		"loopback.test":       {"127.0.0.1"},
		"loopback6.test":      {"::1"},
		"metadata.test":       {"169.254.169.254"},
		"mapped.test":         {"::ffff:127.0.0.1"},
		"nat64.test":          {"64:ff9b::127.0.0.1"},
		"linklocal.test":      {"fe80::1"},
		"several.test":        {"127.0.0.1 10.1.2.3 ::1 169.254.169.254"},
		"mixed.test":          {"127.0.0.1 8.8.8.8 ::1"},
		"xn--mnchen-3ya.test": {"10.1.2.3"},
		"0x7f.1":              {"127.0.0.1"},
	}
	for _, tt := range []struct {
		name, host        string
		mode, allow, deny string
		rule              string // a substring; "": the connection is allowed
	}{
		{"public address", "public.test", "public", "", "", ""},
		{"public IPv6 address", "public6.test", "public", "", "", ""},
		{"private address", "private.test", "public", "", "", "private addresses"},
		{"private address in mode private", "private.test", "private", "", "", ""},
		{"unique local address", "unique.test", "public", "", "", "private addresses"},
		{"unique local address in mode private", "unique.test", "private", "", "", ""},
		{"loopback address", "loopback.test", "private", "", "", "loopback addresses"},
		{"loopback IPv6 address", "loopback6.test", "private", "", "", "loopback addresses"},
		{"loopback address in mode any", "loopback.test", "any", "", "", ""},
		{"metadata service", "metadata.test", "private", "", "", "metadata services"},
		{"IPv4-mapped address", "mapped.test", "private", "", "", "loopback addresses"},
		{"NAT64 address", "nat64.test", "private", "", "", "loopback addresses"},
		{"link-local address", "linklocal.test", "private", "", "", "link-local addresses"},
		{"several refused addresses", "several.test", "public", "", "", "are refused in egress mode public"},
		{"one address of several is allowed", "mixed.test", "public", "", "", ""},
		{"name like an address", "0x7f.1", "public", "", "", "loopback addresses"},

		{"allowed network", "private.test", "public", "10.0.0.0/8", "", ""},
		{"other allowed network", "private.test", "public", "10.2.0.0/16", "", "private addresses"},
		{"allowed address", "private.test", "public", "10.1.2.3", "", ""},
		{"allowed loopback network", "loopback.test", "public", "127.0.0.0/8", "", ""},
		{"allowed network behind an IPv4-mapped address", "mapped.test", "public", "127.0.0.0/8", "", ""},
		{"allowed metadata service", "metadata.test", "public", "169.254.169.254", "", ""},
		{"allowed name", "private.test", "public", "private.test", "", ""},
		{"allowed name in other words", "Private.Test.", "public", "PRIVATE.test", "", ""},
		{"allowed names below", "db.private.test", "public", "*.private.test", "", ""},
		{"names below are not the name itself", "private.test", "public", "*.private.test", "", "private addresses"},
		{"names below are not names that end alike", "private.test", "public", "*.ivate.test", "", "private addresses"},
		{"allowed name of a loopback address", "loopback.test", "public", "loopback.test", "", "loopback addresses"},
		{"allowed name of a metadata service", "metadata.test", "private", "metadata.test", "", "metadata services"},
		{"allowed name and network", "loopback.test", "public", "loopback.test 127.0.0.1", "", ""},
		{"allowed name beyond ASCII", "xn--mnchen-3ya.test", "public", "*.example MÜNCHEN.test", "", ""},

		{"denied address", "public.test", "any", "", "8.8.8.8", "the egress deny list has 8.8.8.8;"},
		{"denied network", "public.test", "public", "", "8.0.0.0/8", "the egress deny list has 8.0.0.0/8;"},
		{"denied IPv6 network", "public6.test", "any", "", "2606:4700::/32", "the egress deny list has 2606:4700::/32;"},
		{"denied network wins over an allowed one", "private.test", "any", "10.1.2.3", "10.0.0.0/8", "the egress deny list has 10.0.0.0/8;"},
		{"denied network wins over an allowed name", "private.test", "public", "private.test", "10.0.0.0/8", "the egress deny list"},
		{"denied network behind an IPv4-mapped address", "mapped.test", "any", "", "127.0.0.0/8", "the egress deny list"},
		{"denied network behind a NAT64 address", "nat64.test", "any", "", "127.0.0.0/8", "the egress deny list"},
		{"denied network behind a 6to4 address", "2002:7f00:1::1", "any", "", "127.0.0.0/8", "the egress deny list"},
		{"denied network behind an IPv4-compatible address", "::127.0.0.1", "any", "", "127.0.0.0/8", "the egress deny list"},
		{"denied network and no host", "", "any", "", "127.0.0.0/8", "the egress deny list"},
		{"denied network and the unspecified address", "0.0.0.0", "any", "", "127.0.0.0/8", "the egress deny list"},
		{"denied addresses and the unspecified IPv6 address", "::", "any", "", "127.0.0.1 ::1", "the egress deny list"},
		{"denied network and an IPv4-mapped address with a zone", "::ffff:127.0.0.1%lo", "any", "", "127.0.0.0/8", "the egress deny list"},
		{"denied name", "public.test", "any", "", "public.test", "the egress deny list has public.test;"},
		{"denied name in other words", "PUBLIC.test.", "any", "", "Public.Test.", "the egress deny list has public.test;"},
		{"denied names below", "db.private.test", "any", "", "*.test", "the egress deny list has *.test;"},
		{"denied name wins over an allowed one", "private.test", "any", "private.test", "*.test", "the egress deny list has *.test;"},
		{"denied name beyond ASCII", "MÜNCHEN.test", "any", "", "münchen.test", "the egress deny list has xn--mnchen-3ya.test;"},
		{"denied names below one beyond ASCII", "db.xn--mnchen-3ya.test", "any", "", "*.münchen.test", "the egress deny list has *.xn--mnchen-3ya.test;"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := parse(t, tt.mode, tt.allow, tt.deny)
			resolve(t, g, names)
			got := rule(t, g, tt.host)
			if tt.rule == "" {
				require.Empty(t, got)
			} else {
				require.Contains(t, got, tt.rule)
			}
		})
	}
}

func TestDeniedNameIsNotLookedUp(t *testing.T) {
	t.Parallel()
	g := parse(t, "any", "", "*.test")
	z := resolve(t, g, map[string][]string{"secret.test": {"127.0.0.1"}})
	_, err := g.DialContext(t.Context(), "tcp", "secret.test:80")
	require.EqualError(t, err, "Almanac does not connect to 'secret.test': the egress deny list has *.test; an operator can take it off")
	require.EqualError(t, g.Check("secret.test:80"), err.Error())
	require.Zero(t, z.questions())
}

// listen returns the port of a listener on 127.0.0.1, and a function that reports whether there was a
// connection since its last call. The kernel completes a connection before the client sees it, and hands over
// connections in their order. So the function makes one itself, and whatever comes before that is a visit.
func listen(t *testing.T) (port string, visited func() bool) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	_, port, err = net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	return port, func() bool {
		own, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		defer own.Close()
		for visited := false; ; visited = true {
			c, err := l.Accept()
			require.NoError(t, err)
			c.Close()
			if c.RemoteAddr().String() == own.LocalAddr().String() {
				return visited
			}
		}
	}
}

func TestARefusedAddressIsNeverConnectedTo(t *testing.T) {
	t.Parallel()
	port, visited := listen(t)
	g := parse(t, "public", "", "")
	resolve(t, g, map[string][]string{"loopback.test": {"127.0.0.1"}, "mapped.test": {"::ffff:127.0.0.1"}})
	for _, host := range []string{"127.0.0.1", "::ffff:127.0.0.1", "0.0.0.0", "", "loopback.test", "mapped.test"} {
		_, err := g.DialContext(t.Context(), "tcp", net.JoinHostPort(host, port))
		refused, ok := errors.AsType[*egress.RefusedError](err)
		require.True(t, ok, "%q: %v", host, err)
		require.Equal(t, host, refused.Target)
		require.False(t, visited(), host)
	}

	open := parse(t, "public", "127.0.0.1", "")
	c, err := open.DialContext(t.Context(), "tcp", net.JoinHostPort("127.0.0.1", port))
	require.NoError(t, err)
	c.Close()
	require.True(t, visited(), "the listener would have seen it")
}

func TestRebinding(t *testing.T) {
	t.Parallel()
	port, visited := listen(t)
	g := parse(t, "public", "", "")
	resolve(t, g, map[string][]string{"rebinding.test": {"8.8.8.8", "127.0.0.1"}})
	require.NoError(t, g.Check("rebinding.test:80"))
	require.Empty(t, rule(t, g, "rebinding.test"))
	_, err := g.DialContext(t.Context(), "tcp", "rebinding.test:"+port)
	require.Contains(t, ruleOf(t, err), "loopback addresses")
	require.False(t, visited())
}

func TestRefusedAddressesOfANameAreLeftOut(t *testing.T) {
	t.Parallel()
	port, visited := listen(t)
	g := parse(t, "public", "127.0.0.1", "")
	resolve(t, g, map[string][]string{
		"several.test": {"127.0.0.2 127.0.0.1"},
		"down.test":    {"127.0.0.2 127.0.0.1"},
	})
	c, err := g.DialContext(t.Context(), "tcp", "several.test:"+port)
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:"+port, c.RemoteAddr().String())
	c.Close()
	require.True(t, visited())

	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, closed, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	require.NoError(t, l.Close())
	_, err = g.DialContext(t.Context(), "tcp", "down.test:"+closed)
	require.EqualError(t, err, "of the host's addresses, none that the egress rules allow accepted a connection")
	_, refused := errors.AsType[*egress.RefusedError](err)
	require.False(t, refused, "it may come up again")
}

func TestOnlyTCP(t *testing.T) {
	t.Parallel()
	g := parse(t, "any", "", "")
	for _, network := range []string{"udp", "unix", "ip", ""} {
		_, err := g.DialContext(t.Context(), network, "127.0.0.1:80")
		require.EqualError(t, err, "Almanac does not connect to '127.0.0.1': only TCP connections are made")
	}
}

func TestARefusalDoesNotShowTheAddressesOfAName(t *testing.T) {
	t.Parallel()
	g := parse(t, "public", "", "")
	resolve(t, g, map[string][]string{"db.test": {"10.9.8.7"}})
	_, err := g.DialContext(t.Context(), "tcp", "db.test:80")
	refused, ok := errors.AsType[*egress.RefusedError](err)
	require.True(t, ok)
	require.Equal(t, "Almanac does not connect to 'db.test': private addresses are refused in egress mode public; "+
		"an operator can choose mode private, or allow the name or the address", refused.Error())
}

// A client follows redirects through the same guard.
func TestARedirectToARefusedAddressFails(t *testing.T) {
	t.Parallel()
	port, visited := listen(t)
	s := httptest.NewServer(http.RedirectHandler("http://127.0.0.2:"+port, http.StatusFound))
	defer s.Close()
	transport := &http.Transport{DialContext: parse(t, "public", "127.0.0.1", "").DialContext}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, http.NoBody)
	require.NoError(t, err)
	_, err = (&http.Client{Transport: transport}).Do(req)
	require.Contains(t, ruleOf(t, err), "loopback addresses")
	require.False(t, visited())
}

func TestParseListsEveryMistake(t *testing.T) {
	t.Parallel()
	_, err := egress.Parse("Open",
		[]string{"10.1.2.3/8", "fe80::1%eth0", "localhost", "ok.test", "", "ok.test:80", "10.0.0.1:80", "localhost:80", "*.test:80", "10.0.0.0/8:80"},
		[]string{"::ffff:10.0.0.0/104", "64:ff9b::/96", "*", "a*.test", "0x7f.1", "10.0.0.0/33", "http://x.test",
			"*.test:80", "10.0.0.0/8:80", ":80", "10.0.0.1:0", "ok", "ok:80", "10.0.0.1:80", "[fd00::1]:80"})
	require.EqualError(t, err, strings.Join([]string{
		`the egress mode is "Open"; allowed: public, private, any`,
		`the egress allow list has "10.1.2.3/8"; allowed: the network 10.0.0.0/8 or the address 10.1.2.3`,
		`the egress allow list has "fe80::1%eth0"; allowed: an address without a zone`,
		`the egress allow list has "localhost"; allowed: 127.0.0.1 and ::1: a name does not open loopback addresses`,
		`the egress allow list has ""; allowed: ` + denied,
		`the egress allow list has "localhost:80"; allowed: 127.0.0.1 and ::1: a name does not open loopback addresses`,
		`the egress allow list has "*.test:80"; allowed: ` + denied,
		`the egress allow list has "10.0.0.0/8:80"; allowed: ` + denied,
		`the egress deny list has "::ffff:10.0.0.0/104"; allowed: ` + embedded,
		`the egress deny list has "64:ff9b::/96"; allowed: ` + embedded,
		`the egress deny list has "*"; allowed: ` + denied,
		`the egress deny list has "a*.test"; allowed: ` + denied,
		`the egress deny list has "0x7f.1"; allowed: ` + denied,
		`the egress deny list has "10.0.0.0/33"; allowed: ` + denied,
		`the egress deny list has "http://x.test"; allowed: ` + denied,
		`the egress deny list has "*.test:80"; allowed: ` + denied,
		`the egress deny list has "10.0.0.0/8:80"; allowed: ` + denied,
		`the egress deny list has ":80"; allowed: ` + denied,
		`the egress deny list has "10.0.0.1:0"; allowed: ` + denied,
	}, "\n"))
}

const (
	entry    = "an address such as 10.1.2.3, a network such as 10.0.0.0/8, or a name such as www.example.com or *.example.com"
	denied   = entry + "; with a port, such as 10.1.2.3:8233 or www.example.com:8233, where that alone is meant"
	embedded = "the IPv4 address or network itself: IPv4-mapped and NAT64 addresses count as IPv4 addresses"
)

func TestConnectingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	_, err := parse(t, "any", "", "").DialContext(ctx, "tcp", "127.0.0.1:80")
	require.ErrorIs(t, err, context.Canceled)
}
