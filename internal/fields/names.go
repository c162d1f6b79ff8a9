package fields

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Normalize maps ASCII letters to lower case, as Azure Resource Manager does to compare names. Other
// characters are unchanged, without normalization: the Kelvin sign is not a k, and a precomposed é differs
// from an e with an accent.
func Normalize(name string) string {
	if isLower(name) {
		return name
	}
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}

// isLower reports whether a name is ASCII without capital letters, as most are.
func isLower(name string) bool {
	for i := range len(name) {
		if c := name[i]; c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' {
			return false
		}
	}
	return true
}

// SameName reports whether two names are equal under [Normalize].
func SameName(a, b string) bool { return len(a) == len(b) && Normalize(a) == Normalize(b) }

// OneOf joins words: "a, b or c".
func OneOf(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// Nearest returns the known name closest to a misspelled one; "" if none is close.
func Nearest(name string, known []string) string {
	best, least := "", 2+len(name)/5
	if len(name) > 64 {
		return ""
	}
	for _, k := range known {
		if d := editDistance(Normalize(name), Normalize(k)); d < min(least, len(k)) {
			best, least = k, d
		}
	}
	return best
}

// editDistance returns the Levenshtein distance of a and b, in bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}

// Shorten makes a name from the body safe for an error: at most 60 characters, without control characters.
func Shorten(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, name)
	return Cut(name, 60)
}

// Cut returns a text of at most so many characters, and an ellipsis after them if there were more.
func Cut(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}
