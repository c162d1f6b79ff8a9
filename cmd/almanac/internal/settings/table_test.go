package settings

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"almanac/cmd/almanac/internal/flags"

	"github.com/stretchr/testify/require"
)

// commands are those with settings.
var commands = []string{"dev", "server", "api", "worker", "setup", "backup", "restore", "codec", "token-create", "token-list", "token-revoke", "preview", "healthcheck", "version"}

func TestEverySettingSaysWhatItIsInOneSentence(t *testing.T) {
	t.Parallel()
	for _, g := range new(Config).table() {
		for _, s := range g.Settings {
			name := s.Flag + " " + s.Variable
			require.Regexp(t, `^[A-Za-z].{10,85}\.$`, s.Help, name)
			for command := range strings.FieldsSeq(s.Commands) {
				require.Contains(t, commands, command, name)
			}
			if s.Variable == "ZONEINFO" { // as Go's own
				continue
			}
			if s.Variable != "" && s.Flag != "" && s.Commands != "codec" && s.Commands != "worker" {
				// what they listen on is not the API
				require.Equal(t, "ALMANAC_"+strings.ToUpper(strings.ReplaceAll(s.Flag, "-", "_")), s.Variable)
			}
		}
	}
}

func TestTheDefaultsOfACommandAreAllowed(t *testing.T) {
	t.Parallel()
	for _, command := range commands {
		var args []string
		if command == "server" {
			args = []string{"--data", "data"}
		}
		_, err := loaded(t, command, nil, args...)
		require.NoError(t, err, command)
	}
}

var write = flag.Bool("write", false, "write docs/configuration.md")

func TestTheConfigurationDocumentIsCurrent(t *testing.T) {
	t.Parallel()
	const file = "../../../../docs/configuration.md"
	want := configurationDocument(new(Config).table())
	if *write {
		require.NoError(t, os.WriteFile(file, []byte(want), 0o644))
	}
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	if want != string(got) { // the texts are long
		t.Fatal("docs/configuration.md is stale: run `go generate ./cmd/almanac/internal/settings`")
	}
}

// configurationDocument returns the document that explains a table of settings.
func configurationDocument(table []flags.Group) string {
	var b strings.Builder
	b.WriteString(`# Configuration

<!-- Generated from cmd/almanac/internal/settings/table.go by "go generate ./cmd/almanac/internal/settings"; do not edit. -->

Settings are flags and environment variables; the flag wins. Those of ` + "`preview`" + ` and of a new token have no variables. Secrets have no flags, because other users of a machine can read
command lines. An empty variable counts as absent, except that of ` + "`--ui-listen` and `--codec-listen`" + `.
` +
		"`almanac` is the binary that `go build -o almanac ./cmd/almanac` builds. " + `` + "`almanac COMMAND --help`" + ` lists the settings of a command. All mistakes are reported at once, each with the flag or the variable that it came from.

- Durations have units: ` + "`500ms`, `20s`, `1m30s`, `60d`" + `.
- Lists are separated by commas or blanks; their flags may also be given several times.
- Flags of type bool need no value; ` + "`--unauthenticated=false`" + ` turns one off that a variable turned on.

` + "`almanac api`, `almanac worker` and `almanac setup`" + ` connect to Temporal by its own variables, as its other tools do: ` + "`TEMPORAL_ADDRESS`" + ` (default ` + "`localhost:7233`), `TEMPORAL_NAMESPACE`" + `
(default ` + "`default`), `TEMPORAL_API_KEY`, `TEMPORAL_TLS_*` and `TEMPORAL_PROFILE`" + `.
`)
	for _, g := range table {
		fmt.Fprintf(&b, "\n## %s\n\n| flag | variable | type | default | allowed | commands |\n|---|---|---|---|---|---|\n", g.Name)
		for _, s := range g.Settings {
			kind, standard := s.Value.Kind, code(s.Default)
			if strings.Contains(kind, "|") {
				kind = "choice"
			}
			if kind == "bool" {
				standard = code(cmp.Or(s.Default, "false"))
			}
			if found := defaultSentence.FindStringSubmatch(s.Help); found != nil {
				standard = found[1]
			}
			standard = cmp.Or(standard, "none")
			for command, other := range s.Defaults {
				standard += "; `" + command + "`: " + cmp.Or(code(other), "none")
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", cmp.Or(flagNames(s), "none"), cmp.Or(code(s.Variable), "none"), kind, standard, s.Value.Allowed,
				strings.NewReplacer(" ", ", ", "-", " ").Replace(s.Commands))
		}
		b.WriteString("\n")
		for i, s := range g.Settings {
			same := func(other *flags.Setting) bool { return other.Flag == s.Flag && other.Help == s.Help }
			if slices.ContainsFunc(g.Settings[:i], same) {
				continue
			}
			help := strings.TrimSpace(defaultSentence.ReplaceAllString(s.Help, ""))
			fmt.Fprintf(&b, "- %s: %s\n", cmp.Or(flagNames(s), code(s.Variable)), strings.TrimSpace(help+" "+s.More))
		}
	}
	return b.String()
}

// defaultSentence matches the default of a setting whose default is no fixed text.
var defaultSentence = regexp.MustCompile(`The default is ([^.]+)\.`)

// flagNames returns the flag of a setting with its short form; "" if it has none.
func flagNames(s *flags.Setting) string {
	switch {
	case s.Flag == "":
		return ""
	case s.Short != "":
		return code("--"+s.Flag) + ", " + code("-"+s.Short)
	}
	return code("--" + s.Flag)
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}
