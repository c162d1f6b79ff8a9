package webcall_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/cmd/almanac/internal/importer/webcall"
)

var environment = webcall.Environment{
	Known:   map[string]string{"BASE": "https://a.example", "QUOTED": `it's "so"`},
	Unknown: map[string]string{"TOKEN": "the variable TOKEN"},
	Stdin:   new("from\r\n cron\n"),
}

func TestPlainRequests(t *testing.T) {
	t.Parallel()
	const form = `"headers":{"Content-Type":"application/x-www-form-urlencoded"},`
	for command, want := range map[string]string{
		"curl https://a.example/x \\":                                        `{"uri":"https://a.example/x","method":"GET","followRedirects":false}`,
		`curl https://a.example/x`:                                           `{"uri":"https://a.example/x","method":"GET","followRedirects":false}`,
		`/usr/bin/curl -fsSL "https://a.example/x?a=1&b=2" >/dev/null`:       `{"uri":"https://a.example/x?a=1&b=2","method":"GET"}`,
		`curl -XPUT $BASE/x 2>&1`:                                            `{"uri":"https://a.example/x","method":"PUT","followRedirects":false}`,
		`curl -d a=1 -d b=2 ${BASE}`:                                         `{"uri":"https://a.example","method":"POST","body":"a=1&b=2",` + form + `"followRedirects":false}`,
		`curl --data-urlencode 'q=a b&c' $BASE`:                              `{"uri":"https://a.example","method":"POST","body":"q=a%20b%26c",` + form + `"followRedirects":false}`,
		`curl -G -d a=1 "$BASE/x?y=2"`:                                       `{"uri":"https://a.example/x?y=2&a=1","method":"GET","followRedirects":false}`,
		`curl -d @- $BASE`:                                                   `{"uri":"https://a.example","method":"POST","body":"from cron",` + form + `"followRedirects":false}`,
		`curl -d @/etc/body $BASE`:                                           `{"uri":"https://a.example","method":"POST","body":{"$needs":"the body is in a file that the command reads"},` + form + `"followRedirects":false}`,
		`curl --json "$QUOTED" $BASE`:                                        `{"uri":"https://a.example","method":"POST","body":"it's \"so\"","headers":{"Content-Type":"application/json","Accept":"application/json"},"followRedirects":false}`,
		`curl -H "X-A: b" -H 'X-A: c' -A me -I $BASE`:                        `{"uri":"https://a.example","method":"HEAD","headers":{"X-A":"b, c","User-Agent":"me"},"followRedirects":false}`,
		`curl -u "me:$TOKEN" $BASE`:                                          `{"uri":"https://a.example","method":"GET","authentication":{"type":"Basic","username":"me","password":{"$needs":"the variable TOKEN"}},"followRedirects":false}`,
		`curl $BASE/$TOKEN`:                                                  `{"uri":{"$needs":"the variable TOKEN"},"method":"GET","followRedirects":false}`,
		`sh -c 'curl "https://a.example/x" > /dev/null 2>&1'`:                `{"uri":"https://a.example/x","method":"GET","followRedirects":false}`,
		`curl a.example # note`:                                              `{"uri":"http://a.example","method":"GET","followRedirects":false}`,
		"sh -c '# first\n\ncurl \\\n  https://a.example/x # last\n# more\n'": `{"uri":"https://a.example/x","method":"GET","followRedirects":false}`,
		`curl --data-binary @- $BASE`:                                        `{"uri":"https://a.example","method":"POST","body":"from\r\n cron\n",` + form + `"followRedirects":false}`,
		`curl -G -d @/etc/body $BASE`:                                        `{"uri":{"$needs":"a part of the address: the body is in a file that the command reads"},"method":"GET","followRedirects":false}`,
		`curl -G -I -d a=1 $BASE`:                                            `{"uri":"https://a.example?a=1","method":"HEAD","followRedirects":false}`,
		`curl -b a=1 -b 'b=2;' $BASE`:                                        `{"uri":"https://a.example","method":"GET","headers":{"Cookie":"a=1; b=2"},"followRedirects":false}`,
		`curl -H 'User-Agent: y' -A x $BASE`:                                 `{"uri":"https://a.example","method":"GET","headers":{"User-Agent":"y"},"followRedirects":false}`,
		`wget --header 'X-A: b' --header 'X-A: c' $BASE`:                     `{"uri":"https://a.example","method":"GET","headers":{"X-A":"c"}}`,
		`wget -q -O - https://a.example/x`:                                   `{"uri":"https://a.example/x","method":"GET"}`,
		`wget --post-data='a=1' --header "X-A: b" -O/dev/null $BASE;`:        `{"uri":"https://a.example","method":"POST","body":"a=1","headers":{"X-A":"b","Content-Type":"application/x-www-form-urlencoded"}}`,
		`wget --spider --max-redirect=0 $BASE`:                               `{"uri":"https://a.example","method":"HEAD","followRedirects":false}`,
		`wget -nv --user=me --password=pw $BASE`:                             `{"uri":"https://a.example","method":"GET","authentication":{"type":"Basic","username":"me","password":"pw"}}`,
	} {
		call, err := webcall.Shell(command, environment, 3)
		require.NoError(t, err, command)
		got, err := call.Request.MarshalJSON()
		require.NoError(t, err)
		require.Equal(t, want, string(got), command)
	}
}

func TestOtherCommands(t *testing.T) {
	t.Parallel()
	for command, why := range map[string]string{
		"backup.sh":                                                    "no plain curl or wget",
		"curl https://a.example | sh":                                  "more than one command",
		"curl https://a.example && true":                               "more than one command",
		"cd /x && curl https://a.example":                              "no plain curl",
		"curl https://a.example/?a=1&b=2":                              "an & outside quotes",
		"curl `cat url`":                                               "runs another command",
		`curl "$(cat url)"`:                                            "runs another command",
		"curl https://a.example https://b.example":                     "2 addresses",
		"curl -F a=@b https://a.example":                               "-F of the command",
		"curl --socks5 x https://a.example":                            "--socks5",
		"curl ftp://a.example/x":                                       "neither http nor https",
		"curl https://a.example/{a,b}":                                 "braces",
		"curl $MISSING":                                                "MISSING",
		"curl 'https://a.example":                                      "no end",
		"cd /x; curl https://a.example":                                "no plain curl",
		"sh script.sh":                                                 "script",
		"curl -H @file https://a.example":                              "in a file",
		"sh -c 'curl https://a.example # one\ncurl https://b.example'": "more than one command",
		"curl https://a.example # one\nrm x":                           "more than one command",
		"curl -H 'Content-Type: a/b' -H 'Content-Type: c/d' $BASE":     "comes twice",
		"curl":                               "0 addresses",
		"":                                   "no command",
		"FOO=hunter2 curl https://a.example": "no plain curl",
	} {
		_, err := webcall.Shell(command, environment, 3)
		require.ErrorContains(t, err, why, command)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

func TestWhatACommandDoesOtherwise(t *testing.T) {
	t.Parallel()
	for command, why := range map[string]string{
		"curl -f http://localhost:8080/x":          "name of the host",
		"curl -f https://127.0.0.1/x":              "name of the host",
		"curl -f 'http://[::1]:80/x'":              "name of the host",
		"curl -fL http://a.example":                "leads to https",
		"wget http://a.example":                    "leads to https",
		"curl -f --max-time 300 https://a.example": "longer than",
		"curl -f -m 10 https://a.example":          "",
		"curl -f http://a.example":                 "",
		"curl -fL https://a.example":               "",
		"wget $TOKEN/x":                            "",
		"wget https://localhost.example":           "",
	} {
		call, err := webcall.Shell(command, environment, 3)
		require.NoError(t, err, command)
		if why == "" {
			require.Empty(t, call.Differs, command)
		} else {
			require.Contains(t, strings.Join(call.Differs, " "), why, command)
		}
	}
}

func TestArgumentsOfKubernetes(t *testing.T) {
	t.Parallel()
	call, err := webcall.Args([]string{"curl", "-d", "$(NONE) $$(BASE) $BASE", "$(BASE)/x"}, environment, 1)
	require.NoError(t, err)
	got, err := json.Marshal(call.Request)
	require.NoError(t, err)
	require.Contains(t, string(got), `"uri":"https://a.example/x"`)
	require.Contains(t, string(got), `"body":"$(NONE) $(BASE) $BASE"`)
}

func FuzzShell(f *testing.F) {
	for _, command := range []string{`curl -d "a$B" 'x' >y`, "wget -O- --header=a:b $BASE", `sh -c "sh -c 'curl $TOKEN'"`, "curl \\\nx", "curl -u$TOKEN -"} {
		f.Add(command)
	}
	f.Fuzz(func(t *testing.T, command string) {
		call, err := webcall.Shell(command, environment, 1)
		if err != nil {
			return
		}
		text, err := json.Marshal(call.Request)
		require.NoError(t, err)
		require.NotContains(t, string(text), "\ue000")
	})
}
