package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/internal/egress"
)

func TestAServerIsReachedFromItsOwnMachine(t *testing.T) {
	t.Parallel()
	for listen, want := range map[string]string{
		"127.0.0.1:8080": "127.0.0.1:8080",
		"0.0.0.0:80":     "127.0.0.1:80",
		":80":            "127.0.0.1:80",
		"[::]:80":        "[::1]:80",
		"jobs:8080":      "jobs:8080",
	} {
		got, err := localAddress(listen)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := localAddress("jobs")
	require.Error(t, err)
}

func TestThePortsOfTemporalAreFoundInItsAddress(t *testing.T) {
	t.Parallel()
	for target, want := range map[string][]string{
		"temporal:7233":                    {"temporal:7233"},
		"127.0.0.1:7233":                   {"127.0.0.1:7233"},
		"[::1]:7233":                       {"[::1]:7233"},
		"temporal":                         {"temporal:443"},
		"::1":                              {"[::1]:443"},
		"dns:///temporal:7233":             {"temporal:7233"},
		"dns://10.0.0.53/temporal:7233":    {"temporal:7233"},
		"dns:temporal:7233":                {"temporal:7233"},
		"passthrough:///temporal:7233":     {"temporal:7233"},
		"ipv4:10.0.0.1:7233,10.0.0.2:7234": {"10.0.0.1:7233", "10.0.0.2:7234"},
		"ipv6:[fd00::1]:7233,[fd00::2]":    {"[fd00::1]:7233", "[fd00::2]:443"},
		"unix:///run/temporal.sock":        nil,
		"almanac.a1b2c.tmprl.cloud:7233":   {"almanac.a1b2c.tmprl.cloud:7233"},
	} {
		require.Equal(t, want, temporalAddresses(target), target)
		for _, p := range want {
			require.NoError(t, new(egress.Guard).Protect(p), p)
		}
	}
}
