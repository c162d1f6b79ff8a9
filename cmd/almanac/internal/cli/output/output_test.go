package output_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/cmd/almanac/internal/cli/output"
)

type fruit struct {
	Name string `json:"name"`
	Note string `json:"note"`
	Many int    `json:"many"`
}

var view = output.View[fruit]{
	Name: func(f fruit) string { return f.Name },
	Columns: []output.Column[fruit]{
		{Head: "NAME", Of: func(f fruit) output.Cell { return output.Cell{Text: f.Name, Mark: output.Good} }},
		{Head: "NOTE", Shrink: true, Of: func(f fruit) output.Cell { return output.Cell{Text: f.Note} }},
		{Head: "MANY", Wide: true, Right: true, Of: func(f fruit) output.Cell { return output.Cell{Text: strings.Repeat("1", f.Many)} }},
	},
}

var fruits = []fruit{{"apple", "red, and as round as a ball", 3}, {"桃", "", 1}}

// printed returns what a printer prints in a format.
func printed(t *testing.T, format string, p output.Printer) string {
	t.Helper()
	var err error
	p.Format, err = output.ParseFormat(format)
	require.NoError(t, err)
	var out strings.Builder
	p.Out = &out
	require.NoError(t, output.List(&p, view, fruits))
	return out.String()
}

func TestEachFormatIsForItsReader(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		"table": "NAME   NOTE\napple  red, and as round as a ball\n桃     -\n",
		"wide":  "NAME   NOTE                         MANY\napple  red, and as round as a ball   111\n桃     -                               1\n",
		"name":  "apple\n桃\n",
		"json": `[
  {
    "name": "apple",
    "note": "red, and as round as a ball",
    "many": 3
  },
  {
    "name": "桃",
    "note": "",
    "many": 1
  }
]
`,
		"yaml":                   "- name: apple\n  note: red, and as round as a ball\n  many: 3\n- name: 桃\n  note: \"\"\n  many: 1\n",
		"jsonpath=$[*].name":     "apple\n桃\n",
		"jsonpath={[0].many}":    "3\n",
		"jsonpath=$[?@.many==1]": `{"many":1,"name":"桃","note":""}` + "\n",
	} {
		require.Equal(t, want, printed(t, format, output.Printer{}), format)
	}
}

func TestATableFitsTheTerminalAndHasColoursThereOnly(t *testing.T) {
	t.Parallel()
	require.Equal(t, "NAME   NOTE\napple  red, and as…\n桃     -\n", printed(t, "", output.Printer{Width: 19}))
	require.Equal(t, "apple  red, an…\n桃     -\n", printed(t, "", output.Printer{Width: 1, NoHeads: true}), "it is not made unreadable")
	require.Contains(t, printed(t, "", output.Printer{Colour: true}), "\x1b[32mapple\x1b[0m")
	require.NotContains(t, printed(t, "", output.Printer{}), "\x1b")
}

func TestControlCharactersAreShownAndNotObeyed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a\x1b[2Jb": `a\x1b[2Jb`, "a\u009b2J": `a\u009b2J`, "\x07\x7f": `\a\x7f`, "a\nb\tc": "a\nb\tc", "a\rb": `a\rb`,
		"abc\u202ecba": `abc\u202ecba`, "\xff": "\ufffd", "plain ü 桃": "plain ü 桃",
	} {
		require.Equal(t, want, output.Clean(text))
	}
	require.Equal(t, `a b\x1b`, output.Line("a\r\nb\x1b"))
	yaml, err := output.YAML(map[string]string{"a": "x\u009by", "b": "one\ntwo\n"})
	require.NoError(t, err)
	require.Equal(t, "a: \"x\\x9By\"\nb: |\n  one\n  two\n", yaml)
}

func TestTimesSayHowFarAwayTheyAre(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	p := output.Printer{Now: now, Zone: time.UTC}
	for away, want := range map[time.Duration]string{
		0: "12:00:00 (now)", 90 * time.Second: "12:01:30 (in 1m30s)", -time.Hour: "11:00:00 (1h ago)",
		36 * time.Hour: "2026-11-29 00:00:00 (in 1d12h)", 1500 * time.Millisecond: "12:00:01 (in 1.5s)",
		-200 * 24 * time.Hour: "2026-05-11 12:00:00 (200d ago)",
	} {
		require.Equal(t, want, p.Time(now.Add(away)))
	}
	require.Empty(t, p.Time(time.Time{}))
}
