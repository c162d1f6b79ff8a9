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
	"unicode"
	"unicode/utf16"
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
	"base64 of UTF-16":           func(s string) string { return base64.StdEncoding.EncodeToString([]byte(utf16LE("me:" + s))) },
	"base64 in lines": func(s string) string {
		return inLines(base64.StdEncoding.EncodeToString([]byte("some user, then "+s)), "\r\n")
	},
	"base64 in lines in JSON": func(s string) string {
		return inLines(base64.StdEncoding.EncodeToString([]byte("some user, then "+s)), `\n`)
	},
	"JavaScript's escape": func(s string) string {
		return strings.ReplaceAll(asciiEscapes(s), `\u`, "%u")
	},
	"upper case":             strings.ToUpper,
	"lower case":             strings.ToLower,
	"per cent in other case": func(s string) string { return url.QueryEscape(strings.ToUpper(s)) },
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

func utf16LE(s string) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune(s)) {
		b.Write([]byte{byte(unit), byte(unit >> 8)})
	}
	return b.String()
}

// inLines breaks a text into lines of 20 characters.
func inLines(s, lineBreak string) string {
	const length = 20
	var b strings.Builder
	for ; len(s) > length; s = s[length:] {
		b.WriteString(s[:length] + lineBreak)
	}
	return b.String() + s
}

// asciiEscapes writes all but letters and digits as UTF-16 in JavaScript's escapes.
func asciiEscapes(s string) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune(s)) {
		if c := rune(unit); c < utf8.RuneSelf && (unicode.IsLetter(c) || unicode.IsDigit(c)) {
			b.WriteRune(c)
		} else {
			fmt.Fprintf(&b, "\\u%04x", unit)
		}
	}
	return b.String()
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
		"base64 of ISO 8859-1": base64.StdEncoding.EncodeToString([]byte(between("", ""))),
		"UTF-32":               between("", "\x00\x00\x00"), "control characters": between("\x01", ""), "U+FFFD": strings.Join(strings.Split(password, ""), "\ufffd"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shown := redact.Secrets{password}.Text("before <"+text+"> after", 1000)
			require.Regexp(t, "^before <\ufffd?…\ufffd*> after$", shown)
		})
	}
}

func TestTheBeginningOfATextIsText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"": true, "word": true, "tab\tand\r\nlines": true, "Grüße": true, "Gr\xc3": true, "\xf0\x9f\x98": true,
		"Gr\xfc\xdfe": false, "w\x00o\x00": false, "\x1b[31m": false, "\x1f\x8b\b": false,
	} {
		require.Equal(t, want, redact.IsText([]byte(text)), "%q", text)
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
