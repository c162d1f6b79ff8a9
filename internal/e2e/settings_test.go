package e2e_test

import (
	"cmp"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/internal/workflowtest"
)

// settingCases show that settings have their effect in a running program. Each case has the settings that it shows.
var settingCases = []struct {
	settings string
	run      func(t *testing.T)
}{
	{"listen (dev, server, api) temporal-listen ui-listen data retention allowed-hosts plans allow-secret-retargeting metrics-collection log-format max-per-host", aNodeHasItsSettings},
	{"smtp-server smtp-from smtp-tls smtp-username smtp-password-file ca-file", aMailHasWhatTheSettingsSay},
	{"ALMANAC_SMTP_PASSWORD show-next-run max-hold max-cached-workflows", aPasswordMayBeInAVariable},
	{"egress egress-allow (dev, server) egress-deny egress-protect oauth-authority storage-queue-endpoint service-bus-host service-bus-endpoint trace-propagation", aNodeReachesWhatItMay},
	{"encryption-keys-file ALMANAC_ENCRYPTION_KEYS accept-clear-payloads codec-listen ALMANAC_CODEC_TOKEN min-free-disk synchronous", aNodeEncrypts},
	{"token-file access hide-responses audit-log trusted-proxies session-key-file ALMANAC_SESSION_KEY session-lifetime log-level", anAPIAsksWhoCalls},
	{"oidc-issuer oidc-audience oidc-client-id oidc-client-secret-file ALMANAC_OIDC_CLIENT_SECRET oidc-login-issuer oidc-scopes oidc-cli-client-id oidc-cli-scopes public-url", anAPIAsksAnIssuer},
	{"tls-cert (dev, server, api, worker, codec) tls-key client-ca unauthenticated max-rate-per-caller max-in-flight-per-caller egress-allow (api, worker) mail-domains", anAPIHasAFrontDoor},
	{"console", anAPIHasAConsole},
	{"client-crl", anAPIRefusesRevokedCertificates},
	{"listen (healthcheck) tls-cert (healthcheck) live", theHealthCheckAsksWhatItIsTold},
	{"listen (worker) poll-timeout", aWorkerHasItsSettings},
	{"journal", aWorkerFindsWhatAKilledOneKept},
	{"listen (codec) origin", aCodecServerHasItsSettings},
	{"name role scope expires", aTokenHasItsSettings},
	{"now take tz output batch zoneinfo compare-zoneinfo calendar", aPreviewHasItsSettings},
}

// settingRow matches a setting in docs/configuration.md: its flag, its variable and its commands.
var settingRow = regexp.MustCompile("(?m)^\\| (?:`--([a-z-]+)`[^|]*|none) \\| (?:`([A-Z_]+)`|none) \\|.*\\| ([a-z, ]+) \\|$")

// documentedSettings returns all settings, by their flag or else their variable. Those of one name differ by their
// commands.
func documentedSettings(t *testing.T) (all []string) {
	t.Helper()
	text, err := os.ReadFile(repository + "/docs/configuration.md")
	require.NoError(t, err)
	rows := settingRow.FindAllStringSubmatch(string(text), -1)
	count := map[string]int{}
	for _, row := range rows {
		count[cmp.Or(row[1], row[2])]++
	}
	for _, row := range rows {
		name := cmp.Or(row[1], row[2])
		if count[name] > 1 {
			name += " (" + row[3] + ")"
		}
		all = append(all, name)
	}
	return all
}

// A setting that is in no case, and a case for a setting that does not exist, fail.
func TestEverySettingHasItsEffectInARunningProgram(t *testing.T) {
	t.Parallel()
	var shown []string
	var all group
	for _, c := range settingCases {
		names := regexp.MustCompile(`\S+( \([^)]+\))?`).FindAllString(c.settings, -1)
		shown = append(shown, names...)
		all.run(t, names[0], c.run)
	}
	all.Wait()
	want := documentedSettings(t)
	require.Greater(t, len(want), 60)
	slices.Sort(shown)
	slices.Sort(want)
	require.Equal(t, want, shown, "settings of docs/configuration.md, and those that a case shows")
}

// runs starts a program, and returns it with what a pattern finds in its output once it does.
func runs(t *testing.T, pattern string, variables []string, args ...string) (*half, []string) {
	t.Helper()
	h := &half{process: process{Cmd: exec.Command(program(t), args...)}}
	h.Env = append(os.Environ(), variables...)
	h.Stdout, h.Stderr = &h.log, &h.log
	require.NoError(t, h.Start())
	t.Cleanup(func() { h.kill(t) })
	var found []string
	eventually(t, pattern, func() bool {
		require.NotRegexp(t, `(?m)^(almanac|panic): `, h.log.String(), "it has ended")
		found = regexp.MustCompile(pattern).FindStringSubmatch(h.log.String())
		return found != nil
	})
	return h, found
}

// prints runs a program to its end, and returns its output.
func prints(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program(t), args...).CombinedOutput()
	require.NoError(t, err, "%s: %s", args, out)
	return string(out)
}

func aTokenHasItsSettings(t *testing.T) {
	line := prints(t, "token", "create", "--name", "ci", "--role", "operator", "--scope", "/jobCollections/payroll", "--expires", "")
	require.Regexp(t, `(?m)^- \{name: ci, sha256: [0-9a-f]{64}, role: operator, scope: '/jobCollections/payroll'\}$`, line)
}

func aPreviewHasItsSettings(t *testing.T) {
	file := t.TempDir() + "/job.json"
	require.NoError(t, os.WriteFile(file, []byte(`{"recurrence":{"frequency":"day"},"startTime":"2026-03-01T12:00:00Z"}`), 0o600))
	out := prints(t, "preview", "--now", "2026-03-10T00:00:00Z", "--take", "1", "--tz", "Asia/Tokyo", file)
	require.Contains(t, out, "Tue 2026-03-10 21:00:00 +09:00 Asia/Tokyo  2026-03-10T12:00:00Z\n")
	require.Equal(t, 1, strings.Count(out, "Asia/Tokyo"))
	require.Contains(t, prints(t, "preview", "--now", "2026-03-10T00:00:00Z", "--output", "json", file), `{"occurrences":["2026-03-10T12:00:00Z",`)
	line := t.TempDir() + "/line.jsonl"
	require.NoError(t, os.WriteFile(line, []byte(`{"id":"7","now":"2026-03-10T00:00:00Z","take":1,"properties":{"recurrence":{"frequency":"day"},"startTime":"2026-03-01T12:00:00Z"}}`), 0o600))
	require.Equal(t, `{"id":"7","occurrences":["2026-03-10T12:00:00Z"],"done":false}`+"\n", prints(t, "preview", "--batch", line))

	require.NoError(t, os.WriteFile(file, []byte(`{"recurrence":{"frequency":"day","timeZone":"Asia/Tokyo"},"startTime":"2026-03-01T09:00"}`), 0o600))
	east := workflowtest.ZonesDirectory(t, "2031c", map[string]string{"Asia/Tokyo": "JST-10"})
	require.Contains(t, prints(t, "preview", "--now", "2026-03-09T12:00:00Z", "--take", "1", "--zoneinfo", east, file), "2026-03-09T23:00:00Z")
	require.Contains(t, prints(t, "preview", "--now", "2026-03-09T12:00:00Z", "--take", "1", "--compare-zoneinfo", east, file), "2026-03-10T00:00:00Z  2031c: 2026-03-09T23:00:00Z")

	calendar := t.TempDir() + "/SE.json"
	require.NoError(t, os.WriteFile(calendar, []byte(`{"weekendDays":["tuesday"]}`), 0o600))
	require.NoError(t, os.WriteFile(file, []byte(`{"recurrence":{"frequency":"day","calendars":[{"name":"SE"}]},"startTime":"2026-03-10T12:00:00Z"}`), 0o600))
	require.Contains(t, prints(t, "preview", "--now", "2026-03-10T00:00:00Z", "--take", "1", "--calendar", calendar, file), "2026-03-11T12:00:00Z")
}
