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
	maxEncodedBody = 64 << 10 // bytes that are read of a body with a content encoding
	maxEncodings   = 3        // content encodings of a body
	maxCharUnit    = 4        // bytes of a character that may be one byte in UTF-8
)

// readBody returns the beginning of a body as text: without its content encodings, which nobody asked for, and in UTF-8. The text is
// still of unknown origin. The error is one of reading; a body that cannot be decoded says so instead.
func readBody(resp *http.Response) ([]byte, error) {
	raw := &bodyReader{from: resp.Body}
	plain, unknown := withoutEncodings(io.LimitReader(raw, maxEncodedBody), resp.Header.Values("Content-Encoding"))
	if unknown != "" {
		_, _ = io.CopyN(io.Discard, raw, maxBody) // as much as is read of others
		return fmt.Appendf(nil, "(the body has the content encoding %q, which was not asked for and is not read)", redact.Cut(redact.Clean(unknown), 40)), raw.err
	}
	body, err := io.ReadAll(io.LimitReader(plain, maxBody))
	e := charset(resp.Header.Get("Content-Type"), body)
	if e != nil && len(body) == maxBody && err == nil {
		var more []byte
		more, err = io.ReadAll(io.LimitReader(plain, (maxCharUnit-1)*maxBody))
		body = append(body, more...)
	}
	text := decodeText(e, body)
	if err != nil && raw.err == nil {
		text = append(text[:min(len(text), maxBody/2)], "(the rest of the body is not in its content encoding)"...)
	}
	return text, raw.err
}

// A bodyReader keeps the error of reading.
type bodyReader struct {
	from io.Reader
	err  error
}

// Read implements [io.Reader].
func (r *bodyReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

// withoutEncodings returns a reader of what content encodings, in the order in which they were applied, encode. unknown is one that
// is not read; "" if there is none.
func withoutEncodings(body io.Reader, headers []string) (plain io.Reader, unknown string) {
	names := strings.FieldsFunc(strings.ToLower(strings.Join(headers, ",")), func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
	names = slices.DeleteFunc(names, func(name string) bool { return name == "identity" })
	if len(names) > maxEncodings {
		return nil, strings.Join(names, ", ")
	}
	for _, name := range slices.Backward(names) {
		switch from := body; name {
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

// newDeflate returns a reader of the content encoding deflate, which is zlib's format (RFC 9110, section 8.4.1.2), and which some
// servers send without its header.
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

// charset returns the encoding of a text; nil for UTF-8, and for one that is not known. In the order of precedence it is said by a byte
// order mark, by the content type, or by XML or HTML. A text whose every second byte is zero is UTF-16.
func charset(contentType string, body []byte) encoding.Encoding {
	for _, bom := range byteOrderMarks {
		if bytes.HasPrefix(body, []byte(bom.mark)) {
			return bom.Encoding
		}
	}
	name := ""
	if m := charsetParameter.FindStringSubmatch(contentType); m != nil {
		name = m[1]
	} else if m := xmlEncoding.FindSubmatch(body); m != nil {
		name = string(m[1])
	} else if m := metaCharset.FindSubmatch(body[:min(len(body), metaWithin)]); m != nil && strings.Contains(strings.ToLower(contentType), "html") {
		name = string(m[1])
	}
	const least = 8 // characters with a zero byte, of 16 in a text that does not say that it is UTF-16
	wide := wideCharset(body, least)
	switch name = strings.ToLower(name); name {
	case "utf-16", "utf16", "ucs-2", "iso-10646-ucs-2", "unicode":
		if wide = wideCharset(body, 0); wide == nil {
			return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM) // RFC 2781
		}
		return wide
	case "", "us-ascii", "ascii":
		return wide
	case "utf-8", "utf8":
		return nil
	case "utf-32", "utf-32be":
		return utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM)
	case "utf-32le":
		return utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM)
	}
	if e, err := htmlindex.Get(name); err == nil {
		return e
	}
	if e, err := ianaindex.MIME.Encoding(name); err == nil && e != nil {
		return e
	}
	return wide
}

// wideCharset returns UTF-16 in the byte order in which more than least of 16 characters of a text have a zero byte; nil if there is none.
func wideCharset(body []byte, least int) encoding.Encoding {
	head := body[:min(len(body), 256)/2*2]
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

// decodeText returns a text in UTF-8; nil is the encoding of one that is so already. A character that is cut off at the end is left out.
func decodeText(e encoding.Encoding, text []byte) []byte {
	if e == nil {
		return text
	}
	decoded := make([]byte, 4*len(text)+utf8.UTFMax)
	n, _, _ := e.NewDecoder().Transform(decoded, text, false) // what cannot be decoded becomes U+FFFD
	return decoded[:n]
}
