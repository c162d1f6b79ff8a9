package input_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/input"
	"almanac/job/kind"
)

// canary is contained in every secret of these tests, and in nothing else.
const canary = "canary"

// authenticated returns an action with that authentication.
func authenticated(authentication string) string {
	return `{"type":"Http","request":{"uri":"http://user:canary@example.com/?sig=canary#canary","authentication":` + authentication + `}}`
}

// secretive returns an action of each kind with secrets.
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

// withErrorAction returns an action with itself as its error action.
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

// Some receivers take a token as the password of no user.
func TestBasicAuthenticationOfNoUserIsKept(t *testing.T) {
	t.Parallel()
	const written = `"authentication":{"username":"","type":"Basic"}`
	d := mustParse(t, withAction(`{"type":"Http","request":{"uri":"http://example.com/","authentication":{"type":"Basic","username":"","password":"canary"}}}`))
	shown := d.Redacted()
	require.Contains(t, compactJSON(t, shown), written)
	again, err := input.ParseDefinition([]byte(withAction(compactJSON(t, shown.Action))), input.ParseOptions{Now: now, Stored: &shown})
	require.NoError(t, err, "a PUT of what was read")
	again, err = input.KeepSecrets(again, &d, false)
	require.NoError(t, err)
	require.Equal(t, "canary", again.Action.Request.Authentication.Password)
	_, err = parse(withAction(`{"type":"Http","request":{"uri":"http://example.com/","authentication":{"type":"Basic","password":"canary"}}}`))
	require.ErrorContains(t, err, "username: required")
}

// withoutURI returns a request without its URI, which answers show as written.
func withoutURI(r *kind.Request) *kind.Request {
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
				got, err := input.ParseDefinition([]byte(sentBack), input.ParseOptions{Now: now, Stored: &shown})
				require.NoError(t, err)
				require.False(t, got.HasSecret())
				filled, err := input.KeepSecrets(got, &d, false)
				require.NoError(t, err)
				require.Equal(t, compactJSON(t, d), compactJSON(t, filled))
				require.NoError(t, input.CheckDefinition(&filled, now, now))

				if strings.Contains(sentBack, `"password":""`) {
					continue // of a new job it is an empty password
				}
				_, err = parse(sentBack)
				require.ErrorContains(t, err, "properties.action.", "a new job has no secrets to keep")
				require.ErrorContains(t, err, "properties.action.errorAction.")
			}
		})
	}
}

// Some receivers take a key as the user, without a password.
func TestABasicPasswordMayBeEmpty(t *testing.T) {
	t.Parallel()
	basic := func(members string) string { return withAction(authenticated(`{"type":"Basic",` + members + `}`)) }
	const empty, secret = `"username":"key","password":""`, `"username":"key","password":"canary"`
	for _, tt := range []struct {
		name, stored, sent string // stored is "" for a new job
		want               string // the password; "-" if none is given
	}{
		{"a new job", "", empty, ""},
		{"a new job, said otherwise", "", `"username":"key","emptyPassword":true`, ""},
		{"a new job without it", "", `"username":"key"`, "-"},
		{"a new job without it, said otherwise", "", `"username":"key","emptyPassword":false`, "-"},
		{"a stored one that is empty is kept", empty, `"username":"key"`, ""},
		{"a stored one that is empty is kept if it is sent", empty, empty, ""},
		{"a stored one that is not empty is kept, since clients send it back so", secret, empty, "canary"},
		{"a stored one is taken away", secret, `"username":"key","emptyPassword":true`, ""},
		{"another user's", secret, `"username":"other","password":""`, ""},
		{"a new one in place of an empty one", empty, secret, "canary"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := input.ParseOptions{Now: now}
			var old *job.Definition
			if tt.stored != "" {
				old = new(mustParse(t, basic(tt.stored)))
				o.Stored = new(old.Redacted())
			}
			d, err := input.ParseDefinition([]byte(basic(tt.sent)), o)
			if err == nil {
				d, err = input.KeepSecrets(d, old, false)
			}
			if tt.want == "-" {
				require.ErrorContains(t, err, "properties.action.request.authentication.password: required; allowed: a password")
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, d.Action.Request.Authentication.Password)
			require.Equal(t, tt.want == "", d.Action.Request.Authentication.EmptyPassword)
			require.NoError(t, input.CheckDefinition(&d, now, now))
		})
	}
}

func TestASecretIsKeptWhereTheTemplateOfAPathChanges(t *testing.T) {
	t.Parallel()
	request := func(path, authentication string) string {
		return withRequest(`{"uri":"http://h/` + path + `","authentication":{"type":"Basic","username":"u"` + authentication + `},"template":true}`)
	}
	d := mustParse(t, request(`{{.Job.Name}}`, `,"password":"canary"`))
	o := input.ParseOptions{Now: now, Stored: new(d.Redacted())}
	changed, err := input.ParseDefinition([]byte(request(`{{if .Attempt}}//evil.example/{{end}}?u=http://{{.Due}}`, "")), o)
	require.NoError(t, err)
	filled, err := input.KeepSecrets(changed, &d, false)
	require.NoError(t, err)
	require.Equal(t, "canary", filled.Action.Request.Authentication.Password)
	require.NoError(t, input.CheckDefinition(&filled, now, now))
}

func TestSecretsAreNotKeptForAnotherIdentity(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, kind, old, new, missing string }{
		{"another user", "Basic", `"username":"u"`, `"username":"v"`, "request.authentication.password: required; allowed: a password (\"\" is an empty one)"},
		{"another client", "OAuth", `"clientId":"c"`, `"clientId":"d"`, "request.authentication.secret: required; allowed: the client's secret"},
		{"another key", "ServiceBusQueue", `"sasKeyName":"k"`, `"sasKeyName":"l"`, "serviceBusQueueMessage.authentication.sasKey: required; allowed: a shared access key"},
		{"another certificate", "ClientCertificate", `"certificateThumbprint":"`, `"certificateThumbprint":"AA`, "request.authentication.pfx: required; allowed: a PFX file in base64"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := mustParse(t, withAction(secretive(t)[tt.kind]))
			shown := d.Redacted()
			body := withAction(strings.Replace(compactJSON(t, shown.Action), tt.old, tt.new, 1))
			_, err := input.ParseDefinition([]byte(body), input.ParseOptions{Now: now, Stored: &shown})
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
		_, err := input.ParseDefinition([]byte(body), input.ParseOptions{Now: now})
		if err != nil { // some actions do not have the member that was spoiled
			failed++
			require.NotContains(t, complaints(t, err), canary, body)
			require.NotContains(t, err.Error(), canary, body)
		}
	}
	require.Greater(t, failed, len(bodies)/2)
}

// changed returns an action in the form of answers, with replacements: pairs of old and new text.
func changed(t *testing.T, a job.Action, pairs ...string) string {
	t.Helper()
	shown := compactJSON(t, a)
	sent := strings.NewReplacer(pairs...).Replace(shown)
	require.NotEqual(t, shown, sent)
	return sent
}

func TestSecretsAreNotKeptForAnotherTarget(t *testing.T) {
	t.Parallel()
	const origin = "scheme, host or port of uri"
	type tested struct{ kind, old, new, missing, moved string }
	tests := []tested{
		{"OAuth", `"tenant":"t"`, `"tenant":"d"`, "request.authentication.secret: required; allowed: the client's secret", "tenant"},
		{"OAuth", `"audience":"a"`, `"audience":"b"`, "request.authentication.secret: required; allowed: the client's secret", "audience"},
		{"StorageQueue", `"queueName":"queue"`, `"queueName":"other"`, "queueMessage.sasToken: required; allowed: a shared access signature that may add messages", "queueName"},
		{"StorageQueue", `"acc"`, `"bcc"`, "queueMessage.sasToken: required; allowed: a shared access signature that may add messages", "storageAccount"},
		{"ServiceBusQueue", `"ns"`, `"nt"`, "serviceBusQueueMessage.authentication.sasKey: required; allowed: a shared access key", "namespace"},
		{"ServiceBusTopic", `"ns"`, `"nt"`, "serviceBusTopicMessage.authentication.sasKey: required; allowed: a shared access key", "namespace"},
	}
	for kind, missing := range map[string]string{
		"Basic":             "request.authentication.password: required; allowed: a password (\"\" is an empty one)",
		"OAuth":             "request.authentication.secret: required; allowed: the client's secret",
		"ClientCertificate": "request.authentication.pfx: required; allowed: a PFX file in base64",
	} {
		tests = append(tests,
			tested{kind, "@example.com", "@evil.example", missing, origin},
			tested{kind, "@example.com", "@example.com.evil.example", missing, origin},
			tested{kind, "@example.com/", "@example.com:8080/", missing, origin},
			tested{kind, "http://user", "https://user", missing, origin},
			tested{kind, "http://user:canary@example.com/", `http://example.com@evil.example/`, missing, origin},
			tested{kind, "@example.com", "@example.\u212aom", missing, origin},
			tested{kind, `"method":"GET"`, `"headers":{"host":"evil.example"}`, missing, "header Host"},
		)
	}
	for _, tt := range tests {
		for _, within := range []string{"", "errorAction."} {
			t.Run(tt.kind+" "+within+tt.new, func(t *testing.T) {
				t.Parallel()
				d := mustParse(t, withAction(withErrorAction(secretive(t)[tt.kind])))
				shown := d.Redacted()
				main, reaction := shown.Action, *shown.Action.ErrorAction
				main.ErrorAction = nil
				body := withErrorActionOf(changed(t, main, tt.old, tt.new), compactJSON(t, reaction))
				if within != "" {
					body = withErrorActionOf(compactJSON(t, main), changed(t, reaction, tt.old, tt.new))
				}
				want := "properties.action." + within + tt.missing + "; send it again, because the target changed (" + tt.moved + "), and a stored secret is not sent to another one"
				_, err := input.ParseDefinition([]byte(body), input.ParseOptions{Now: now, Stored: &shown})
				require.Equal(t, want, complaints(t, err), "in a PUT")
				_, err = input.MergeDefinition(shown, []byte(body), input.ParseOptions{Now: now})
				require.Equal(t, want, complaints(t, err), "in a PATCH")

				loose := input.DefaultLimits()
				loose.AllowSecretRetargeting = true
				got, err := input.ParseDefinition([]byte(body), input.ParseOptions{Now: now, Stored: &shown, Limits: &loose})
				require.NoError(t, err, "where the operator allows it")
				_, err = input.KeepSecrets(got, &d, false)
				require.Equal(t, want, complaints(t, err), "where the secrets are")
				got, err = input.KeepSecrets(got, &d, true)
				require.NoError(t, err)
				require.Equal(t, shownSecrets(t, d), shownSecrets(t, got))
			})
		}
	}
}

// withErrorActionOf returns the body of a job with an action and an error action.
func withErrorActionOf(action, reaction string) string {
	return withAction(strings.TrimSuffix(action, "}") + `,"errorAction":` + reaction + `}`)
}

// shownSecrets returns the number of secrets outside URIs: occurrences of the canary, and members pfx.
func shownSecrets(t *testing.T, d job.Definition) int {
	t.Helper()
	d.Action.Request, d.Action.ErrorAction = withoutURI(d.Action.Request), new(*d.Action.ErrorAction)
	d.Action.ErrorAction.Request = withoutURI(d.Action.ErrorAction.Request)
	text := compactJSON(t, d)
	return strings.Count(text, canary) + strings.Count(text, `"pfx"`)
}

func TestSecretsAreKeptWhateverElseOfAURIChanges(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"Basic", "OAuth", "ClientCertificate"} {
		for _, uri := range []string{
			"http://example.com/", "http://example.com", "http://example.com:80/other/path?other=query#other", "http://EXAMPLE.com/?sig=canary", "http://another@example.com/",
		} {
			d := mustParse(t, withAction(secretive(t)[kind]))
			shown := d.Redacted()
			body := withAction(changed(t, shown.Action, shown.Action.Request.URI, uri, `"method":"GET"`, `"method":"PUT","body":"b","headers":{"X-Host":"h"}`))
			got, err := input.ParseDefinition([]byte(body), input.ParseOptions{Now: now, Stored: &shown})
			require.NoError(t, err, uri)
			got, err = input.KeepSecrets(got, &d, false)
			require.NoError(t, err, uri)
			require.Equal(t, d.Action.Request.Authentication, got.Action.Request.Authentication)
		}
	}
}

func TestANewSecretMayGoAnywhere(t *testing.T) {
	t.Parallel()
	for kind, action := range secretive(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			d := mustParse(t, withAction(action))
			shown := d.Redacted()
			body := withAction(strings.NewReplacer("example.com", "example.org", `"acc"`, `"bcc"`, `"ns"`, `"nt"`).Replace(action))
			got, err := input.ParseDefinition([]byte(body), input.ParseOptions{Now: now, Stored: &shown})
			require.NoError(t, err)
			filled, err := input.KeepSecrets(got, &d, false)
			require.NoError(t, err)
			require.Equal(t, compactJSON(t, got), compactJSON(t, filled))
		})
	}
}

func TestKeepSecretsOfNoJob(t *testing.T) {
	t.Parallel()
	for kind, action := range secretive(t) {
		d := mustParse(t, withAction(action))
		got, err := input.KeepSecrets(d, nil, false)
		require.NoError(t, err)
		require.Equal(t, d, got)
		_, err = input.KeepSecrets(d.Redacted(), nil, true)
		require.ErrorContains(t, err, "properties.action.", kind)
		_, err = input.KeepSecrets(d, new(d.Redacted()), false)
		require.NoError(t, err)
	}
}

func TestRedactURI(t *testing.T) {
	t.Parallel()
	for uri, want := range map[string]string{
		"https://example.com":                       "https://example.com",
		"http://u:p@example.com:81/a%20b?c=d#e":     "http://example.com:81/a%20b?…",
		"http://example.com/%zz":                    "(a URI that cannot be read)",
		"https://hooks.example.com/x?code=very+odd": "https://hooks.example.com/x?…",
	} {
		require.Equal(t, want, kind.RedactURI(uri))
	}
}
