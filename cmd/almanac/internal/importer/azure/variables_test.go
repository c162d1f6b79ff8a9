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

const configuration = `variable "word" { default = "default" }
resource "azurerm_scheduler_job" "j" {
  name                = "j"
  job_collection_name = "c"
  start_time          = "2027-01-01T00:00:00Z"
  action_web {
    url    = "http://a.example/${var.word}"
    method = "get"
  }
}
`

// imported imports files; one with a trailing slash is in a directory that is named.
func imported(files map[string]string, names ...string) *importer.Report {
	dir := fstest.MapFS{}
	for name, text := range files {
		dir[name] = &fstest.MapFile{Data: []byte(text)}
	}
	var all []source.File
	for _, name := range names {
		plain := strings.TrimSuffix(name, "/")
		all = append(all, source.File{Dir: dir, Path: plain, Name: plain, Listed: plain != name})
	}
	return importer.Finish("azure", azure.Read(all, importer.Options{Now: now}), now)
}

func TestOrderOfVariables(t *testing.T) {
	t.Parallel()
	all := map[string]string{"main.tf": configuration}
	for _, step := range []struct {
		add, text string
		names     []string
		want      string
	}{
		{"", "", []string{"main.tf"}, "default"},
		{"terraform.tfvars", `word = "one"`, []string{"main.tf"}, "one"},
		{"terraform.tfvars.json", `{"word":"two"}`, []string{"main.tf"}, "two"},
		{"b.auto.tfvars", `word = "three"`, []string{"main.tf"}, "three"},
		{"a.auto.tfvars.json", `{"word":"early"}`, []string{"main.tf"}, "three"},
		{"c.auto.tfvars.json", `{"word":"four"}`, []string{"main.tf"}, "four"},
		{"prod.tfvars", `word = "prod"`, []string{"main.tf"}, "four"},
		{"z.tfvars.json", `{"word":"${z}"}`, []string{"z.tfvars.json", "main.tf", "prod.tfvars"}, "prod"},
		{"", "", []string{"main.tf", "prod.tfvars", "z.tfvars.json"}, "${z}"},
		{"", "", []string{"main.tf/", "prod.tfvars/", "terraform.tfvars/", "terraform.tfvars.json/"}, "prod"},
		{"", "", []string{"main.tf/", "prod.tfvars/", "z.tfvars.json/", "prod.tfvars"}, "prod"},
		{"vars/dev.tfvars", `word = "dev"`, []string{"main.tf", "vars/dev.tfvars"}, "dev"},
	} {
		if step.add != "" {
			all[step.add] = step.text
		}
		r := imported(all, step.names...)
		require.Len(t, r.Drafts, 1)
		uri, _ := r.Drafts[0].Properties.Get("action", "request", "uri").Str()
		require.Equal(t, "http://a.example/"+step.want, uri, "%v", step.names)
		require.NoError(t, r.Missing(), "%v %+v", step.names, r.Problems)
	}
	r := imported(all, "main.tf/", "prod.tfvars/", "z.tfvars.json/")
	require.ErrorContains(t, r.Missing(), "could not be read: 2")
	require.Contains(t, r.Problems[0].Text, "not clear which")
	uri, _ := r.Drafts[0].Properties.Get("action", "request", "uri").Str()
	require.Equal(t, "http://a.example/four", uri)
	require.ErrorContains(t, imported(all, "prod.tfvars").Missing(), "no job")
}

func TestDynamicBlocksAndCounts(t *testing.T) {
	t.Parallel()
	job := func(name, rest string) string {
		return `resource "azurerm_scheduler_job" "` + name + `" {
  name                = "` + name + `"
  job_collection_name = "c"
  start_time          = "2027-01-01T00:00:00Z"
` + rest + "\n}\n"
	}
	const web = "  action_web {\n    url = \"http://a.example\"\n  }\n"
	r := imported(map[string]string{"main.tf": job("a", "  dynamic \"action_web\" {\n    for_each = [\"x\"]\n    iterator = it\n    content {\n      url = \"http://a.example/${it.value}\"\n      method = \"put\"\n    }\n  }") +
		job("b", "  dynamic \"action_web\" {\n    for_each = var.none\n    content {\n      url = \"http://a.example\"\n    }\n  }") +
		job("c", "  count = 0\n"+web) + job("d", web)}, "main.tf")
	require.Len(t, r.Jobs, 3)
	text, err := r.Drafts[0].Properties.Get("action", "request").MarshalJSON()
	require.NoError(t, err)
	require.Equal(t, `{"uri":"http://a.example/x","method":"put"}`, string(text))
	require.Equal(t, importer.Needs, r.Jobs[1].Verdict, "%+v", r.Jobs[1].Findings)
	require.Contains(t, r.Jobs[2].Findings[0].Text+r.Jobs[2].Findings[len(r.Jobs[2].Findings)-1].Text, "GET is written")
	require.Len(t, r.Problems, 1)
	require.True(t, r.Problems[0].Note)
	require.Contains(t, r.Problems[0].Text, "count is 0")
}

func TestAStateBesideItsConfiguration(t *testing.T) {
	t.Parallel()
	r := imported(map[string]string{
		"main.tf": configuration,
		"terraform.tfstate": `{"version":4,"serial":1,"resources":[{"mode":"managed","type":"azurerm_scheduler_job","instances":[{"attributes":{"name":"j","job_collection_name":"c",` +
			`"start_time":"2027-01-01T00:00:00Z","action_web":[{"url":"http://a.example/state","method":"get"}]}}]}]}`,
	}, "main.tf/", "terraform.tfstate/")
	require.Len(t, r.Jobs, 1)
	require.Equal(t, "terraform.tfstate", r.Jobs[0].File)
	require.NoError(t, r.Missing())
	require.Len(t, r.Problems, 1)
	require.Contains(t, r.Problems[0].Text, "left out")
}

const moduleFile = `variable "name" {}
variable "host" { default = "default.example" }
variable "token" {}
resource "azurerm_scheduler_job" "j" {
  name                = var.name
  job_collection_name = "c"
  start_time          = "2027-01-01T00:00:00Z"
  action_web {
    url    = "http://${var.host}/${file("${path.module}/word")}"
    method = "get"
    headers = { X-Word = var.token }
  }
}
`

func TestModulesBelowTheSourceAreFollowed(t *testing.T) {
	t.Parallel()
	all := map[string]string{
		"mods/jobs/main.tf": moduleFile, "mods/jobs/word": "go",
		"main.tf": `variable "hosts" { default = { a = "a.example", b = "b.example" } }
module "each" {
  for_each = var.hosts
  source   = "./mods/jobs"
  name     = "job-${each.key}"
  host     = each.value
  token    = var.unset
}
module "plain" {
  source = "./mods/jobs"
  name   = "plain"
  token  = "x"
}
`,
	}
	r := imported(all, "main.tf", "mods/jobs/main.tf")
	require.Len(t, r.Drafts, 3)
	for i, want := range []string{"job-a http://a.example/go", "job-b http://b.example/go", "plain http://default.example/go"} {
		uri, _ := r.Drafts[i].Properties.Get("action", "request", "uri").Str()
		require.Equal(t, want, r.Drafts[i].Name+" "+uri)
	}
	require.Contains(t, r.Drafts[0].Properties.Get("action", "request", "headers", "X-Word").Why[0], "var.unset, which has no value")
	require.NoError(t, r.Missing(), "%+v", r.Problems)

	for text, why := range map[string]string{
		"source = \"terraform/jobs/azurerm\"":          "its source is no directory here",
		"source = \"../outside\"":                      "no .tf below the directory",
		"source = \"./\"\n name = \"x\"":               "nested too deep",
		"source = \"./mods/jobs\"\n count = var.unset": "how many there are",
	} {
		r := imported(map[string]string{"main.tf": "module \"m\" {\n " + text + "\n}\n" + configuration, "mods/jobs/main.tf": moduleFile}, "main.tf")
		require.ErrorContains(t, r.Missing(), "could not be read", text)
		require.Contains(t, r.Problems[0].Text, why)
	}
}

func TestTerraformInJSONIsReadAsInItsOwnLanguage(t *testing.T) {
	t.Parallel()
	const native = `variable "hour" { default = 6 }
variable "secret" {
  default   = "canary-secret-of-json"
  sensitive = true
}
locals { host = "http://${upper("a")}.example" }
resource "azurerm_scheduler_job" "j" {
  for_each            = { one = 1, two = 2 }
  name                = "j-${each.key}"
  job_collection_name = "c"
  start_time          = "2027-01-01T00:00:00Z"
  action_web {
    url    = "${local.host}/x"
    method = "get"
    headers = { X-A = "b" }
    authentication_basic {
      username = "u"
      password = var.secret
    }
  }
  recurrence {
    frequency = "month"
    interval  = each.value
    hours     = [var.hour]
    dynamic "monthly_occurrences" {
      for_each = ["Monday", "Friday"]
      content {
        day        = monthly_occurrences.value
        occurrence = -1
      }
    }
  }
}
`
	const inJSON = `{
  "variable": {"hour": {"default": 6}, "secret": {"default": "canary-secret-of-json", "sensitive": true}},
  "locals": [{"host": "http://${upper(\"a\")}.example"}],
  "resource": {"azurerm_scheduler_job": {"j": {
    "//": "a comment", "for_each": {"one": 1, "two": 2}, "name": "j-${each.key}", "job_collection_name": "c", "start_time": "2027-01-01T00:00:00Z",
    "action_web": [{"url": "${local.host}/x", "method": "get", "headers": {"X-A": "b"}, "authentication_basic": {"username": "u", "password": "${var.secret}"}}],
    "recurrence": {"frequency": "month", "interval": "${each.value}", "hours": ["${var.hour}"],
      "dynamic": {"monthly_occurrences": {"for_each": ["Monday", "Friday"], "content": {"day": "${monthly_occurrences.value}", "occurrence": -1}}}}
  }}}
}`
	files := func(name, text string) map[string][]byte {
		r := imported(map[string]string{name: text}, name)
		require.NoError(t, r.Missing(), "%+v", r.Problems)
		written, err := r.Files()
		require.NoError(t, err)
		require.Len(t, written, 2)
		for file, text := range written {
			require.NotContains(t, string(text), "canary")
			_, rest, _ := strings.Cut(string(text), "\nname:") // the comment has the place in the source
			written[file] = []byte(rest)
		}
		return written
	}
	require.Equal(t, files("main.tf", native), files("main.tf.json", inJSON))
	require.ErrorContains(t, imported(map[string]string{"main.tf.json": "[]"}, "main.tf.json").Missing(), "no job")
}
