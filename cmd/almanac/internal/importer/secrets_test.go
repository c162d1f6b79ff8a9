package importer_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"almanac/cmd/almanac/internal/importer"
	"almanac/cmd/almanac/internal/importer/source"
)

// outputs returns all that an import of files writes and prints, in each form.
func outputs(t *testing.T, kind string, files map[string]string) (string, *importer.Report) {
	t.Helper()
	dir := fstest.MapFS{}
	var all []source.File
	for name, text := range files {
		dir[name] = &fstest.MapFile{Data: []byte(text)}
		all = append(all, source.File{Dir: dir, Path: name, Name: name})
	}
	r := importer.Finish(kind, readers[kind](all, importer.Options{Now: now}), now)
	out := shown(t, r)
	asJSON, err := json.Marshal(r)
	require.NoError(t, err)
	var markdown bytes.Buffer
	require.NoError(t, r.Markdown(&markdown))
	return out + string(asJSON) + markdown.String(), r
}

func hidden(t *testing.T, kind string, files map[string]string) {
	t.Helper()
	out, r := outputs(t, kind, files)
	require.NotContains(t, out, "CANARY", "%v", files)
	require.NotContains(t, out, "Q0FOQVJZ", "%v", files) // in base64
	require.NotEmpty(t, r.Jobs, "%v", files)
	require.NotEmpty(t, r.Secrets, "%v", files)
}

func TestSecretsOfCommandsAreHidden(t *testing.T) {
	t.Parallel()
	encoded := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	for _, command := range []string{
		`curl -fs -u sk_live_CANARY1234567890: https://a.example/x`,
		`curl -fs -u sk_live_CANARY1234567890:other https://a.example/x`,
		`curl -fs -u sk_live_CANARY1234567890 https://a.example/x`,
		`curl -fs https://CANARYtoken@a.example/x`,
		`curl -fs https://ghp_CANARY1234567890abcd:x-oauth-basic@a.example/x`,
		`curl -fs https://CANARYtoken:x-oauth-basic@a.example/x`,
		`curl -fs -u CANARYtoken:api_token https://a.example/x`,
		`curl -fs -u CANARYtoken:X https://a.example/x`,
		`curl -fs -H 'Authorization: Basic ` + encoded("CANARYkey:") + `' https://a.example/x`,
		`curl -fs -H 'Authorization: Basic ` + encoded("CANARYkey:api_token") + `' https://a.example/x`,
		`wget -qO- --user=CANARYkey --password=x https://a.example/x`,
		`curl -fs 'https://a.example/x?secure_key=CANARY1'`,
		`curl -fs 'https://a.example/x?cron_key=CANARY1'`,
		`curl -fs 'https://a.example/x?licensekey=CANARY1'`,
		`curl -fs 'https://a.example/x?my_key=CANARY1'`,
		`curl -fs -d '<a><password>CANARY1</password></a>' https://a.example/x`,
		`curl -fs -d '<a><x:Password type="t"><![CDATA[CANARY1]]></x:Password></a>' https://a.example/x`,
		`curl -fs 'https://a.example/webhook/0e1ed6d4-7c6f-4f1d-b8a0-5e1c7CANARY0'`,
		`curl -fs 'https://a.example/api/push/AbCANARY1234?status=up'`,
		"MY_TOKEN=CANARYvalue\n0 1 * * * " + `curl -fs "https://a.example/x/$MY_TOKEN"`,
		"MY_TOKEN=CANARYvalue\n0 1 * * * " + `curl -fs -H "X-Who: $MY_TOKEN" https://a.example/x`,
		"MY_TOKEN=CANARYvalue\n0 1 * * * " + `curl -fs -d "who is $MY_TOKEN" https://a.example/x`,
		"MY_TOKEN=canaryvalue\n0 1 * * * " + `curl -fs -d "who is $MY_TOKEN" https://$MY_TOKEN.a.example/x`,
	} {
		line := command
		if command[0] == 'c' || command[0] == 'w' {
			line = "0 1 * * * " + command
		}
		hidden(t, "crontab", map[string]string{"my.cron": "CRON_TZ=UTC\n" + line + "\n"})
		out, _ := outputs(t, "crontab", map[string]string{"my.cron": "CRON_TZ=UTC\n" + line + "\n"})
		require.NotContains(t, out, "canaryvalue")
	}
}

// What is no secret is written as it is.
func TestWhatIsNoSecretIsShown(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		`curl -fs https://a.example/webhook/daily-report`,
		`curl -fs https://a.example/items/0e1ed6d4-7c6f-4f1d-b8a0-5e1c7a2b3c40`,
		`curl -fs 'https://a.example/api/push/all?status=up'`,
		`curl -fs -d '{"sort_key":"name"}' https://a.example/x`,
	} {
		_, r := outputs(t, "crontab", map[string]string{"my.cron": "CRON_TZ=UTC\n0 1 * * * " + command + "\n"})
		require.Empty(t, r.Secrets, command)
	}
	out, _ := outputs(t, "crontab", map[string]string{
		"my.cron": "CRON_TZ=UTC\nTOKEN_URL=https://a.example/x\n0 1 * * * curl -fs $TOKEN_URL\n0 2 * * * curl -fs -u robot:hunter2 https://a.example\n",
	})
	require.Contains(t, out, "https://a.example/x")
	require.Contains(t, out, "robot")
}

func TestSecretsOfContainersAreHidden(t *testing.T) {
	t.Parallel()
	hidden(t, "kubernetes", map[string]string{"x.yaml": `kind: CronJob
metadata: {name: j}
spec:
  schedule: "0 1 * * *"
  timeZone: UTC
  jobTemplate: {spec: {template: {spec: {containers: [{name: c, image: x, env: [{name: DB_PASSWORD, value: CANARYvalue}],
    command: [curl, -f, -d, "who is $(DB_PASSWORD)", "https://a.example/x/$(DB_PASSWORD)"]}]}}}}
`})
}

func TestSecretsOfTemplatesAreHidden(t *testing.T) {
	t.Parallel()
	const schema = `{"$schema":"https://schema.management.azure.com/schemas/2015-01-01/deploymentTemplate.json#","contentVersion":"1.0.0.0",`
	const job = `"resources":[{"type":"Microsoft.Scheduler/jobCollections/jobs","name":"c/j","properties":{"startTime":"2027-01-01T00:00:00Z","action":` +
		`{"type":"Http","request":{"method":"POST","uri":"[concat('http://a.example/', parameters('word'))]",` +
		`"headers":{"X-A":"[parameters('word')]","X-B":"[uriComponent(parameters('word'))]"},"body":"[concat('it is ', parameters('word'), '.')]"}}}}]}`
	hidden(t, "azure", map[string]string{
		"t.json": schema + `"parameters":{"word":{"type":"securestring","defaultValue":"CANARY a/b"}},` + job,
	})
	hidden(t, "azure", map[string]string{
		"t.json":            schema + `"parameters":{"word":{"type":"secureString"}},` + job,
		"t.parameters.json": `{"$schema":"deploymentParameters","parameters":{"word":{"value":"CANARY a/b"}}}`,
	})
	hidden(t, "azure", map[string]string{
		"t.json": schema + `"parameters":{"all":{"type":"secureObject","defaultValue":{"a":{"b":"CANARYinner"}}}},"variables":{"x":"[parameters('all').a.b]"},` +
			`"resources":[{"type":"Microsoft.Scheduler/jobCollections/jobs","name":"[concat('c/', variables('x'))]","properties":{"startTime":"2027-01-01T00:00:00Z",` +
			`"action":{"type":"StorageQueue","queueMessage":{"storageAccount":"s","queueName":"q","sasToken":"x","message":"[concat('m ', variables('x'))]"}}}}]}`,
	})
}

func TestSecretsOfConfigurationsAreHidden(t *testing.T) {
	t.Parallel()
	hidden(t, "azure", map[string]string{"main.tf": `variable "word" {
  sensitive = true
  default   = "CANARYvalue"
}
resource "azurerm_scheduler_job" "j" {
  name                = "j"
  job_collection_name = "c"
  action_web {
    url     = "http://a.example/${var.word}"
    method  = "post"
    body    = "it is ${var.word}."
    headers = { X-A = var.word }
  }
  start_time = "2027-01-01T00:00:00Z"
}
`})
}

// The service shows no password: an empty one in its answer is lost. In a template or a command it is empty.
func TestAnEmptyPasswordOfAnAnswerIsLost(t *testing.T) {
	t.Parallel()
	const action = `"properties":{"startTime":"2027-01-01T00:00:00Z","action":{"type":"Http","request":{"uri":"http://a.example","method":"GET",` +
		`"authentication":{"type":"Basic","username":"me","password":""}}}`
	_, r := outputs(t, "azure", map[string]string{
		"a.json": `{"id":"/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c/jobs/j","name":"c/j","type":"Microsoft.Scheduler/jobCollections/jobs",` +
			action + `,"state":"enabled"}}`,
	})
	require.Len(t, r.Secrets, 1)
	require.True(t, r.Secrets[0].Lost)
	_, r = outputs(t, "azure", map[string]string{"a.json": `{"name":"c/j","type":"Microsoft.Scheduler/jobCollections/jobs",` + action + `}}`})
	require.Len(t, r.Secrets, 1) // the user, which is mostly a key
	require.False(t, r.Secrets[0].Lost)
}
