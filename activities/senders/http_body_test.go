package senders_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"

	"almanac/job/kind"
)

const canaryKey = "canary-0123456789abcdef"

func inCharset(t *testing.T, e encoding.Encoding, text string) string {
	t.Helper()
	encoded, err := e.NewEncoder().String(text)
	require.NoError(t, err)
	return encoded
}

// bodyOf returns the body that the history has of an answer.
func bodyOf(t *testing.T, contentType, contentEncoding, body string) string {
	t.Helper()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		}
		if contentEncoding != "" {
			w.Header().Set("Content-Encoding", contentEncoding)
		}
		io.WriteString(w, body)
	})
	message, err := send(t, kind.Request{URI: s.URL + "/?sig=" + canaryKey})
	require.NoError(t, err)
	_, shown, _ := strings.Cut(message, " Body: ")
	return shown
}

func TestABodyIsReadInItsCharset(t *testing.T) {
	t.Parallel()
	utf16 := func(order unicode.Endianness, bom unicode.BOMPolicy) encoding.Encoding {
		return unicode.UTF16(order, bom)
	}
	for _, tt := range []struct {
		name, contentType, text string
		e                       encoding.Encoding
	}{
		{"ISO 8859-1", "text/plain; charset=ISO-8859-1", "Grüße", charmap.ISO8859_1},
		{"in quotes and lower case", `text/plain;charset="iso-8859-15"`, "5 € für Käse", charmap.ISO8859_15},
		{"Windows 1252", "text/plain; charset=windows-1252", "“Grüße” – 5 €", charmap.Windows1252},
		{"Shift_JIS", "text/html; charset=Shift_JIS", "日本語のエラー", japanese.ShiftJIS},
		{"KOI8-R", "text/plain; charset=KOI8-R", "Ошибка", charmap.KOI8R},
		{"an old code page", "text/plain; charset=IBM850", "Grüße", charmap.CodePage850},
		{"UTF-16 with a mark, little endian", "application/json; charset=utf-16", `{"a":"ö日😀"}`, utf16(unicode.LittleEndian, unicode.UseBOM)},
		{"UTF-16 with a mark, big endian", "application/json; charset=utf-16", `{"a":"ö日😀"}`, utf16(unicode.BigEndian, unicode.UseBOM)},
		{"UTF-16 without a mark, little endian", "application/json; charset=utf-16", `{"a":"ö日😀"}`, utf16(unicode.LittleEndian, unicode.IgnoreBOM)},
		{"UTF-16 without a mark, big endian", "application/json; charset=UTF-16", `{"a":"ö日😀"}`, utf16(unicode.BigEndian, unicode.IgnoreBOM)},
		{"UTF-16LE", "text/plain; charset=utf-16le", "日本", utf16(unicode.LittleEndian, unicode.IgnoreBOM)},
		{"UTF-16BE", "text/plain; charset=utf-16be", "日本", utf16(unicode.BigEndian, unicode.IgnoreBOM)},
		{"UTF-16 that is not declared", "application/json", `{"a":"ö"}`, utf16(unicode.LittleEndian, unicode.IgnoreBOM)},
		{"UTF-16 that its mark declares", "", "日本語", utf16(unicode.LittleEndian, unicode.UseBOM)},
		{"UTF-32", "text/plain; charset=utf-32", "ö日😀", utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM)},
		{"UTF-8 with a mark", "text/plain", "Grüße", unicode.UTF8BOM},
		{"UTF-8", "text/plain; charset=utf-8", "Grüße", encoding.Nop},
		{"ASCII that is UTF-8", "text/plain; charset=us-ascii", "Grüße", encoding.Nop},
		{"a charset that nobody knows", "text/plain; charset=klingon", "Grüße", encoding.Nop},
		{"XML", "application/xml", `<?xml version="1.0" encoding="ISO-8859-1"?><a>Grüße</a>`, charmap.ISO8859_1},
		{"HTML", "text/html", `<html><meta http-equiv="Content-Type" content="text/html; charset=windows-1251">Ошибка`, charmap.Windows1251},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.text, bodyOf(t, tt.contentType, "", inCharset(t, tt.e, tt.text)))
			secret := tt.text + " " + canaryKey + " "
			require.Equal(t, tt.text+" … ", bodyOf(t, tt.contentType, "", inCharset(t, tt.e, secret)))
			long := bodyOf(t, tt.contentType, "", inCharset(t, tt.e, tt.text+strings.Repeat(" 0123456789abcde", 1000)))
			require.InDelta(t, 2048, len(long), 4, "as long as others")
			require.Equal(t, tt.text+strings.Repeat(" 0123456789abcde", 1000)[:len(long)-len(tt.text)], long)
		})
	}
}

func compressed(t *testing.T, open func(io.Writer) io.WriteCloser, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := open(&b)
	_, err := io.WriteString(w, text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

func gzipped(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }

func TestABodyIsReadInItsContentEncoding(t *testing.T) {
	t.Parallel()
	deflate := func(w io.Writer) io.WriteCloser {
		f, _ := flate.NewWriter(w, -1)
		return f
	}
	zlibbed := func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }
	const text = "hello " + canaryKey + " Grüße"
	const shown = "hello … Grüße"
	twice := compressed(t, gzipped, compressed(t, zlibbed, text))
	huge := compressed(t, gzipped, strings.Repeat("0", 100<<20))
	half := compressed(t, gzipped, strings.Repeat("x", 100))
	for _, tt := range []struct{ name, encoding, body, want string }{
		{"gzip", "gzip", compressed(t, gzipped, text), shown},
		{"x-gzip", "X-GZIP", compressed(t, gzipped, text), shown},
		{"deflate", "deflate", compressed(t, zlibbed, text), shown},
		{"deflate without a header", "deflate", compressed(t, deflate, text), shown},
		{"two", "deflate, gzip", twice, shown},
		{"identity", "identity", text, shown},
		{"nothing", "gzip", "", ""},
		{"a bomb", "gzip", huge, strings.Repeat("0", 2048)},
		{"not gzip", "gzip", text, shown},
		{"neither gzip nor text", "gzip", "\x00\x01", "(the rest of the body is not in its content encoding)"},
		{"half of it, within a secret", "gzip", cutWithin(t), "hello …(the rest of the body is not in its content encoding)"},
		{"gzip in gzip", "gzip, gzip", compressed(t, gzipped, compressed(t, gzipped, text)), shown},
		{"no encoding", "none", text, shown},
		{"a charset", "UTF-8", text, shown},
		{"Brotli that is none", "br", text, shown},
		{"half of it", "gzip", half[:len(half)-10], strings.Repeat("x", 100) + "(the rest of the body is not in its content encoding)"},
		{"Brotli", "br", "\x8b\x02\x80canary", `(the body has the content encoding "br", which was not asked for and is not read)`},
		{"a secret", canaryKey, "\x00", `(the body has the content encoding "…", which was not asked for and is not read)`},
		{"a secret that is cut", strings.Repeat("x", 50) + canaryKey, "\x00", `(the body has the content encoding "` + strings.Repeat("x", 50) + `…", which was not asked for and is not read)`},
		{"too many", "gzip,gzip,gzip,gzip", "\x1f\x8b", `(the body has the content encoding "gzip, gzip, gzip, gzip", which was not asked for and is not read)`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, bodyOf(t, "text/plain", tt.encoding, tt.body))
		})
	}
}

// cutWithin returns the beginning of a body in gzip that ends within a secret.
func cutWithin(t *testing.T) string {
	t.Helper()
	stored := func(w io.Writer) io.WriteCloser {
		z, err := gzip.NewWriterLevel(w, gzip.NoCompression)
		require.NoError(t, err)
		return z
	}
	body := compressed(t, stored, "hello "+canaryKey)
	return body[:strings.Index(body, canaryKey)+15]
}

// What decodes to nothing would otherwise be decoded long after the time limit of the attempt.
func TestABodyThatDecodesToNothingForHoursIsGivenUp(t *testing.T) {
	t.Parallel()
	const emptyBlock, header = "\x00\x00\x00\xff\xff", 10
	hello := compressed(t, gzipped, "hello")
	late := hello[:header] + strings.Repeat(emptyBlock, 1<<20) + hello[header:]
	require.Equal(t, "(the rest of the body is not in its content encoding)", bodyOf(t, "", "gzip, gzip", compressed(t, gzipped, late)))
}

func TestABodyThatIsNotInItsDeclaredCharsetIsReadInItsOwn(t *testing.T) {
	t.Parallel()
	utf16LE := unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	utf32LE := utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM)
	for _, tt := range []struct {
		name, declared string
		e              encoding.Encoding
	}{
		{"ASCII as UTF-16", "utf-16", nil},
		{"ASCII as UTF-16LE", "utf-16le", nil},
		{"ASCII as UTF-32", "utf-32", nil},
		{"ASCII as EBCDIC", "IBM037", nil},
		{"UTF-8 as ISO 8859-1", "iso-8859-1", encoding.Nop},
		{"UTF-8 as GBK", "gbk", encoding.Nop},
		{"UTF-8 as UTF-16", "utf-16", encoding.Nop},
		{"UTF-8 as what browsers refuse", "iso-2022-kr", encoding.Nop},
		{"UTF-16LE as UTF-8", "utf-8", utf16LE},
		{"UTF-16LE as ISO 8859-1", "iso-8859-1", utf16LE},
		{"UTF-16LE as UTF-16BE", "utf-16be", utf16LE},
		{"UTF-32LE as UTF-16", "utf-16", utf32LE},
		{"UTF-32LE as UTF-32", "utf-32", utf32LE},
		{"UTF-32LE that is not declared", "", utf32LE},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			contentType := ""
			if tt.declared != "" {
				contentType = "text/plain; charset=" + tt.declared
			}
			text := "Grüße von der Straße, "
			if tt.e == nil {
				text, tt.e = "greetings from the street, ", encoding.Nop
			}
			require.Equal(t, text+"….", bodyOf(t, contentType, "", inCharset(t, tt.e, text+canaryKey+".")))
		})
	}
}

// A host knows the secret as it was sent, in UTF-8, whatever charset it declares.
func TestASecretIsHiddenWhateverCharsetIsDeclared(t *testing.T) {
	t.Parallel()
	for _, charset := range []string{"gbk", "shift_jis", "iso-8859-1", "koi8-r", "utf-16", "utf-32", "ibm037", "utf-7", "big5", "euc-kr", "x-user-defined", "hz-gb-2312", "iso-2022-jp", "iso-2022-cn"} {
		t.Run(charset, func(t *testing.T) {
			t.Parallel()
			const password = "canary-pässword"
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/plain; charset="+charset)
				_, got, _ := r.BasicAuth()
				io.WriteString(w, "not "+got+".")
			})
			message, err := send(t, kind.Request{URI: s.URL, Authentication: &kind.Authentication{Type: kind.AuthBasic, Username: "me", Password: password}})
			require.NoError(t, err)
			require.Contains(t, message, "Body: not ….")
		})
	}
}

func TestASecretInTheNameOfAHeaderIsHidden(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(canaryKey, "1")
		w.Header().Set("X-"+canaryKey+"-End", strings.ToUpper(canaryKey))
	})
	message, err := send(t, kind.Request{URI: s.URL + "/?sig=" + canaryKey})
	require.NoError(t, err)
	require.NotContains(t, strings.ToLower(message), canaryKey)
	require.Contains(t, message, "…: 1\r\n")
	require.Contains(t, message, "X-…-End: …\r\n")
}

func TestABodyInACharsetMayDeclareThatItIsNotEncoded(t *testing.T) {
	t.Parallel()
	require.Equal(t, "Grüße", bodyOf(t, "text/plain; charset=iso-8859-1", "None", inCharset(t, charmap.ISO8859_1, "Grüße")))
	require.Equal(t, "\n{", bodyOf(t, "text/plain; charset=utf-16", "", "\x00\n\x00{"), "which is not UTF-32")
}

// In UTF-7 many characters of ASCII may be encoded, too.
func TestABodyInUTF7IsReadAndItsSecretsAreHidden(t *testing.T) {
	t.Parallel()
	const contentType = "text/plain; charset=UTF-7"
	require.Equal(t, "1+1: Grüße 😀, ", bodyOf(t, contentType, "", "1+-1: Gr+APwA3w-e +2D3eAA, "))
	require.Equal(t, "key …. ", bodyOf(t, contentType, "", "key "+strings.NewReplacer("a", "+AGE-", "-", "+AC0-").Replace(canaryKey)+". "))
	require.Equal(t, "cut off ü", bodyOf(t, contentType, "", "cut off +APwA"))
	require.Equal(t, "Grüße", bodyOf(t, contentType, "", "Grüße"), "which is UTF-8")
}

func TestABodyIsReadInBoth(t *testing.T) {
	t.Parallel()
	body := compressed(t, gzipped, inCharset(t, charmap.ISO8859_1, "Grüße "+canaryKey))
	require.Equal(t, "Grüße …", bodyOf(t, "text/plain; charset=latin1", "gzip", body))
}

// Headers have no charset; old servers write ISO 8859-1.
func TestASecretInAHeaderIsHiddenInEachCharset(t *testing.T) {
	t.Parallel()
	const password = "känarä-pässword"
	for name, echo := range map[string]string{
		"UTF-8": password, "ISO 8859-1": inCharset(t, charmap.ISO8859_1, password), "with bytes between": strings.Join(strings.Split(password, ""), "\x80"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Echo", "got "+echo) })
			message, err := send(t, kind.Request{URI: s.URL, Authentication: &kind.Authentication{Type: kind.AuthBasic, Username: "me", Password: password}})
			require.NoError(t, err)
			require.Contains(t, message, "X-Echo: got …\r\n")
		})
	}
}
