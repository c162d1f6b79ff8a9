package azure_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"almanac/cmd/almanac/internal/importer"
	"almanac/cmd/almanac/internal/importer/azure"
	"almanac/cmd/almanac/internal/importer/source"
)

// states returns the states of the jobs of a text, by their places.
func states(t *testing.T, name, text, collection string) (all []string) {
	t.Helper()
	dir := fstest.MapFS{name: {Data: []byte(text)}}
	o := importer.Options{Now: now, Collection: collection}
	r := importer.Finish("azure", azure.Read([]source.File{{Dir: dir, Path: name, Name: name}}, o), now)
	for _, d := range r.Drafts {
		state, err := d.Properties.Get("state").MarshalJSON()
		require.NoError(t, err)
		all = append(all, string(state))
	}
	return all
}

func inGroup(group, kind, name, properties string) string {
	return `{"id":"/subscriptions/s/resourceGroups/` + group + `/providers/Microsoft.Scheduler/jobCollections/` + name +
		`","name":"` + name + `","type":"Microsoft.Scheduler/` + kind + `","properties":` + properties + `}`
}

const tomorrow = `{"startTime":"2027-01-01T00:00:00Z","state":"enabled","action":` + request + `}`

func TestJobsOfStoppedCollectionsAreDisabled(t *testing.T) {
	t.Parallel()
	const disabled, enabled = `"disabled"`, `"enabled"`
	stopped := inGroup("one", "jobCollections", "c", `{"state":"disabled"}`) + inGroup("two", "jobCollections", "c", `{"state":"enabled"}`)
	jobs := inGroup("one", "jobCollections/jobs", "c/jobs/a", tomorrow) + inGroup("two", "jobCollections/jobs", "c/jobs/b", tomorrow)
	require.Equal(t, []string{disabled, enabled}, states(t, "a.json", stopped+jobs, ""))
	require.Equal(t, []string{disabled, enabled}, states(t, "a.json", stopped+jobs, "prod"), "-c changes the name here only")

	template := func(state, rest string) string {
		return `{"$schema":"deploymentTemplate","parameters":{"s":{"type":"string"}},"resources":[{"type":"Microsoft.Scheduler/jobCollections","name":"c",` + rest +
			`"properties":{"state":` + state + `},"resources":[{"type":"jobs","name":"j","properties":` + tomorrow + `}]}]}`
	}
	require.Equal(t, []string{disabled}, states(t, "t.json", template(`"Disabled"`, ""), "prod"))
	require.Contains(t, states(t, "t.json", template(`"[parameters('s')]"`, ""), "")[0], "$needs")
	require.Contains(t, states(t, "t.json", strings.Replace(template(`"Enabled"`, ""), `{"state":"Enabled"}`, `"[parameters('s')]"`, 1), "")[0], "$needs")
	require.Equal(t, []string{enabled}, states(t, "t.json", template(`"Enabled"`, ""), ""))
	require.Equal(t, []string{disabled}, states(t, "main.tf", `resource "azurerm_scheduler_job_collection" "c" {
  name                = "c"
  resource_group_name = "one"
  state               = "disabled"
}
resource "azurerm_scheduler_job" "j" {
  name                = "j"
  resource_group_name = "one"
  job_collection_name = "c"
  start_time          = "2027-01-01T00:00:00Z"
  action_web {
    url    = "http://a.example"
    method = "get"
  }
}
`, "prod"))
}

// What is made under a condition that is not known is refused until somebody has decided.
func TestUnknownConditionsAreNeeded(t *testing.T) {
	t.Parallel()
	job := func(condition string) string {
		return `{"type":"Microsoft.Scheduler/jobCollections/jobs","name":"c/j",` + condition + `"properties":` + tomorrow + `}`
	}
	const on = `"condition":"[equals(parameters('s'), 'yes')]",`
	for _, resources := range []string{
		job(on),
		`{"type":"Microsoft.Scheduler/jobCollections","name":"c",` + on + `"resources":[{"type":"jobs","name":"j","properties":` + tomorrow + `}]}`,
		`{"type":"Microsoft.Resources/deployments","name":"d",` + on + `"properties":{"template":{"resources":[` + job("") + `]}}}`,
		`{"type":"Microsoft.Resources/deployments","name":"d",` + on + `"properties":{"expressionEvaluationOptions":{"scope":"inner"},"template":{"resources":[` + job("") + `]}}}`,
	} {
		r := read(map[string]string{"t.json": `{"$schema":"deploymentTemplate","parameters":{"s":{"type":"string"}},"resources":[` + resources + `]}`}, "t.json")
		require.Len(t, r.Jobs, 1, resources)
		require.Equal(t, importer.Needs, r.Jobs[0].Verdict, resources)
		require.NotNil(t, r.Drafts[0].Properties.Get("$needs"), resources)
	}
}

func TestLinkedTemplatesAreFound(t *testing.T) {
	t.Parallel()
	linked := template(tomorrow, "")
	for uri, file := range map[string]string{
		`https://a.example/raw/main/nested/jobs.json`:                                            "nested/jobs.json",
		`https://a.example/raw/main/nested/jobs.json?sig=x`:                                      "jobs.json",
		`[uri(parameters('base'), 'nested/jobs.json')]`:                                          "nested/jobs.json",
		`[concat(parameters('base'), '/nested/jobs.json', parameters('sas'))]`:                   "nested/jobs.json",
		`[uri(deployment().properties.templateLink.uri, concat('nested/', parameters('name')))]`: "",
		`https://a.example/raw/main/t.json`:                                                      "",
	} {
		files := map[string]string{"t.json": `{"$schema":"deploymentTemplate","parameters":{"base":{"type":"string"},"sas":{"type":"string"},"name":{"type":"string"}},"resources":[` +
			`{"type":"Microsoft.Resources/deployments","name":"d","properties":{"templateLink":{"uri":"` + uri + `"}}}]}`}
		if file == "" {
			r := read(files, "t.json")
			require.Empty(t, r.Jobs, uri)
			require.Contains(t, r.Problems[0].Text, "needs a file", uri)
			continue
		}
		files[file] = linked
		r := read(files, "t.json")
		require.Len(t, r.Jobs, 1, "%s %+v", uri, r.Problems)
		require.Equal(t, file, r.Jobs[0].File)
	}
}
