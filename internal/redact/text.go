package redact

import (
	"encoding/json"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes text of unknown origin safe to store and show. It replaces invalid UTF-8, and
// control characters other than tab and line ends, by U+FFFD.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		if isNoText(r) {
			return utf8.RuneError
		}
		return r
	}, s)
}

// isNoText reports whether a rune is an invalid byte, or a control character other than tab
// and line ends.
func isNoText(r rune) bool {
	return r == utf8.RuneError || unicode.IsControl(r) && r != '\t' && r != '\r' && r != '\n'
}

// IsText reports whether the beginning of a text is UTF-8 without control characters other than tab and line ends. It
// may be cut off anywhere.
func IsText(beginning []byte) bool {
	return !strings.ContainsFunc(wholeRunes(string(beginning)), isNoText)
}

const ellipsis = "…" // in place of hidden text

// Cut cuts s to at most limit bytes, at a rune boundary. If it cuts anything, the result ends
// in an ellipsis.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return prefix(s, limit-len(ellipsis)) + ellipsis
}

// CutJSON is Cut with a limit of the bytes that s takes in a JSON string, without its quotes: package encoding/json
// writes some characters, such as <, in 6 bytes.
func CutJSON(s string, limit int) string {
	if sizeInJSON(s) <= limit {
		return s
	}
	tooLong := sort.Search(len(s), func(n int) bool { return sizeInJSON(prefix(s, n)+ellipsis) > limit })
	return prefix(s, max(0, tooLong-1)) + ellipsis
}

// sizeInJSON returns the number of bytes that s takes in a JSON string, without its quotes.
func sizeInJSON(s string) int {
	text, _ := json.Marshal(s) //workflowcheck:ignore // a string can always be encoded, and is always encoded alike
	return len(text) - len(`""`)
}

// prefix returns at most limit bytes of s, without an incomplete rune.
func prefix(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// wholeRunes returns s without an incomplete rune at its end.
func wholeRunes(s string) string {
	for back := 1; back < utf8.UTFMax && back <= len(s); back++ {
		if last := s[len(s)-back:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRuneInString(last) {
				return s[:len(s)-back]
			}
			break
		}
	}
	return s
}

// fold returns s in lower case, in which each character takes as many bytes as in s.
func fold(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for at := 0; at < len(s); {
		if c := s[at]; c < utf8.RuneSelf {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			b.WriteByte(c)
			at++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[at:])
		if lower := unicode.ToLower(r); utf8.RuneLen(lower) == size {
			b.WriteRune(lower)
		} else {
			b.WriteString(s[at : at+size])
		}
		at += size
	}
	return b.String()
}
