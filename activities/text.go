package activities

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// clean makes text of unknown origin safe to store and show: what is not UTF-8,
// and every control character but tab and line ends, becomes U+FFFD.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if isNoText(r) {
			return utf8.RuneError
		}
		return r
	}, s)
}

// isNoText reports whether a rune is an invalid byte, or a control character other than
// tab and line ends.
func isNoText(r rune) bool {
	return r == utf8.RuneError || unicode.IsControl(r) && r != '\t' && r != '\r' && r != '\n'
}

// cut returns s, or where it is longer than limit bytes its beginning, at a
// rune boundary, and an ellipsis: limit bytes at most together.
func cut(s string, limit int) string {
	const ellipsis = "…"
	if len(s) <= limit {
		return s
	}
	return prefix(s, limit-len(ellipsis)) + ellipsis
}

// prefix returns at most limit bytes of s, and no part of a rune.
func prefix(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// wholeRunes returns b without a rune at its end that is only there in part.
func wholeRunes(b []byte) []byte {
	for back := 1; back < utf8.UTFMax && back <= len(b); back++ {
		if last := b[len(b)-back:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return b[:len(b)-back]
			}
			break
		}
	}
	return b
}
