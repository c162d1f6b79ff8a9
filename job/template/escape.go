package template

import (
	"encoding/xml"
	"fmt"
	"mime"
	"strings"

	"almanac/internal/fields"
)

// forURI percent-encodes everything but letters, digits, "-", ".", "_" and "~", so that a value is one segment of a
// path, or one name or value of a query or form.
func forURI(value string) string {
	var b strings.Builder
	for _, c := range []byte(value) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// forHeader replaces control characters, line breaks among them, by blanks, and percent-encodes what is not ASCII, for
// which HTTP has no encoding.
func forHeader(value string) string {
	var b strings.Builder
	for _, c := range []byte(value) {
		switch {
		case c < ' ', c == 0x7f:
			b.WriteByte(' ')
		case c > 0x7f:
			fmt.Fprintf(&b, "%%%02X", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// forJSON escapes a value for the inside of a JSON string.
func forJSON(value string) string {
	quoted, err := fields.PlainJSON(value)
	if err != nil {
		return "" // a string has a JSON form
	}
	return string(quoted[1 : len(quoted)-1])
}

// forXML escapes a value for XML and HTML, between tags and in attributes.
func forXML(value string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(value)) // a Builder takes everything
	return b.String()
}

func plain(value string) string { return value }

// isJSONType reports whether a content type is one of JSON.
func isJSONType(mediaType string) bool {
	return mediaType == "application/json" || mediaType == "text/json" || strings.HasSuffix(mediaType, "+json")
}

// contentEscape returns how values are escaped in a text of a content type. A text without one is JSON if it is that
// with its placeholders filled in.
func (t *template) contentEscape(contentType string) func(string) string {
	mediaType, _, _ := mime.ParseMediaType(contentType) // "" for one that cannot be read
	switch {
	case isJSONType(mediaType):
		return forJSON
	case mediaType == "application/xml", mediaType == "text/xml", mediaType == "text/html", strings.HasSuffix(mediaType, "+xml"):
		return forXML
	case mediaType == "application/x-www-form-urlencoded":
		return forURI
	case mediaType == "" && t.isJSON():
		return forJSON
	}
	return plain
}
