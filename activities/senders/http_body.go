package senders

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"

	"almanac/internal/redact"
)

// Limits of a body that is encoded.
const (
	maxEncodedBody = 64 << 10 // bytes of each content encoding that are decoded
	maxNote        = 160      // bytes of the reason why a body is not shown
	maxEncodings   = 3        // content encodings of a body
	maxCharUnit    = 4        // bytes of a character that may be one byte in UTF-8
)

// A bodyText is the beginning of a body as text: without its content encodings, which nobody asked for, and in UTF-8.
// It is still of unknown origin.
type bodyText struct {
	text []byte
	raw  []byte // the text before it was decoded from its charset
	note string // why there is no more of it; may hold what the host wrote
}

// readBody reads a body and keeps its first bytes, at most most of them. The error is one of reading; a body that
// cannot be decoded has a note instead.
func readBody(header http.Header, from io.Reader, most int) (bodyText, error) {
	raw := &bodyReader{from: from, most: most}
	plain, unknown := withoutEncodings(raw, header.Values("Content-Encoding"))
	if unknown != "" {
		_, _ = io.CopyN(io.Discard, raw, int64(most)) // as much as is read of others
	}
	var body []byte
	var err error
	if unknown == "" {
		body, err = io.ReadAll(io.LimitReader(plain, int64(most)))
	}
	encoded := unknown != "" || err != nil && raw.err == nil
	if encoded && len(body) == 0 && redact.IsText(raw.head) { // it is not encoded
		body, err, encoded = raw.head, raw.err, false
		plain = http.NoBody
	}
	e := charset(header.Get("Content-Type"), body)
	if e != nil && len(body) == most && err == nil {
		var more []byte
		more, err = io.ReadAll(io.LimitReader(plain, int64(maxCharUnit-1)*int64(most)))
		body = append(body, more...)
		encoded = err != nil && raw.err == nil
	}
	read := bodyText{text: decodeText(e, body), raw: body}
	switch {
	case unknown != "" && encoded:
		read.note = fmt.Sprintf("(the body has the content encoding %q, which was not asked for and is not read)", unknown)
	case encoded:
		read.note = "(the rest of the body is not in its content encoding)"
	}
	return read, raw.err
}

// shown returns at most maxBody bytes of the text without secrets. If the text before it was decoded has more of them,
// the body is not in the charset that it declares.
func (b *bodyText) shown(s redact.Secrets) string {
	text := b.text
	if !bytes.Equal(b.raw, b.text) && s.Count(string(b.raw)) > s.Count(string(b.text)) {
		text = b.raw
	}
	if b.note == "" {
		return s.Beginning(text, maxBody)
	}
	return s.Beginning(text, maxBody/2) + s.Text(b.note, maxNote)
}

// A bodyReader keeps the beginning of what it reads, and the error of reading.
type bodyReader struct {
	from io.Reader
	most int // bytes of the beginning
	head []byte
	err  error
}

// Read implements [io.Reader].
func (r *bodyReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	r.head = append(r.head, p[:min(n, r.most-len(r.head))]...)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

// noEncodings are what servers call a body that has no content encoding.
var noEncodings = []string{"identity", "none", "binary", "8bit", "utf-8", "utf8"}

// withoutEncodings returns a reader of what content encodings, in the order in which they were applied, encode. unknown
// is one that is not read; "" if there is none.
func withoutEncodings(body io.Reader, headers []string) (plain io.Reader, unknown string) {
	names := strings.FieldsFunc(strings.ToLower(strings.Join(headers, ",")), func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(noEncodings, name) })
	if len(names) > maxEncodings {
		return nil, strings.Join(names, ", ")
	}
	for _, name := range slices.Backward(names) {
		// Without a limit for each, a short body could decode for hours to nothing.
		switch from := io.LimitReader(body, maxEncodedBody); name {
		case "gzip", "x-gzip":
			body = &lateReader{open: func() (io.Reader, error) { return gzip.NewReader(from) }}
		case "deflate":
			body = &lateReader{open: func() (io.Reader, error) { return newDeflate(from) }}
		default:
			return nil, name
		}
	}
	return body, ""
}

// A lateReader opens a reader, which reads a header, when it is read.
type lateReader struct {
	open   func() (io.Reader, error)
	opened io.Reader
}

// Read implements [io.Reader].
func (r *lateReader) Read(p []byte) (int, error) {
	if r.opened == nil {
		opened, err := r.open()
		if err != nil {
			return 0, err // io.EOF is that of an empty body
		}
		r.opened = opened
	}
	return r.opened.Read(p)
}

// newDeflate returns a reader of the content encoding deflate, which is zlib's format (RFC 9110, section 8.4.1.2), and
// which some servers send without its header.
func newDeflate(from io.Reader) (io.Reader, error) {
	buffered := bufio.NewReader(from)
	head, err := buffered.Peek(2)
	if err != nil {
		return nil, err
	}
	if head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		return zlib.NewReader(buffered)
	}
	return flate.NewReader(buffered), nil
}

var (
	charsetParameter = regexp.MustCompile(`(?i);\s*charset\s*=\s*["']?([A-Za-z0-9_.:+-]+)`)
	xmlEncoding      = regexp.MustCompile(`^\s*<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z0-9_.:-]+)`)
	metaCharset      = regexp.MustCompile(`(?i)<meta\s[^>]*?charset\s*=\s*["']?([A-Za-z0-9_.:-]+)`)
)

const metaWithin = 1024 // bytes within which HTML declares its charset

// byteOrderMarks are the beginnings of texts that say their encoding themselves, the longer ones first.
var byteOrderMarks = []struct {
	mark string
	encoding.Encoding
}{
	{"\xef\xbb\xbf", unicode.UTF8BOM},
	{"\xff\xfe\x00\x00", utf32.UTF32(utf32.LittleEndian, utf32.UseBOM)},
	{"\x00\x00\xfe\xff", utf32.UTF32(utf32.BigEndian, utf32.UseBOM)},
	{"\xff\xfe", unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)},
	{"\xfe\xff", unicode.UTF16(unicode.BigEndian, unicode.UseBOM)},
}

// charset returns the encoding of a text; nil for UTF-8, and for one that is not known. In the order of precedence it
// is said by a byte order mark, by zero bytes as only UTF-16 and UTF-32 have them, by the content type, or by XML or
// HTML. A text in UTF-8 whose declaration says something else is taken for what it is.
func charset(contentType string, body []byte) encoding.Encoding {
	for _, bom := range byteOrderMarks {
		if bytes.HasPrefix(body, []byte(bom.mark)) {
			return bom.Encoding
		}
	}
	const least = 8 // characters with a zero byte, of 16 in a text that does not say that it is UTF-16
	if wide := wideCharset(body, least); wide != nil {
		return wide
	}
	name := ""
	if m := charsetParameter.FindStringSubmatch(contentType); m != nil {
		name = m[1]
	} else if m := xmlEncoding.FindSubmatch(body); m != nil {
		name = string(m[1])
	} else if m := metaCharset.FindSubmatch(body[:min(len(body), metaWithin)]); m != nil && strings.Contains(strings.ToLower(contentType), "html") {
		name = string(m[1])
	}
	e := charsetOf(name, body)
	if _, ascii := e.(utf7); ascii && multibyte(body) == 0 {
		return e
	}
	if e != nil && redact.IsText(body) && (!extendsASCII(e) || multibyte(body) > 1) {
		return nil
	}
	return e
}

// charsetOf returns the encoding of a name; nil for UTF-8, and for one that is not known. The body may say the byte
// order.
func charsetOf(name string, body []byte) encoding.Encoding {
	switch name = strings.ToLower(name); name {
	case "", "us-ascii", "ascii", "utf-8", "utf8":
		return nil
	case "utf-16", "utf16", "ucs-2", "iso-10646-ucs-2", "unicode":
		if wide := wideCharset(body, 0); wide != nil {
			return wide
		}
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM) // RFC 2781
	case "utf-32", "utf-32be":
		return utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM)
	case "utf-32le":
		return utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM)
	case "utf-7", "utf7", "unicode-1-1-utf-7":
		return utf7{}
	}
	if e, err := htmlindex.Get(name); err == nil && e != encoding.Replacement {
		// which is for those that browsers refuse
		return e
	}
	if e, err := ianaindex.MIME.Encoding(name); err == nil && e != nil {
		return e
	}
	return nil
}

// extendsASCII reports whether ASCII in an encoding is as it is.
func extendsASCII(e encoding.Encoding) bool {
	const letters = "azAZ09/-"
	decoded, err := e.NewDecoder().String(letters)
	return err == nil && decoded == letters
}

// multibyte returns the number of characters outside ASCII in a text in UTF-8.
func multibyte(text []byte) (n int) {
	for _, r := range string(text) {
		if r >= utf8.RuneSelf {
			n++
		}
	}
	return n
}

// wideCharset returns UTF-32, or UTF-16 in the byte order in which more than least of 16 characters of a text have a
// zero byte; nil if there is none.
func wideCharset(body []byte, least int) encoding.Encoding {
	head := body[:min(len(body), 256)/4*4]
	const planes = 0x10                         // the greatest third byte of a character
	big, little := len(head) > 4, len(head) > 4 // one alone may be chance
	for i := 0; i < len(head); i += 4 {
		big = big && head[i] == 0 && head[i+1] <= planes
		little = little && head[i+3] == 0 && head[i+2] <= planes
	}
	switch {
	case big && !little:
		return utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM)
	case little && !big:
		return utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM)
	}
	head = body[:min(len(body), 256)/2*2]
	var zeros [2]int
	for i, c := range head {
		if c == 0 {
			zeros[i%2]++
		}
	}
	switch most := len(head) / 2 * least / 16; {
	case zeros[1] > most && zeros[1] > 3*zeros[0]:
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case zeros[0] > most && zeros[0] > 3*zeros[1]:
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	}
	return nil
}

// decodeText returns a text in UTF-8; nil is the encoding of one that is so already. A character that is cut off at the
// end is left out.
func decodeText(e encoding.Encoding, text []byte) []byte {
	if e == nil {
		return text
	}
	decoded := make([]byte, 4*len(text)+utf8.UTFMax)
	n, _, _ := e.NewDecoder().Transform(decoded, text, false) // what cannot be decoded becomes U+FFFD
	return decoded[:n]
}
