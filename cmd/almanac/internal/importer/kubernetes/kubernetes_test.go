package kubernetes_test

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/cmd/almanac/internal/importer"
	"almanac/cmd/almanac/internal/importer/kubernetes"
	"almanac/cmd/almanac/internal/importer/source"
)

var now = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

func read(text string) *importer.Report {
	dir := fstest.MapFS{"x.yaml": {Data: []byte(text)}}
	o := importer.Options{Now: now}
	return importer.Finish("kubernetes", kubernetes.Read([]source.File{{Dir: dir, Path: "x.yaml", Name: "x.yaml"}}, o), now)
}

func cronJob(schedule, zone string) string {
	return "kind: CronJob\nmetadata: {name: j}\nspec:\n  schedule: \"" + schedule + "\"\n  timeZone: " + zone +
		"\n  jobTemplate: {spec: {template: {spec: {containers: [{name: c, image: x, command: [curl, -f, https://a.example/x]}]}}}}\n"
}

// A rule of elapsed hours leaves out a local time that the clock skips, as Kubernetes does.
func TestRunsAreEqual(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"} {
		for _, schedule := range []string{
			"*/10 * * * *", "0 * * * *", "30 2 * * *", "0 */6 * * *", "0 9 * * 1-5", "0 0 1 * *", "0 12 ? * SUN", "5/20 8 * * *", "@daily", "0 3 1-31 * 1",
		} {
			r := read(cronJob(schedule, zone))
			require.Len(t, r.Jobs, 1, schedule)
			require.Equal(t, importer.Same, r.Jobs[0].Verdict, "%s %s: %+v", zone, schedule, r.Jobs[0].Findings)
		}
	}
}

func TestDaysOfEither(t *testing.T) {
	t.Parallel()
	r := read(cronJob("0 8 13 * 5", "UTC"))
	require.Equal(t, importer.Same, r.Jobs[0].Verdict)
	cron, _ := r.Drafts[0].Properties.Get("recurrence", "cron").Str()
	require.Equal(t, "0 8 13 * 5", cron)
}

func TestStatesAndRetries(t *testing.T) {
	t.Parallel()
	properties := func(from, to string) (string, string) {
		r := read(strings.Replace(cronJob("@daily", "UTC"), from, to, 1))
		text, err := r.Drafts[0].Properties.MarshalJSON()
		require.NoError(t, err)
		said := ""
		for _, f := range r.Jobs[0].Findings {
			said += f.Verdict.String() + " " + f.Text + "\n"
		}
		return string(text), said
	}
	for _, word := range []string{"yes", "on", "true", "True", "Y"} {
		text, _ := properties("schedule:", "suspend: "+word+"\n  schedule:")
		require.Contains(t, text, `"state":"disabled"`, word)
	}
	text, _ := properties("schedule:", "suspend: no\n  schedule:")
	require.Contains(t, text, `"state":"enabled"`)
	text, _ = properties("{spec: {template", "{spec: {suspend: true, template")
	require.Contains(t, text, `"state":"disabled"`)
	_, said := properties("{spec: {template", "{spec: {activeDeadlineSeconds: 30, template")
	require.Contains(t, said, "differs activeDeadlineSeconds")

	text, _ = properties("", "")
	require.Contains(t, text, `"retryCount":6`)
	text, said = properties("curl, -f,", "curl,")
	require.Contains(t, text, `"retryPolicy":{"retryType":"none"}`)
	require.Contains(t, said, "curl without -f")
	text, said = properties("curl, -f,", "curl, --retry, 2,")
	require.Contains(t, text, `"retryCount":2`)
	require.Contains(t, said, "backoffLimit")
}

func TestManyObjectsAndAliases(t *testing.T) {
	t.Parallel()
	r := read(strings.ReplaceAll(strings.Repeat("---\n"+cronJob("@daily", "UTC"), 100), "name: j", "generateName: j-"))
	require.Len(t, r.Jobs, 100)
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n" +
		"e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n"
	require.Error(t, read(bomb).Missing())
}

func FuzzRead(f *testing.F) {
	f.Add(cronJob("0 9 * * *", "UTC"))
	f.Add("kind: List\nitems:\n- kind: CronJob\n  spec: {schedule: x}")
	f.Add("a: &a {<<: *a}\n---\nkind: CronJob\nmetadata: {name: [1]}\nspec: 3")
	f.Fuzz(func(t *testing.T, text string) {
		r := read(text)
		if _, err := r.Files(); err != nil {
			t.Error(err)
		}
		if len(r.Jobs) == 0 && r.Missing() == nil {
			t.Error("nothing was found, and that is a success")
		}
	})
}
