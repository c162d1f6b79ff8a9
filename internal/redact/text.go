package redact

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes text of unknown origin safe to store and show: what is not UTF-8,
// and every control character but tab and line ends, becomes U+FFFD.
func Clean(s string) string {
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

const ellipsis = "…" // stands for what is not shown

// Cut returns s, or where it is longer than limit bytes its beginning, at a
// rune boundary, and an ellipsis: limit bytes at most together.
func Cut(s string, limit int) string {
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

// wholeRunes returns s without a rune at its end that is only there in part.
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
