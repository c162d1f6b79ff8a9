package flags_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"almanac/cmd/almanac/internal/flags"
)

// values are what the table of the tests sets.
type values struct {
	rest      time.Duration
	jobs      int
	page, key string
	once      bool
}

func declare(t *testing.T, v *values, variables map[string]string, args ...string) (*cobra.Command, flags.Set) {
	t.Helper()
	cmd := &cobra.Command{Use: "run"}
	all := flags.Declare(cmd, []flags.Group{
		{Name: "Load", Settings: []*flags.Setting{
			{Flag: "rest", Variable: "REST", Commands: "run walk", Value: flags.Duration(&v.rest, time.Second, time.Minute), Default: "2s", Help: "Pause between jobs."},
			{Flag: "jobs", Short: "j", Commands: "run", Value: flags.Int(&v.jobs, 1, 9), Help: "Number of jobs."},
			{Flag: "steps", Commands: "walk", Value: flags.Int(new(int), 1, 9), Help: "Number of steps."},
		}},
		{Name: "Pages", Settings: []*flags.Setting{
			{Flag: "page", Variable: "PAGE", Commands: "run", Value: flags.Optional(flags.HostPort(&v.page, "h:1")), Default: "h:80", Help: "Address of a page."},
			{Flag: "once", Variable: "ONCE", Commands: "run", Value: flags.Bool(&v.once), Help: "Run once."},
			{Variable: "KEY", Commands: "run", Value: flags.Text("secret", &v.key), Help: "A secret.", Check: func() error {
				if v.key == "bad" {
					return errors.New("$KEY is bad")
				}
				return nil
			}},
		}},
	}, func(name string) (string, bool) {
		text, set := variables[name]
		return text, set
	})
	require.NoError(t, cmd.ParseFlags(args))
	return cmd, all
}

func TestAFlagWinsOverItsVariableAndTheVariableOverTheDefault(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		variables map[string]string
		args      []string
		want      values
	}{
		{"defaults", nil, nil, values{rest: 2 * time.Second, page: "h:80"}},
		{"variables", map[string]string{"REST": "3s", "KEY": "k", "ONCE": "true"}, nil, values{rest: 3 * time.Second, page: "h:80", key: "k", once: true}},
		{"an empty variable is absent", map[string]string{"REST": ""}, nil, values{rest: 2 * time.Second, page: "h:80"}},
		{"but not where nothing is allowed", map[string]string{"PAGE": ""}, nil, values{rest: 2 * time.Second}},
		{"flags", map[string]string{"REST": "3s", "ONCE": "true"}, []string{"--rest", "4s", "--once=false", "-j", "9", "--page", ""}, values{rest: 4 * time.Second, jobs: 9}},
		{"a bad variable that a flag replaces", map[string]string{"REST": "never"}, []string{"--rest", "4s"}, values{rest: 4 * time.Second, page: "h:80"}},
	} {
		var got values
		_, all := declare(t, &got, tt.variables, tt.args...)
		require.NoError(t, all.Load(), tt.name)
		require.Equal(t, tt.want, got, tt.name)
	}
}

func TestADurationMayBeInDays(t *testing.T) {
	t.Parallel()
	var got time.Duration
	keep := func(text string) error {
		cmd := &cobra.Command{Use: "run"}
		all := flags.Declare(cmd, []flags.Group{{Settings: []*flags.Setting{
			{Flag: "keep", Commands: "run", Value: flags.Duration(&got, time.Hour, 100*24*time.Hour)},
		}}}, func(string) (string, bool) { return "", false })
		require.NoError(t, cmd.ParseFlags([]string{"--keep", text}))
		return all.Load()
	}
	for text, want := range map[string]time.Duration{"60d": 60 * 24 * time.Hour, "1d": 24 * time.Hour, "36h": 36 * time.Hour} {
		require.NoError(t, keep(text))
		require.Equal(t, want, got)
	}
	for text, problem := range map[string]string{
		"101d": "101d is too long", "0d": "0d is too short", "-1d": "-1d is too short", "1.5d": `"1.5d" is not a duration such as 500ms, 20s or 1m30s`,
		"9999999d": `"9999999d" is not a duration such as 500ms, 20s or 1m30s`, "99999999999d": `"99999999999d" is not a duration such as 500ms, 20s or 1m30s`,
	} {
		require.EqualError(t, keep(text), "--keep: "+problem+"; allowed: 1h to 100d")
	}
}

func TestASizeMayHaveAUnit(t *testing.T) {
	t.Parallel()
	var got uint64
	room := func(text string) error {
		cmd := &cobra.Command{Use: "run"}
		all := flags.Declare(cmd, []flags.Group{{Settings: []*flags.Setting{{Flag: "room", Commands: "run", Value: flags.Size(&got)}}}},
			func(string) (string, bool) { return "", false })
		require.NoError(t, cmd.ParseFlags([]string{"--room", text}))
		return all.Load()
	}
	for text, want := range map[string]uint64{"0": 0, "1000": 1000, "4KiB": 4096, "256MiB": 256 << 20, "2GiB": 2 << 30, "1TiB": 1 << 40} {
		require.NoError(t, room(text))
		require.Equal(t, want, got)
	}
	for _, text := range []string{"MiB", "-1", "1.5GiB", "1GB", "99999999999TiB"} {
		require.EqualError(t, room(text), `--room: "`+text+`" is not a number of bytes; allowed: a number of bytes such as 256MiB, 2GiB or 0`)
	}
}

func TestOneErrorListsAllMistakesWithWhatIsAllowed(t *testing.T) {
	t.Parallel()
	_, all := declare(t, new(values), map[string]string{"REST": "90s", "KEY": "bad", "ONCE": "perhaps"}, "--jobs", "many", "--page", "here")
	require.EqualError(t, all.Load(), `$REST: 90s is too long; allowed: 1s to 1m
--jobs: "many" is not an integer; allowed: 1 to 9
--page: "here" is not host:port; allowed: a host and a port such as h:1
$ONCE: "perhaps" is neither true nor false; allowed: true or false
$KEY is bad`)
}

func TestUsageHasFactsAndASentenceForEachFlag(t *testing.T) {
	t.Parallel()
	cmd, _ := declare(t, new(values), map[string]string{"REST": "3s", "KEY": "a secret"})
	cmd.Run = func(*cobra.Command, []string) {}
	var out strings.Builder
	cmd.SetOut(&out)
	require.NoError(t, flags.Usage(cmd))
	require.Equal(t, `Usage:
  run [flags]

Load:
  --rest duration                     default 2s; 1s to 1m; $REST=3s
      Pause between jobs.
  -j, --jobs int                      1 to 9
      Number of jobs.

Pages:
  --page host:port                    default h:80; $PAGE
      Address of a page.
  --once                              $ONCE
      Run once.
`, out.String())
}

func TestShortLeavesOutUnitsThatAreZero(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]time.Duration{
		"0s": 0, "10s": 10 * time.Second, "10m": 10 * time.Minute, "1h": time.Hour, "10h": 10 * time.Hour, "1h10m": 70 * time.Minute, "1m30s": 90 * time.Second, "1ms": time.Millisecond,
		"24h": 24 * time.Hour, "36h": 36 * time.Hour, "2d": 48 * time.Hour, "60d": 60 * 24 * time.Hour,
	} {
		require.Equal(t, want, flags.Short(d))
	}
}
