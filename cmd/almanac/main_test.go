package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/cmd/almanac/internal/preview"
	"almanac/job/input"
)

// almanac runs the program and returns its output.
func almanac(t *testing.T, stdin string, variables map[string]string, args ...string) (string, error) {
	t.Helper()
	var out, errs strings.Builder
	lookup := func(name string) (string, bool) {
		value, ok := variables[name]
		return value, ok
	}
	err := run(t.Context(), args, lookup, strings.NewReader(stdin), &out, &errs)
	return out.String(), err
}

func TestPreviewPrintsOccurrences(t *testing.T) {
	t.Parallel()
	out, err := almanac(t, "", nil, "preview", "--now", "2026-01-01T00:00:00Z", "--take", "3", "../../examples/last-friday.json")
	require.NoError(t, err)
	require.Equal(t, "Fri 2026-01-30 17:15:00 +01:00 Europe/Stockholm  2026-01-30T16:15:00Z\n"+
		"Fri 2026-02-27 17:15:00 +01:00 Europe/Stockholm  2026-02-27T16:15:00Z\n"+
		"Fri 2026-03-27 17:15:00 +01:00 Europe/Stockholm  2026-03-27T16:15:00Z\n", out)
}

func TestPreviewShowsTimesInTheRequestedZone(t *testing.T) {
	t.Parallel()
	const question = `{"now":"2026-01-01","take":1,"startTime":"2026-07-03T23:00:00Z","recurrence":{"frequency":"day"}}`
	for zone, want := range map[string]string{
		"UTC":                     "Fri 2026-07-03 23:00:00 +00:00 UTC  2026-07-03T23:00:00Z\n",
		"W. Europe Standard Time": "Sat 2026-07-04 01:00:00 +02:00 Europe/Berlin  2026-07-03T23:00:00Z\n",
	} {
		out, err := almanac(t, question, nil, "preview", "--tz", zone, "-")
		require.NoError(t, err)
		require.Equal(t, want, out)
	}
	out, err := almanac(t, question, nil, "preview", "-")
	require.NoError(t, err)
	require.Equal(t, "Fri 2026-07-03 23:00:00 +00:00 UTC  2026-07-03T23:00:00Z\n", out, "a recurrence without a zone is in UTC")
}

func TestPreviewReadsCalendarsFromFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/SE.yaml", []byte("weekendDays: [saturday, sunday]\ndays: [{date: 2026-06-19, name: Midsommarafton}]\n"), 0o600))
	const question = `{"now":"2026-06-18","take":3,"startTime":"2026-06-18T09:00","recurrence":{"frequency":"day","calendars":[{"name":"se"%s}]}}`
	out, err := almanac(t, fmt.Sprintf(question, ""), nil, "preview", "--calendar", dir+"/SE.yaml", "-")
	require.NoError(t, err)
	require.Equal(t, `Thu 2026-06-18 09:00:00 +00:00 UTC  2026-06-18T09:00:00Z
Fri 2026-06-19 09:00:00 +00:00 UTC  skipped because se has Midsommarafton
Sat 2026-06-20 09:00:00 +00:00 UTC  skipped because se has Saturday
Sun 2026-06-21 09:00:00 +00:00 UTC  skipped because se has Sunday
Mon 2026-06-22 09:00:00 +00:00 UTC  2026-06-22T09:00:00Z
Tue 2026-06-23 09:00:00 +00:00 UTC  2026-06-23T09:00:00Z
`, out)
	file := dir + "/job.json"
	once := strings.Replace(fmt.Sprintf(question, `,"onMatch":"previousWorkingDay"`), `"day"`, `"month","schedule":{"monthDays":[21]}`, 1)
	require.NoError(t, os.WriteFile(file, []byte(once), 0o600))
	calendar, err := os.ReadFile(dir + "/SE.yaml")
	require.NoError(t, err)
	out, err = almanac(t, string(calendar), nil, "preview", "--take", "1", "--calendar", "SE=-", file)
	require.NoError(t, err)
	require.Equal(t, "Thu 2026-06-18 09:00:00 +00:00 UTC  2026-06-18T09:00:00Z  moved from Sun 2026-06-21 because se has Sunday\n", out)

	out, err = almanac(t, `{"now":"2026-01-01","calendars":{"SE":{"weekendDays":["thursday"]}},"startTime":"2026-01-01","recurrence":{"frequency":"week","calendars":[{"name":"SE","onMatch":"only"}],"count":1}}`,
		nil, "preview", "--batch", "--calendar", dir+"/SE.yaml")
	require.NoError(t, err)
	require.Equal(t, `{"occurrences":["2026-01-01T00:00:00Z"],"done":true}`+"\n", out, "the definition's own calendar")
	for _, tt := range [][]string{
		{"give its file by --calendar", "preview", file},
		{"standard input has the job", "preview", "--calendar", "SE=-", "-"},
		{"write the name of the calendar first", "preview", "--calendar", "-", file},
		{"no such file", "preview", "--calendar", "/does/not/exist.yaml", file},
		{"there are two calendars", "preview", "--calendar", dir + "/SE.yaml", "--calendar", "se=" + dir + "/SE.yaml", file},
		{"weekendDays: required", "preview", "--calendar", "SE=" + file, file},
	} {
		_, err := almanac(t, "{}", nil, tt[1:]...)
		require.ErrorContains(t, err, tt[0])
	}
}

func TestPreviewAnswersProgramsInJSON(t *testing.T) {
	t.Parallel()
	out, err := almanac(t, `{"now":"2026-01-01","startTime":"2025-01-01"}`, nil, "preview", "-o", "json", "-")
	require.NoError(t, err)
	require.Equal(t, `{"occurrences":["2026-01-01T00:00:00Z"],"done":true,"notes":["The job runs once, as soon as it is created, because its startTime, 2025-01-01T00:00:00Z, is past."]}`+"\n", out)
	out, err = almanac(t, `{"now":"2026-01-01","recurrence":{"frequency":"day","endTime":"2025-01-01"}}`, nil, "preview", "-o", "json", "-")
	require.ErrorContains(t, err, "is past")
	require.Contains(t, out, `{"occurrences":[],"done":true,"text":"every day, until 2025-01-01 00:00","notes":["The job would never run`)
	out, err = almanac(t, `{"take":0}`, nil, "preview", "-o", "json", "-")
	require.ErrorContains(t, err, "take: 0 is out of range")
	require.Contains(t, out, `{"error":{"code":"BadRequest"`)
}

func TestPreviewNotesThatAJobRunsAtOnceBesideTheTimes(t *testing.T) {
	t.Parallel()
	var out, notes strings.Builder
	err := run(t.Context(), []string{"preview", "--take", "1", "--now", "2026-01-01T00:00:00Z", "-"}, func(string) (string, bool) { return "", false },
		strings.NewReader(`{"recurrence":{"frequency":"day"}}`), &out, &notes)
	require.NoError(t, err)
	require.Equal(t, "Thu 2026-01-01 00:00:00 +00:00 UTC  2026-01-01T00:00:00Z\n", out.String())
	require.Equal(t, "Schedule: every day\nNote: The first occurrence is the creation of the job itself, because startTime is absent. Give a startTime to begin at another time.\n", notes.String())
}

func TestEveryExampleWouldRun(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../examples/*.json")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 10)
	for _, file := range files {
		out, err := almanac(t, "", nil, "preview", "--now", "2026-11-21T00:00:00Z", file)
		require.NoError(t, err, file)
		require.NotEmpty(t, out, file)
	}
}

func TestAnExampleWithTimesOfDayRunsAtNoOtherTime(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../examples/*.json")
	require.NoError(t, err)
	scheduled := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		created := time.Date(2026, 11, 21, 3, 4, 5, 0, time.UTC) // no example has this time of day
		p, err := input.ParsePreview(text, created)
		require.NoError(t, err, file)
		if r := p.Definition.Recurrence; r != nil && r.Schedule != nil {
			require.NotContains(t, p.Run().Occurrences, created, "%s runs when it is created: give it a startTime", file)
			scheduled++
		}
	}
	require.Positive(t, scheduled)
}

func TestTheTableOfExamplesSaysWhenEachRunsFirst(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../examples/*.json")
	require.NoError(t, err)
	table, err := os.ReadFile("../../examples/README.md")
	require.NoError(t, err)
	said := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(.+)` \\| .+ \\| (.+) \\|$").FindAllStringSubmatch(string(table), -1) {
		said[row[1]] = row[2]
	}
	first := map[string]string{}
	created := time.Date(2026, 11, 21, 3, 4, 5, 0, time.UTC) // from the document
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		p, err := input.ParsePreview(text, created)
		require.NoError(t, err, file)
		first[filepath.Base(file)] = "at once"
		if due := p.Run().Occurrences[0]; !due.Equal(created) {
			first[filepath.Base(file)] = due.UTC().Format(time.RFC3339)
		}
	}
	require.Equal(t, first, said)
}

func TestPreviewSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, stdin, want string
		args              []string
	}{
		{"a bad recurrence", `{"properties":{"recurrence":{"frequency":"dai"}}}`, "properties.recurrence.frequency", []string{"-"}},
		{"no file", "", "name a file", nil},
		{"a file that is not there", "", "nowhere.json", []string{"nowhere.json"}},
		{"a bad time", "{}", "--now: \"today\" is not a time", []string{"--now", "today", "-"}},
		{"a bad number", "{}", "--take: 0 is too low; allowed: 1 to 1000", []string{"--take", "0", "-"}},
		{"a bad zone", "{}", "--tz: \"Europe/Stokholm\" is not a time zone; allowed: an IANA time zone", []string{"--tz", "Europe/Stokholm", "-"}},
		{"a bad shape", "{}", `--output: unknown value "xml"; allowed: text, json`, []string{"-o", "xml", "-"}},
		{"a zone for JSON", "{}", "--tz cannot be combined", []string{"-o", "json", "--tz", "UTC", "-"}},
		{"a shape for a batch", "{}", "--output cannot be combined with --batch", []string{"-o", "text", "--batch"}},
		{"a bad action", `{"properties":{"action":{"type":"Htp"}}}`, `properties.action.type: "Htp" is not supported`, []string{"-"}},
		{"two times of creation", `{"now":"2026-01-01"}`, `its own "now"`, []string{"--now", "2026-01-02T00:00:00Z", "-"}},
		{"a number for a batch", "{}", "--take cannot be combined with --batch", []string{"--batch", "--take", "3"}},
		{"a time for a batch", "{}", "--now cannot be combined with --batch", []string{"--batch", "--now", "2026-01-01T00:00:00Z"}},
		{"a job that never runs", `{"properties":{"recurrence":{"frequency":"day","endTime":"2020-01-01"}}}`, "never run", []string{"-"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := almanac(t, tt.stdin, nil, append([]string{"preview"}, tt.args...)...)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestPreviewBatchAnswersEveryLine(t *testing.T) {
	t.Parallel()
	input, err := os.ReadFile("../../recurrence/testdata/recurrence-input.jsonl")
	require.NoError(t, err)
	expected, err := os.Open("../../recurrence/testdata/recurrence-expected.jsonl")
	require.NoError(t, err)
	defer expected.Close()
	out, err := almanac(t, string(input), nil, "preview", "--batch")
	require.NoError(t, err)

	type result struct {
		ID          string          `json:"id"`
		Occurrences []string        `json:"occurrences"`
		Done        bool            `json:"done"`
		Error       json.RawMessage `json:"error"`
	}
	answers := bufio.NewScanner(strings.NewReader(out))
	answers.Buffer(nil, preview.MaxSize)
	lines, n := bufio.NewScanner(expected), 0
	lines.Buffer(nil, preview.MaxSize)
	for ; lines.Scan(); n++ {
		require.True(t, answers.Scan(), "an answer is missing")
		var want, got result
		require.NoError(t, json.Unmarshal(lines.Bytes(), &want))
		require.NoError(t, json.Unmarshal(answers.Bytes(), &got))
		require.Equal(t, len(want.Error) > 0, len(got.Error) > 0, "%s: %s", want.ID, answers.Text())
		want.Error, got.Error = nil, nil
		require.Equal(t, want, got)
	}
	require.False(t, answers.Scan(), "there are more answers than questions")
	require.Positive(t, n)
}

func TestBatchGoesOnAfterARefusedLine(t *testing.T) {
	t.Parallel()
	out, err := almanac(t, "nonsense\n\n"+`{"id":7,"now":"2026-01-01T00:00:00Z"}`, nil, "preview", "--batch", "-")
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, 2)
	require.Contains(t, lines[0], `"error":{"code":"BadRequest"`)
	require.Equal(t, `{"id":7,"occurrences":["2026-01-01T00:00:00Z"],"done":true}`, lines[1])
}

func TestOneErrorListsAllMistakesInTheSettings(t *testing.T) {
	t.Parallel()
	_, err := almanac(t, "", map[string]string{"ALMANAC_LISTEN": "nowhere", "ALMANAC_LOG_LEVEL": "loud"},
		"dev", "--ui-listen", "here", "--synchronous", "maybe")
	for _, want := range []string{`$ALMANAC_LISTEN: "nowhere" is not host:port; allowed: a host and a port such as 127.0.0.1:8080`,
		`$ALMANAC_LOG_LEVEL: unknown value "loud"; allowed: debug, info, warn, error`, `--ui-listen: "here" is not`, `--synchronous: unknown value "maybe"; allowed: full, normal`} {
		require.ErrorContains(t, err, want)
	}
}

func TestAFlagIsBlamedWhereItReplacesItsVariable(t *testing.T) {
	t.Parallel()
	_, err := almanac(t, "", map[string]string{"ALMANAC_LISTEN": "127.0.0.1:80", "ALMANAC_MAX_HOLD": "1s", "ALMANAC_CODEC_LISTEN": "0.0.0.0:1"},
		"dev", "--listen", "nowhere", "--max-hold", "1h")
	require.ErrorContains(t, err, `--listen: "nowhere" is not host:port; allowed: a host and a port such as 127.0.0.1:8080`)
	require.ErrorContains(t, err, "--max-hold: 1h is too long; allowed: 0s to 10m")
	require.ErrorContains(t, err, "$ALMANAC_CODEC_LISTEN: 0.0.0.0:1 can be reached by other machines, and the codec server has no token")
}

func TestAnUnknownCommandIsAnError(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ args, want string }{
		{"bogus", `unknown command "bogus" for "almanac"`},
		{"bogus", `Run "almanac --help"`},
		{"help bogus", `Run "almanac --help"`},
		{"worker --max-hol 3s", "unknown flag: --max-hol\nDid you mean --max-hold?\nRun \"almanac worker --help\""},
		{"worker --max-hold", "flag needs an argument: --max-hold\nRun \"almanac worker --help\""},
		{"dev --lisen 127.0.0.1:0", "unknown flag: --lisen\nDid you mean --listen?\n"},
		{"jbo list", "Did you mean almanac job?"},
		{"list", "Did you mean almanac job list?\nRun \"almanac --help\""},
		{"run nightly", "Did you mean almanac job run?\nRun \"almanac --help\""},
		{"job lst", "Did you mean almanac job list?"},
		{"job describe x", "Did you mean almanac job get?"},
		{"job list --filtr x", "Did you mean --filter?"},
		{"job list -o jsn", `--output: unknown value "jsn", did you mean json?`},
		{"preview a b", `Run "almanac preview --help"`},
		{"prevew --take 3 job.json", "preview"},
		{"codec bogus", `unknown command "bogus" for "almanac codec"`},
		{"help bogus", `unknown command "bogus"`},
		{"completion bogus", `unknown command "bogus" for "almanac completion"`},
		{"job history", "an argument is missing; write almanac job history NAME\nRun \"almanac job history --help\""},
		{"job why", "an argument is missing; write almanac job why NAME"},
		{"token revoke", "an argument is missing; write almanac token revoke NAME\n"},
		{"backup a b", "too many arguments; write almanac backup FILE\n"},
		{"token revoke --name x", "unknown flag: --name\nDid you mean almanac token revoke NAME?\n"},
		{"version 1", `version takes no argument, and "1" is one`},
		{"dev -listen 127.0.0.1:0", "in -listen\nDid you mean --listen?\nRun \"almanac dev --help\""},
		{"api -lisen=127.0.0.1:0", "Did you mean --listen?"},
		{"dev -d x", "Did you mean --data?"},
		{"dev --port 8080", "Did you mean --listen, such as --listen 127.0.0.1:8080?"},
		{"dev --no-ui", "Did you mean --ui-listen \"\"?"},
		{"worker --temporal-address x", "Did you mean TEMPORAL_ADDRESS in the environment?"},
		{"-listen 127.0.0.1:0", "A command stands before its flags, such as almanac dev --listen\n"},
		{"--dev", "Did you mean almanac dev?"},
		{"-version", "Did you mean --version?"},
		{"dev -help", "Did you mean --help?"},
		{"preview -output json", "--output: unknown value \"utput\"; allowed: text, json\nDid you mean --output?"},
		{"token creat", "unknown command \"creat\" for \"almanac token\"\nDid you mean almanac token create?\nRun \"almanac token --help\""},
		{"token rm x", "Did you mean almanac token revoke?"},
		{"token Create", "Did you mean almanac token create?"},
		{"token create name x", "token create takes no argument, and \"name\" is one\nDid you mean --name?"},
		{"token create -name x", "Did you mean --name?"},
		{"codec genkey", "Did you mean almanac codec generate-key?"},
		{"completion bsh", "Did you mean almanac completion bash?"},
		{"help tokn", "Did you mean almanac token?"},
		{"help token creat", "Did you mean almanac token create?"},
		{"srve", "Did you mean almanac server?"},
		{"start", "Did you mean almanac dev?"},
	} {
		if !embedded && slices.Contains([]string{"srve", "start"}, tt.args) {
			continue // a build without the embedded server has neither command in its help
		}
		out, err := almanac(t, "", nil, strings.Fields(tt.args)...)
		require.ErrorContains(t, err, tt.want, tt.args)
		require.Empty(t, out, tt.args)
	}
}

func TestTheVersionIsPrintedByACommandAndAFlag(t *testing.T) {
	t.Parallel()
	command, err := almanac(t, "", nil, "version")
	require.NoError(t, err)
	flag, err := almanac(t, "", nil, "--version")
	require.NoError(t, err)
	line, rest, _ := strings.Cut(command, "\n")
	require.Equal(t, flag, line+"\n")
	require.Contains(t, line, "almanac version ")
	require.Contains(t, rest, "Temporal SDK", "the command also says what the program was built from")
}

func TestHelpIsPrintedOnRequest(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"help"}, {"--help"}, {"help", "preview"}, {"completion"}, {"completion", "bash"}} {
		out, err := almanac(t, "", nil, args...)
		require.NoError(t, err, args)
		require.Contains(t, out, "almanac", args)
	}
}

func TestCompletionOffersTheValuesOfFlags(t *testing.T) {
	t.Parallel()
	const nothing, files, directories = ":4\n", ":0\n", ":16\n" // cobra's directives; 8 filters files by extension
	for _, tt := range []struct{ args, want string }{
		{"api --log-level", "debug\ninfo\nwarn\nerror\n" + nothing},
		{"api --egress", "public\nprivate\nany\n" + nothing},
		{"worker --max-hold", nothing},
		{"worker --ca-file", files},
		{"api --plans", "azure\nunlimited\n" + files},
		{"api --listen", nothing},
		{"dev --data", directories},
		{"api", nothing},
		{"preview -o", "text\njson\n" + nothing},
		{"preview", "json\njsonl\n:8\n"},
		{"codec generate-key", nothing},
	} {
		out, err := almanac(t, "", nil, append(append([]string{"__complete"}, strings.Fields(tt.args)...), "")...)
		require.NoError(t, err)
		require.Equal(t, tt.want, out, tt.args)
	}
	out, err := almanac(t, "", nil, "__complete", "preview", "--tz", "Europe/Stock")
	require.NoError(t, err)
	require.Contains(t, out, "Europe/Stockholm\n")
}

func TestHelpSaysWhatKindOfValueAFlagTakes(t *testing.T) {
	t.Parallel()
	out, err := almanac(t, "", map[string]string{"ALMANAC_MAX_HOLD": "7s"}, "worker", "--help")
	require.NoError(t, err)
	for _, want := range []string{"--max-hold duration", "--max-cached-workflows int", "--ca-file file", "default 5m; 0s to 10m; $ALMANAC_MAX_HOLD=7s\n"} {
		require.Contains(t, out, want)
	}
}

func TestBatchGoesOnAfterALineThatIsMuchTooLong(t *testing.T) {
	t.Parallel()
	long := `{"id":"` + strings.Repeat("x", 3*preview.MaxSize) + `"}`
	out, err := almanac(t, long+"\n"+`{"id":7,"now":"2026-01-01T00:00:00Z"}`+"\n", nil, "preview", "--batch")
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, 2)
	require.Contains(t, lines[0], `"error"`)
	require.Contains(t, lines[1], `"id":7,"occurrences"`)
}

// A caller that sends one line at a time gets each answer before it sends the next line.
func TestBatchAnswersBeforeTheNextLine(t *testing.T) {
	t.Parallel()
	in, questions := io.Pipe()
	answers, out := io.Pipe()
	failed := make(chan error, 1)
	go func() {
		failed <- run(t.Context(), []string{"preview", "--batch"}, func(string) (string, bool) { return "", false }, in, out, io.Discard)
	}()
	read := bufio.NewScanner(answers)
	for range 3 {
		_, err := io.WriteString(questions, `{"now":"2026-01-01T00:00:00Z"}`+"\n")
		require.NoError(t, err)
		require.True(t, read.Scan())
		require.JSONEq(t, `{"occurrences":["2026-01-01T00:00:00Z"],"done":true}`, read.Text())
	}
	require.NoError(t, questions.Close())
	require.NoError(t, <-failed)
}

func TestOneErrorListsAllMistakesAboutOutboundConnections(t *testing.T) {
	t.Parallel()
	_, err := almanac(t, "", map[string]string{"ALMANAC_EGRESS": "sometimes"}, "worker",
		"--egress-allow", "10.1.2.3/8", "--egress-deny", "*", "--ca-file", "nowhere.pem", "--oauth-authority", "nope",
		"--storage-queue-endpoint", "https://{account}{x}", "--service-bus-host", "x", "--service-bus-endpoint", "y", "--max-hold", "-1s",
		"--max-cached-workflows", "0", "--max-per-host", "10001")
	for _, want := range []string{
		`$ALMANAC_EGRESS: unknown value "sometimes"; allowed: public, private, any`,
		`--egress-allow: the egress allow list has "10.1.2.3/8"; allowed: the network 10.0.0.0/8 or the address 10.1.2.3`,
		`--egress-deny: the egress deny list has "*"`,
		"--ca-file: open nowhere.pem",
		`--oauth-authority: "nope" is not an http or https URL; allowed: a URL such as https://login.microsoftonline.com`,
		`--storage-queue-endpoint: "https://{account}{x}" is not an http or https URL with {account} in it; allowed: a URL such as`,
		`--service-bus-host: "x" is not a host name with {namespace} in it`,
		`--service-bus-endpoint: "y" is not host:port`,
		"--max-hold: -1s is too short; allowed: 0s to 10m",
		"--max-cached-workflows: 0 is too low; allowed: 1 or more",
		"--max-per-host: 10001 is too high; allowed: 1 to 10000",
	} {
		require.ErrorContains(t, err, want)
	}
	for wrong, problem := range map[string]string{
		"-1s": "-1s is too short", "11m": "11m is too long", "30": "30 has no unit, such as s for seconds", "soon": `"soon" is not a duration such as 500ms, 20s or 1m30s`,
	} {
		_, err := almanac(t, "", nil, "worker", "--max-hold", wrong)
		require.EqualError(t, err, "--max-hold: "+problem+"; allowed: 0s to 10m")
		_, err = almanac(t, "", map[string]string{"ALMANAC_MAX_HOLD": wrong}, "worker")
		require.EqualError(t, err, "$ALMANAC_MAX_HOLD: "+problem+"; allowed: 0s to 10m")
	}
}

func TestAMistypedPlanDoesNotEndAsOneWithChanges(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"plan", "jobs"}, {"plan", "--bogus"}, {"plan", "-output", "json"}, {"plan", "--take", "none"}, {"plan", "-f"}} {
		_, err := almanac(t, "", map[string]string{"HOME": t.TempDir()}, args...)
		require.Error(t, err)
		require.Equal(t, exit.Failed, exit.Status(err), "%v: %v", args, err)
	}
	_, err := almanac(t, "", nil, "apply", "--bogus")
	require.Equal(t, exit.Usage, exit.Status(err))
}
