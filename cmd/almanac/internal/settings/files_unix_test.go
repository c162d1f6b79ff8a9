//go:build unix

package settings

import (
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/internal/emulators"
)

// A named pipe blocks who reads it, and /dev/zero never ends.
func TestNoFileThatASettingNamesStopsTheStart(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	cert, key, err := emulators.WriteCertificate(t.TempDir(), "jobs.example.com")
	require.NoError(t, err)
	beside := map[string][]string{ // what a setting needs
		"access":                  {"--token-file", written(t, "tokens.yaml", "")},
		"oidc-client-secret-file": {"--oidc-issuer", "https://issuer.example", "--oidc-audience", "a", "--oidc-client-id", "c"},
		"tls-cert":                {"--tls-key", key},
		"tls-key":                 {"--tls-cert", cert},
		"client-ca":               {"--tls-cert", cert, "--tls-key", key},
		"client-crl":              {"--tls-cert", cert, "--tls-key", key, "--client-ca", cert},
	}
	output := []string{"audit-log"}
	shown := 0
	for _, g := range new(Config).table() {
		for _, s := range g.Settings {
			if s.Value.Kind != "file" || slices.Contains(output, s.Flag) || !slices.Contains(strings.Fields(s.Commands), "dev") {
				continue
			}
			shown++
			for name, want := range map[string]string{pipe: "it is a named pipe; allowed: a regular file", "/dev/zero": "it is a device; allowed: a regular file"} {
				_, err := loaded(t, "dev", nil, append(beside[s.Flag], "--"+s.Flag, name)...)
				require.ErrorContains(t, err, want, s.Flag)
				require.ErrorContains(t, err, "--", s.Flag)
			}
		}
	}
	require.GreaterOrEqual(t, shown, 11)
}
