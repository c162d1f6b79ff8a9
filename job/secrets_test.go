package job_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/job"
)

// Every secret of these tests holds this word, which nothing else does.
const canary = "canary"

// authenticated returns a web request with that authentication.
func authenticated(authentication string) string {
	return `{"type":"Http","request":{"uri":"http://user:canary@example.com/?sig=canary#canary","authentication":` + authentication + `}}`
}

// secretive returns an action of each kind that has secrets.
func secretive(t testing.TB) map[string]string {
	t.Helper()
	return map[string]string{
		"Basic":             authenticated(`{"type":"Basic","username":"u","password":"canary"}`),
		"ClientCertificate": authenticated(`{"type":"ClientCertificate","pfx":"` + canaryPFX(t) + `","password":"canary"}`),
		"OAuth":             authenticated(`{"type":"ActiveDirectoryOAuth","tenant":"t","audience":"a","clientId":"c","secret":"canary"}`),
		"StorageQueue":      `{"type":"StorageQueue","queueMessage":{"storageAccount":"acc","queueName":"queue","sasToken":"canary"}}`,
		"ServiceBusQueue":   `{"type":"ServiceBusQueue","serviceBusQueueMessage":{"namespace":"ns","queueName":"q","authentication":{"type":"SharedAccessKey","sasKeyName":"k","sasKey":"canary"}}}`,
		"ServiceBusTopic":   `{"type":"ServiceBusTopic","serviceBusTopicMessage":{"namespace":"ns","topicPath":"t","authentication":{"sasKeyName":"k","sasKey":"canary"}}}`,
	}
}

// withErrorAction returns an action with the same one as its error action.
func withErrorAction(action string) string {
	return strings.TrimSuffix(action, "}") + `,"errorAction":` + action + `}`
}

func TestSecretsStaySecret(t *testing.T) {
	t.Parallel()
	for name, action := range secretive(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := mustParse(t, withAction(withErrorAction(action)))
			require.True(t, d.HasSecret())
			require.NotContains(t, d.Text(), canary)

			shown := d.Redacted()
			require.False(t, shown.HasSecret())
			shown.Action.Request, shown.Action.ErrorAction.Request = withoutURI(shown.Action.Request), withoutURI(shown.Action.ErrorAction.Request)
			require.NotContains(t, compactJSON(t, shown), canary)
			require.Contains(t, compactJSON(t, d), canary, "Redacted must not change what it is called on")
		})
	}
}

// withoutURI returns a request less its URI, which is shown as it was written.
func withoutURI(r *job.Request) *job.Request {
	if r == nil {
		return nil
	}
	c := *r
	c.URI = ""
	return &c
}

func TestSecretsAreKeptWhileTheIdentityIsTheSame(t *testing.T) {
	t.Parallel()
	for name, action := range secretive(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := mustParse(t, withAction(withErrorAction(action)))
			shown := d.Redacted()
			for _, sentBack := range []string{
				compactJSON(t, map[string]any{"properties": shown}),
				strings.ReplaceAll(compactJSON(t, map[string]any{"properties": shown}), `"type":"Basic"`, `"password":"","type":"basic"`),
			} {
				got, err := job.ParseDefinition([]byte(sentBack), job.ParseOptions{Now: now, Stored: &shown})
				require.NoError(t, err)
				require.False(t, got.HasSecret())
				require.Equal(t, compactJSON(t, d), compactJSON(t, got.KeepSecrets(&d)))

				_, err = parse(sentBack)
				require.ErrorContains(t, err, "properties.action.", "a new job has no secrets to keep")
				require.ErrorContains(t, err, "properties.action.errorAction.")
			}
		})
	}
}

func TestSecretsAreNotKeptForAnotherIdentity(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, kind, old, new, missing string }{
		{"another user", "Basic", `"username":"u"`, `"username":"v"`, "request.authentication.password: want a password"},
		{"another client", "OAuth", `"clientId":"c"`, `"clientId":"d"`, "request.authentication.secret: want the client's secret"},
		{"another tenant", "OAuth", `"tenant":"t"`, `"tenant":"d"`, "request.authentication.secret: want the client's secret"},
		{"another queue", "StorageQueue", `"queueName":"queue"`, `"queueName":"other"`, "queueMessage.sasToken: want a shared access signature that may add messages"},
		{"another account", "StorageQueue", `"acc"`, `"bcc"`, "queueMessage.sasToken: want a shared access signature that may add messages"},
		{"another key", "ServiceBusQueue", `"sasKeyName":"k"`, `"sasKeyName":"l"`, "serviceBusQueueMessage.authentication.sasKey: want a shared access key"},
		{"another namespace", "ServiceBusTopic", `"ns"`, `"nt"`, "serviceBusTopicMessage.authentication.sasKey: want a shared access key"},
		{"another certificate", "ClientCertificate", `"certificateThumbprint":"`, `"certificateThumbprint":"AA`, "request.authentication.pfx: want a PFX file in base64"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := mustParse(t, withAction(secretive(t)[tt.kind]))
			shown := d.Redacted()
			body := withAction(strings.Replace(compactJSON(t, shown.Action), tt.old, tt.new, 1))
			_, err := job.ParseDefinition([]byte(body), job.ParseOptions{Now: now, Stored: &shown})
			require.Equal(t, "properties.action."+tt.missing, complaints(t, err))
		})
	}
}

var pfxMember = regexp.MustCompile(`"pfx":"[^"]*"`)

func TestErrorsShowNoSecrets(t *testing.T) {
	t.Parallel()
	var bodies []string
	for _, action := range secretive(t) {
		for _, spoiled := range []string{
			strings.ReplaceAll(action, `"canary"`, `["canary"]`),
			strings.ReplaceAll(action, `"canary"`, `{"canary":"canary"}`),
			pfxMember.ReplaceAllString(action, `"pfx":"canary!"`),
			pfxMember.ReplaceAllString(action, `"pfx":"canaryAA"`),
			strings.ReplaceAll(action, `"password"`, `"passwrod"`),
			strings.ReplaceAll(action, `"sasKey":`, `"saskee":`),
			strings.ReplaceAll(action, `"sasToken"`, `"token"`),
			strings.ReplaceAll(action, `"secret"`, `"client_secret"`),
			strings.ReplaceAll(action, `"type":`, `"typ":`),
		} {
			bodies = append(bodies, withAction(withErrorAction(spoiled)))
		}
	}
	for _, uri := range []string{
		"https://user:canary@exa mple/", "https//user:canary@h/", "user:canary@h/", "https://user:canary@h:99999/?canary",
		"http://h/ ?canary", "//user:canary@h", "ftp://user:canary@h/", "%canary", "http://h/?" + strings.Repeat("canary", 400), "http://canary:x@h/\u0000",
	} {
		bodies = append(bodies, withRequest(fmt.Sprintf(`{"uri":%q}`, uri)))
	}
	bodies = append(bodies,
		withRequest(`{"uri":"http://h/","headers":"Authorization: canary"}`),
		withRequest(`{"uri":"http://h/","headers":{"Authorization":"canary\n"}}`),
		withRequest(`{"uri":"http://h/","headers":{"Authorization":["canary"]}}`),
		withRequest(`{"uri":"http://h/","body":["canary"]}`),
		withRequest(`{"uri":"http://h/","authentication":"canary"}`),
		withRequest(`"canary"`),
	)
	failed := 0
	for _, body := range bodies {
		_, err := job.ParseDefinition([]byte(body), job.ParseOptions{Now: now})
		if err != nil { // some actions have nothing of what was spoiled
			failed++
			require.NotContains(t, complaints(t, err), canary, body)
			require.NotContains(t, err.Error(), canary, body)
		}
	}
	require.Greater(t, failed, len(bodies)/2)
}

func TestKeepSecretsOfNoJob(t *testing.T) {
	t.Parallel()
	d := mustParse(t, withAction(secretive(t)["Basic"]))
	require.Equal(t, d, d.KeepSecrets(nil))
}

func TestRedactURI(t *testing.T) {
	t.Parallel()
	for uri, want := range map[string]string{
		"https://example.com":                       "https://example.com",
		"http://u:p@example.com:81/a%20b?c=d#e":     "http://example.com:81/a%20b?…",
		"http://example.com/%zz":                    "(a URI that cannot be read)",
		"https://hooks.example.com/x?code=very+odd": "https://hooks.example.com/x?…",
	} {
		require.Equal(t, want, job.RedactURI(uri))
	}
}
