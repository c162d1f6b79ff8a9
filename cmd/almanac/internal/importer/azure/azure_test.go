package azure_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/cmd/almanac/internal/importer"
	"almanac/cmd/almanac/internal/importer/azure"
	"almanac/cmd/almanac/internal/importer/source"
)

var now = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// read imports files by their names.
func read(files map[string]string, names ...string) *importer.Report {
	dir := fstest.MapFS{}
	for name, text := range files {
		dir[name] = &fstest.MapFile{Data: []byte(text)}
	}
	var all []source.File
	for _, name := range names {
		all = append(all, source.File{Dir: dir, Path: name, Name: name})
	}
	return importer.Finish("azure", azure.Read(all, importer.Options{Now: now}), now)
}

// The runs by the rules of the service are computed without package recurrence. Random definitions have the same ones
// here: what differs is written out, such as the hour of a schedule with minutes alone.
func TestRandomDefinitionsRunAsTheServiceRanThem(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 8))
	some := func(from, to, most int) (list []int) {
		for range 1 + random.IntN(most) {
			list = append(list, from+random.IntN(to-from+1))
		}
		return list
	}
	days := []string{"monday", "Tuesday", "wednesday", "thursday", "FRIDAY", "saturday", "sunday"}
	same, all := 0, 0
	for n := range 700 {
		frequency := []string{"minute", "Hour", "day", "Week", "month"}[random.IntN(5)]
		schedule := map[string]any{}
		recurrence := map[string]any{"frequency": frequency, "interval": 1 + random.IntN(6)}
		if frequency == "day" || frequency == "Week" || frequency == "month" {
			if random.IntN(2) == 0 {
				schedule["hours"] = some(0, 23, 3)
			}
			if random.IntN(2) == 0 {
				schedule["minutes"] = some(0, 59, 3)
			}
			switch {
			case frequency == "Week" && random.IntN(2) == 0:
				schedule["weekDays"] = []string{days[random.IntN(7)], days[random.IntN(7)]}
			case frequency == "month" && random.IntN(3) == 0:
				schedule["monthDays"] = append(some(1, 31, 2), -some(1, 28, 1)[0])
			case frequency == "month" && random.IntN(2) == 0:
				schedule["monthlyOccurrences"] = []any{
					map[string]any{"day": days[random.IntN(7)], "Occurrence": 1 + random.IntN(5)}, map[string]any{"day": days[random.IntN(7)], "occurrence": -1 - random.IntN(5)},
				}
			}
		}
		if len(schedule) > 0 {
			recurrence["schedule"] = schedule
		}
		if random.IntN(4) == 0 {
			recurrence["count"] = 1 + random.IntN(150)
		}
		start := now.Add(time.Duration(random.IntN(3000*86400)-2500*86400) * time.Second)
		if limit := now.AddDate(1, 5, 0); start.After(limit) {
			start = limit
		}
		if random.IntN(4) == 0 {
			recurrence["endTime"] = start.Add(time.Duration(random.IntN(4000*86400)) * time.Second).Format(time.RFC3339)
		}
		properties := map[string]any{"startTime": start.Format(time.RFC3339), "recurrence": recurrence, "action": map[string]any{
			"type": "http", "request": map[string]any{"uri": "http://a.example", "method": "GET"},
		}}
		text, err := json.Marshal(map[string]any{"name": fmt.Sprintf("c/%d", n), "type": "Microsoft.Scheduler/jobCollections/jobs", "properties": properties})
		require.NoError(t, err)
		report := read(map[string]string{"a.json": string(text)}, "a.json")
		require.Len(t, report.Jobs, 1)
		j := report.Jobs[0]
		if j.Verdict == importer.Never { // such as an interval that is too long, or a rule that never fires
			continue
		}
		all++
		require.NotNil(t, j.Runs, "%s: %+v", text, j.Findings)
		require.True(t, j.Runs.Equal, "%s\n%+v", text, j.Runs.Differences)
		same++
	}
	require.Greater(t, same, 500)
	require.Equal(t, all, same)
}

// template returns a template with a job.
func template(properties, rest string) string {
	return `{"$schema":"https://schema.management.azure.com/schemas/2015-01-01/deploymentTemplate.json#","contentVersion":"1.0.0.0",` + rest +
		`"resources":[{"type":"Microsoft.Scheduler/jobCollections/jobs","apiVersion":"2016-03-01","name":"c/j","properties":` + properties + `}]}`
}

const request = `{"type":"Http","request":{"uri":"http://a.example","method":"GET"}}`

func TestFunctions(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		`concat('a', 'b', string(3))`:                   `"ab3"`,
		`toUpper(substring('abcdef', 2, 2))`:            `"CD"`,
		`replace('a-b-c', '-', '')`:                     `"abc"`,
		`format('{0}/{1}{{}}', 'x', 4)`:                 `"x/4{}"`,
		`format('{0:D2}', 4)`:                           `{"$needs":"format with a form that is not known here, or of an argument that is not there"}`,
		`format('{1}', 4)`:                              `{"$needs":"format with a form that is not known here, or of an argument that is not there"}`,
		`base64ToString('aGk=')`:                        `"hi"`,
		`base64ToString('%')`:                           `{"$needs":"base64ToString of what is no text in base64"}`,
		`uri('http://a.example/b', 'c.json')`:           `"http://a.example/c.json"`,
		`uri('http://a.example/b/', 'c.json')`:          `"http://a.example/b/c.json"`,
		`uri('http://a.example/b/', '../c?d=e')`:        `"http://a.example/c?d=e"`,
		`uri('http://a.example/b/', '/c')`:              `"http://a.example/c"`,
		`uri('a', 'b')`:                                 `{"$needs":"uri() of what is no whole address"}`,
		`if(equals(1, 1), 'yes', parameters('none'))`:   `"yes"`,
		`variables('list')[1]`:                          `"two"`,
		`variables('o').inner['deep']`:                  `"found"`,
		`first(split('a,b', ','))`:                      `"a"`,
		`base64('hi')`:                                  `"aGk="`,
		`string(add(1, mul(2, 3)))`:                     `"7"`,
		`join(createArray('a', 'b'), '-')`:              `"a-b"`,
		`json('{"a": "b"}').a`:                          `"b"`,
		`coalesce(null(), 'c')`:                         `"c"`,
		`'it''s'`:                                       `"it's"`,
		`uriComponent('a b/c')`:                         `"a%20b%2Fc"`,
		`parameters('none')`:                            `{"$needs":"parameters('none'), which has no value: give a file of parameters"}`,
		`concat('https://', reference('x').host, '/a')`: `{"$needs":"reference(…), which exists only when the template is deployed; the source has https://{…}/a"}`,
		`variables('loop')`:                             `{"$needs":"variables('loop'), which refers to itself"}`,
		`bogus('CANARY')`:                               `{"$needs":"the function bogus, which is not known here"}`,
		`concat('a'`:                                    `{"$needs":"an expression of the template cannot be read"}`,
		`resourceGroup().name`:                          `{"$needs":"resourceGroup().name, which exists only when the template is deployed"}`,
		`toLower(resourceGroup().name)`:                 `{"$needs":"resourceGroup().name, which exists only when the template is deployed"}`,
		`listKeys(resourceId('Microsoft.Storage/storageAccounts', 'x'), '2019').keys[0].value`: `{"$needs":"listKeys(Microsoft.Storage/storageAccounts x), which exists only when the template is deployed"}`,
		`subscription().subscriptionId`: `{"$needs":"subscription().subscriptionId, which exists only when the template is deployed"}`,
	} {
		quoted, err := json.Marshal("[" + expression + "]")
		require.NoError(t, err)
		body := `{"action":{"type":"Http","request":{"uri":"http://a.example","method":"POST","body":` + string(quoted) + `}}}`
		variables := `"variables":{"list":["one","two"],"o":{"inner":{"deep":"found"}},"loop":"[variables('loop')]"},`
		r := read(map[string]string{"t.json": template(body, variables)}, "t.json")
		require.Len(t, r.Drafts, 1, expression)
		got, err := json.Marshal(r.Drafts[0].Properties.Get("action", "request", "body"))
		require.NoError(t, err)
		require.Equal(t, want, string(got), expression)
	}
}

// A template that grows when it is evaluated stays small.
func TestTemplatesAreBounded(t *testing.T) {
	t.Parallel()
	var variables []string
	for n := range 100 {
		variables = append(variables, fmt.Sprintf(`"v%d":"[concat(variables('v%d'),variables('v%d'))]"`, n+1, n, n))
	}
	text := template(`{"action":`+strings.Replace(request, "http://a.example", "[variables('v39')]", 1)+`}`, `"variables":{"v0":"xxxxxxxxxx",`+strings.Join(variables, ",")+`},`)
	r := read(map[string]string{"t.json": text}, "t.json")
	require.Equal(t, importer.Needs, r.Jobs[0].Verdict)
	deep := strings.Repeat(`{"type":"Microsoft.Resources/deployments","properties":{"template":{"resources":[`, 30) + strings.Repeat("]}}}", 30)
	r = read(map[string]string{"t.json": `{"$schema":"deploymentTemplate","resources":[` + deep + `]}`}, "t.json")
	require.Contains(t, r.Problems[0].Text, "nested more than")
	self := `{"$schema":"deploymentTemplate","resources":[{"type":"Microsoft.Resources/deployments","properties":{"templateLink":{"relativePath":"t.json"}}},{"type":"Microsoft.Resources/deployments","properties":{"templateLink":{"relativePath":"t.json"}}}]}`
	r = read(map[string]string{"t.json": self}, "t.json")
	require.NotEmpty(t, r.Problems)
}

func TestTerraformIsBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("locals {\n  v0 = \"xxxxxxxxxx\"\n")
	for n := range 60 {
		fmt.Fprintf(&b, "  v%d = \"${local.v%d}${local.v%d}\"\n", n+1, n, n)
	}
	b.WriteString("  self = local.self\n  wide = format(\"%9999999999s\", \"x\")\n}\n")
	for i, e := range []string{"local.v60", "local.self", "local.wide", `[for a in local.v0 : [for b in local.v0 : b]]`, `file("../x")`, `nosuch("x")`} {
		fmt.Fprintf(&b, "resource \"azurerm_scheduler_job\" \"j%d\" {\n name = \"j%d\"\n job_collection_name = \"c\"\n action_web {\n url = \"http://a.example\"\n method = \"post\"\n body = %s\n }\n start_time = \"2027-01-01T00:00:00Z\"\n}\n", i, i, e)
	}
	r := read(map[string]string{"main.tf": b.String()}, "main.tf")
	require.Len(t, r.Jobs, 6)
	for _, j := range r.Jobs {
		require.Equal(t, importer.Needs, j.Verdict, "%s: %+v", j.Name, j.Findings)
	}
}

// A time that is longer ago than a time.Duration can say.
func TestTheFirstYear(t *testing.T) {
	t.Parallel()
	for _, recurrence := range []string{`{"frequency":"minute","interval":7}`, `{"frequency":"hour","interval":5}`, `{"frequency":"day","interval":3}`, `{"frequency":"month"}`} {
		r := read(map[string]string{"a.json": `{"name":"c/j","type":"Microsoft.Scheduler/jobCollections/jobs","properties":{"startTime":"0001-01-01T00:00:00Z","action":` +
			request + `,"recurrence":` + recurrence + `}}`}, "a.json")
		if r.Jobs[0].Verdict == importer.Never {
			continue // the API takes no such start
		}
		require.NotNil(t, r.Jobs[0].Runs, recurrence)
		require.True(t, r.Jobs[0].Runs.Equal, "%s %+v", recurrence, r.Jobs[0].Runs.Differences)
	}
}

func TestAHundredDocuments(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for n := range 100 {
		fmt.Fprintf(&b, `{"name":"c/j%d","type":"Microsoft.Scheduler/jobCollections/jobs","properties":{"startTime":"2027-01-01T00:00:00Z","action":%s}}`+"\r\n", n, request)
	}
	r := read(map[string]string{"all.json": b.String()}, "all.json")
	require.Equal(t, 100, r.Count["same"])
	require.NoError(t, r.Missing())
}

func TestTheSameNameTwice(t *testing.T) {
	t.Parallel()
	one := `{"name":"c/j","type":"Microsoft.Scheduler/jobCollections/jobs","properties":{"startTime":"2027-01-01T00:00:00Z","action":` + request + `}}`
	r := read(map[string]string{"a.json": one, "b.json": one}, "a.json", "b.json")
	require.Equal(t, importer.Same, r.Jobs[0].Verdict)
	require.Equal(t, importer.Never, r.Jobs[1].Verdict)
	require.Contains(t, r.Jobs[1].Findings[len(r.Jobs[1].Findings)-1].Text, "a.json, line 1")
}

func FuzzJSON(f *testing.F) {
	f.Add(template(`{"action":`+request+`,"recurrence":{"frequency":"day"}}`, ""))
	f.Add(`{"version":3,"serial":1,"modules":[{"resources":{"a":{"type":"azurerm_scheduler_job","primary":{"attributes":{"recurrence.#":"1","recurrence.0.hours.1":"2"}}}}}]}`)
	f.Add(`[{"JobName":"a","JobCollectionName":"b","Recurrence":"Every 1 Days","JobAction":{"JobActionType":0}}]`)
	f.Add(`{"$schema":"deploymentTemplate","variables":{"a":"[concat(variables('a'),'b')]"},"resources":[{"type":"Microsoft.Scheduler/jobCollections","name":"[variables('a')]","resources":[{"type":"jobs","name":"x","copy":{"count":2}}]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		check(t, read(map[string]string{"a.json": text}, "a.json"))
	})
}

func FuzzTerraform(f *testing.F) {
	f.Add("resource \"azurerm_scheduler_job\" \"a\" {\n name = \"a\"\n job_collection_name = var.c\n action_web { url = \"http://a.example\" }\n recurrence { frequency = \"day\" }\n}\nvariable \"c\" { default = \"x\" }")
	f.Add("locals { a = [for x in local.a : x] }\nresource \"azurerm_scheduler_job\" \"a\" { for_each = { a = 1 }\n name = each.key\n}")
	f.Fuzz(func(t *testing.T, text string) {
		check(t, read(map[string]string{"a.tf": text}, "a.tf"))
	})
}

// check makes sure that a report can be written, and that each job is in it.
func check(t *testing.T, r *importer.Report) {
	t.Helper()
	if _, err := r.Files(); err != nil {
		t.Error(err)
	}
	if len(r.Jobs) == 0 && r.Missing() == nil {
		t.Error("nothing was found, and that is a success")
	}
}
