package redact_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"almanac/internal/redact"
)

// A password with characters that each encoding writes in its own way.
const awkward = `kä"n<&r>i/+e ~'\\n😀%41`

// encoders write a text as hosts may, among them those of other languages.
var encoders = map[string]func(string) string{
	"as it is":                  func(s string) string { return s },
	"JSON":                      func(s string) string { return jsonText(s, true) },
	"JSON that is not for HTML": func(s string) string { return jsonText(s, false) },
	"JSON in ASCII":             strconv.QuoteToASCII,
	"JSON with surrogates": func(s string) string {
		return strings.ReplaceAll(strconv.QuoteToASCII(s), `\U0001f600`, `\ud83d\uDE00`)
	},
	"JSON of PHP":                func(s string) string { return strings.ReplaceAll(jsonText(s, false), "/", `\/`) },
	"JSON in JSON":               func(s string) string { return jsonText(jsonText(s, true), true) },
	"HTML":                       html.EscapeString,
	"HTML by number":             func(s string) string { return eachRune(s, "&#%d;") },
	"HTML by hexadecimal number": func(s string) string { return eachRune(s, "&#x%x;") },
	"JSON in HTML":               func(s string) string { return html.EscapeString(jsonText(s, false)) },
	"a path":                     url.PathEscape,
	"a form":                     url.QueryEscape,
	"per cent in lower case":     func(s string) string { return strings.ToLower(eachByte(s, "%%%02x")) },
	"per cent in upper case":     func(s string) string { return eachByte(s, "%%%02X") },
	"per cent twice":             func(s string) string { return url.PathEscape(url.QueryEscape(s)) },
	"bytes in Go or Python":      func(s string) string { return eachByte(s, `\x%02x`) },
	"base64":                     func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"base64 without padding":     func(s string) string { return base64.RawStdEncoding.EncodeToString([]byte(s)) },
	"base64 for addresses":       func(s string) string { return base64.URLEncoding.EncodeToString([]byte(s)) },
	"base64 of credentials":      func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte("me:" + s)) },
	"base64 behind a slash":      func(s string) string { return "Basic/" + base64.StdEncoding.EncodeToString([]byte("me:"+s)) },
	"base64 of JSON": func(s string) string {
		return base64.StdEncoding.EncodeToString([]byte(`{"password":` + jsonText(s, true) + `}`))
	},
	"base64 in a form": func(s string) string { return url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(s))) },
	"base64 in JSON of PHP": func(s string) string {
		return strings.ReplaceAll(base64.StdEncoding.EncodeToString([]byte(s)), "/", `\/`)
	},
}

func jsonText(s string, forHTML bool) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(forHTML)
	_ = e.Encode(s)
	return strings.TrimSpace(b.String())
}

func eachRune(s, format string) string {
	var b strings.Builder
	for _, r := range s {
		fmt.Fprintf(&b, format, r)
	}
	return b.String()
}

func eachByte(s, format string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&b, format, c)
	}
	return b.String()
}

// However a password is encoded, the text does not show it.
func TestEncodedSecretsAreHidden(t *testing.T) {
	t.Parallel()
	var s redact.Secrets
	s.AddCredentials("me", awkward)
	for name, encode := range encoders {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shown := s.Text("before <"+encode(awkward)+"> after", 1000)
			require.Regexp(t, `^before <("|&#34;|\\"|Basic/)*…("|&#34;|\\"|%3D|=)*> after$`, shown)
		})
	}
}

// A text may be in a charset that nothing declares, or have bytes between its characters.
func TestSecretsInOtherCharsetsAreHidden(t *testing.T) {
	t.Parallel()
	const password = `kän"<&r>i/+e`
	between := func(before, after string) string {
		var b strings.Builder
		for _, r := range password {
			b.WriteString(before + string([]byte{byte(r)}) + after) // all characters are in ISO 8859-1
		}
		return b.String()
	}
	for name, text := range map[string]string{
		"ISO 8859-1": between("", ""), "UTF-16": between("", "\x00"), "UTF-16 in big endian": between("\x00", ""),
		"UTF-32": between("", "\x00\x00\x00"), "control characters": between("\x01", ""), "U+FFFD": strings.Join(strings.Split(password, ""), "\ufffd"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shown := redact.Secrets{password}.Text("before <"+text+"> after", 1000)
			require.Regexp(t, "^before <\ufffd?…\ufffd*> after$", shown)
		})
	}
}

// Text that is no secret may be shown: at most three bytes of a secret that is cut off.
func TestEncodedSecretsAreHiddenWhereTheTextIsCut(t *testing.T) {
	t.Parallel()
	const password = `canary"<winter>&/2026/sesame`
	for name, encode := range encoders {
		encoded := encode(password)
		for n := range len(encoded) {
			shown := redact.Secrets{password}.Beginning([]byte("before "+encoded[:n]), 1000)
			require.Less(t, len(shown), len("before …"+encode(password[:4])), "%d bytes of %s: %s", n, name, shown)
		}
	}
}

// A text is cut before it is read, and within a secret as well.
func TestEncodedSecretsAreHiddenWhereALongTextIsCut(t *testing.T) {
	t.Parallel()
	const password, limit = `canary"<winter>&/2026/sesame`, 250
	for name, encode := range encoders {
		encoded := encode(password)
		part := encoded[:len(encode(password[:4]))]
		for n := range limit {
			shown := redact.Secrets{password}.Text(strings.Repeat(" ", n)+encoded+strings.Repeat(" ", limit), limit)
			require.NotContains(t, shown, part, "%s at %d", name, n)
			require.LessOrEqual(t, len(shown), limit)
			require.True(t, strings.HasSuffix(shown, "…"), shown)
		}
	}
}

// The size of a text that is made longer or shorter by what stands for a part of it.
func TestATextIsCutAtItsLimit(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "word", strings.Repeat("\x00", 3000), strings.Repeat("\x80", 3000), strings.Repeat("😀", 800), strings.Repeat("secret", 800)} {
		for _, limit := range []int{3, 4, 100, 2048} {
			shown := redact.Secrets{"secret"}.Text(text, limit)
			require.LessOrEqual(t, len(shown), limit)
			require.True(t, utf8.ValidString(shown))
			if text != "" {
				require.NotEmpty(t, shown)
			}
			require.LessOrEqual(t, len(redact.Secrets{"secret"}.Beginning([]byte(text), limit)), limit)
		}
	}
}

func TestCutJSON(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "short", strings.Repeat("a", 100), strings.Repeat("<", 100), strings.Repeat("ä", 100), strings.Repeat("\U0001F4C5", 50), strings.Repeat("\x00\"", 50), strings.Repeat("\xff", 90), strings.Repeat("a<ä\u2028", 30)} {
		for limit := 3; limit < 130; limit++ {
			cut := redact.CutJSON(s, limit)
			text, err := json.Marshal(cut)
			require.NoError(t, err)
			require.LessOrEqual(t, len(text)-2, limit, "%q", s)
			whole, err := json.Marshal(s)
			require.NoError(t, err)
			if len(whole)-2 <= limit {
				require.Equal(t, s, cut)
			} else {
				require.GreaterOrEqual(t, len(text)-2, limit-12, "%q", s)
				require.True(t, strings.HasPrefix(s, strings.TrimSuffix(cut, "…")))
			}
		}
	}
}
