package token_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/access"
	"almanac/access/token"
)

var defaults = access.Defaults{Subscription: "s", ResourceGroup: "g"}

func parse(t testing.TB, text string) *token.Set {
	t.Helper()
	s, err := token.Parse([]byte(text), defaults)
	require.NoError(t, err)
	return s
}

func grant(t testing.TB, role access.Role, scope string) access.Grant {
	t.Helper()
	s, err := access.ParseScope(scope, defaults)
	require.NoError(t, err)
	return access.Grant{Role: role, Scope: s}
}

func TestATokenHasAPrefixAnd256BitsAndAChecksum(t *testing.T) {
	t.Parallel()
	made := map[string]bool{}
	for range 100 {
		text := token.New()
		require.Regexp(t, "^"+token.Pattern+"$", text)
		require.True(t, token.WellFormed(text))
		require.False(t, made[text])
		made[text] = true
		for i := range text {
			changed := text[:i] + string("0123456789abcdefg"[(strings.IndexByte("0123456789abcdef", text[i])+1)%16]) + text[i+1:]
			require.False(t, token.WellFormed(changed), "one digit is another")
		}
	}
	for _, wrong := range []string{"", "alm_", token.New()[1:], token.New()[:75], token.New() + "0", strings.ToUpper(token.New())} {
		require.False(t, token.WellFormed(wrong), wrong)
	}
	require.Len(t, regexp.MustCompile(token.Pattern).FindAllString("see "+token.New()+" in the log", -1), 1)
}

func request(authorization ...string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	if len(authorization) > 0 {
		r.Header["Authorization"] = authorization
	}
	return r
}

func TestAHolderIsKnownByTheTokenAndNotByItsHash(t *testing.T) {
	t.Parallel()
	secret, expiring := token.New(), token.New()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	first := token.Entry{Name: "ci", Hash: token.HashOf(secret), Grant: grant(t, access.Operator, "/jobCollections/payroll")}
	second := token.Entry{Name: "old", Hash: token.HashOf(expiring), Expires: now.Add(time.Hour)}
	text := token.Append(token.Append(nil, first, "/jobCollections/payroll"), second, "")
	require.NotContains(t, string(text), secret[len(token.Prefix):])
	set := parse(t, string(text))
	require.Equal(t, []token.Entry{first, second}, set.Entries())

	a := &token.Authenticator{Tokens: func() *token.Set { return set }, Now: func() time.Time { return now }}
	p, err := a.Authenticate(request("Bearer " + secret))
	require.NoError(t, err)
	require.Equal(t, &access.Principal{Kind: access.KindToken, Name: "ci", Grant: first.Grant, Selectors: []access.Selector{{Kind: access.KindToken, Value: "ci"}}}, p)
	p, err = a.Authenticate(request("bearer  " + expiring))
	require.NoError(t, err)
	require.Equal(t, "old", p.Name)

	for _, none := range [][]string{nil, {""}, {"Bearer"}, {"Basic " + secret}, {secret}, {"Bearer eyJ.x.y"}, {"Bearer ALM_" + secret[4:]}} {
		p, err := a.Authenticate(request(none...))
		require.NoError(t, err, none)
		require.Nil(t, p)
	}
	now = now.Add(time.Hour)
	for sent, want := range map[string]string{
		"Bearer " + expiring:                             "The token has expired.",
		"Bearer " + token.New():                          "The token is not known; it may have been revoked.",
		"Bearer " + secret[:20]:                          "checksum is wrong",
		"Bearer " + secret + " ":                         "",
		"Bearer " + secret + "x":                         "checksum is wrong",
		fmt.Sprintf("Bearer alm_%x", first.Hash):         "checksum is wrong",
		fmt.Sprintf("Bearer alm_%x00000000", first.Hash): "checksum is wrong",
	} {
		p, err := a.Authenticate(request(sent))
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), secret[:20])
		require.Nil(t, p)
	}
}

func TestTheLineOfATokenCanBeReadWhateverItsName(t *testing.T) {
	t.Parallel()
	for i, name := range []string{"a", "null", "NULL", "true", "no", "12", "1e3", "0x1f", "2026-11-27", "1.5", "a.b-c_d"} {
		e := token.Entry{Name: name, Hash: token.HashOf(fmt.Sprint(i)), Grant: grant(t, access.Reader, "/")}
		_, err := token.Parse([]byte(e.Line("/")), defaults)
		require.NoError(t, err, e.Line("/"))
	}
	e := token.Entry{Name: "ci", Hash: token.HashOf("a")}
	require.Regexp(t, "^- {name: ci, sha256: ", e.Line(""), "quotes where they are needed only")
}

func TestAMistakeInAFileOfTokensIsReportedWithItsLine(t *testing.T) {
	t.Parallel()
	hash := fmt.Sprintf("%x", token.HashOf("a"))
	for text, want := range map[string]string{
		"- {name: a}":                                                               "line 1: [0].sha256: it is missing",
		"- {name: a, sha256: alm_12}":                                               "line 1: [0].sha256: it is no hash",
		"- {sha256: " + hash + "}":                                                  "line 1: [0].name: it is missing",
		"- {name: 'a b', sha256: " + hash + "}":                                     `line 1: [0].name: "a b" cannot be the name of a token; allowed: 1 to 64 letters`,
		"- {name: a, sha256: " + hash + ", role: reader}":                           "line 1: [0].scope: it is missing",
		"- {name: a, sha256: " + hash + ", scope: /}":                               "line 1: [0].role: it is missing",
		"- {name: a, sha256: " + hash + ", role: root, scope: /}":                   `"root" is no role`,
		"- {name: a, sha256: " + hash + ", expires: soon}":                          "line 1: [0].expires: it is no time; allowed: RFC 3339",
		"- {name: a, sha256: " + hash + ", expire: 2026-01-01T00:00:00Z}":           "[0].expire: there is no such member",
		"- {name: a, sha256: " + hash + "}\n- {name: a, sha256: " + hash[1:] + "0}": "line 2: [1].name: line 1 has a token named a, too",
		"- {name: a, sha256: " + hash + "}\n- {name: b, sha256: " + hash + "}":      "line 2: [1].sha256: line 1 has the same token",
		"tokens: []": "line 1: it is no list",
	} {
		_, err := token.Parse([]byte(text), defaults)
		require.ErrorContains(t, err, want, text)
	}
	for _, empty := range []string{"", "# none\n", "[]"} {
		require.Empty(t, parse(t, empty).Entries())
	}
}

func manyTokens(n int) []byte {
	var text []byte
	for i := range n {
		e := token.Entry{Name: fmt.Sprintf("t%d", i), Hash: token.HashOf(fmt.Sprint(i)), Grant: access.Grant{Role: access.Reader}}
		text = token.Append(text, e, fmt.Sprintf("/jobCollections/c%d", i))
	}
	return text
}

func BenchmarkReadAThousandTokens(b *testing.B) {
	text := manyTokens(1000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := token.Parse(text, defaults); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAuthenticateAmongAThousandTokens(b *testing.B) {
	secret := token.New()
	set := parse(b, string(token.Append(manyTokens(1000), token.Entry{Name: "ci", Hash: token.HashOf(secret)}, "/")))
	a := &token.Authenticator{Tokens: func() *token.Set { return set }}
	r := request("Bearer " + secret)
	b.ReportAllocs()
	for b.Loop() {
		if p, err := a.Authenticate(r); p == nil || err != nil {
			b.Fatal(err)
		}
	}
}
