package redact

import (
	"encoding/base64"
	"encoding/binary"
	"html"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// A view is a text after an encoding was undone.
type view struct {
	text     string
	from, to []int // begin and end of the encoded form of each byte in the original text; nil: the view is that text
}

// source returns the position in the original text of the encoded form of the bytes from begin to end.
func (v *view) source(begin, end int) (from, to int) {
	if v.from == nil {
		return begin, end
	}
	return v.from[begin], v.to[end-1]
}

// mark marks the encoded form of the bytes from begin to end. If end is the end of the view,
// the rest of the original text is marked too: it is part of an encoded form that is cut off.
func (v *view) mark(begin, end int, hidden []bool) {
	from, to := v.source(begin, end)
	if end == len(v.text) {
		to = len(hidden)
	}
	for i := from; i < to; i++ {
		hidden[i] = true
	}
}

// decode returns the view with an encoding undone; nil if that changes nothing.
func (v *view) decode(e encoding) *view {
	if !containsByte(v.text, e.marks) {
		return nil
	}
	d, changed := &view{}, false
	var b strings.Builder
	for at := 0; at < len(v.text); {
		text, size := "", 0
		if strings.IndexByte(e.marks, v.text[at]) >= 0 {
			text, size = e.decode(v.text[at:])
		}
		if same := max(size, 1); size == 0 || text == v.text[at:at+same] {
			for end := at + same; at < end; at++ {
				from, to := v.source(at, at+1)
				d.from, d.to = append(d.from, from), append(d.to, to)
				b.WriteByte(v.text[at])
			}
			continue
		}
		changed = true
		from, to := v.source(at, at+size)
		for range len(text) {
			d.from, d.to = append(d.from, from), append(d.to, to)
		}
		b.WriteString(text)
		at += size
	}
	d.text = b.String()
	if !changed {
		return nil
	}
	return d
}

// containsByte reports whether a text has one of some bytes.
func containsByte(text, of string) bool {
	for i := range len(text) {
		if strings.IndexByte(of, text[i]) >= 0 {
			return true
		}
	}
	return false
}

// An encoding is a way to write text. decode decodes the beginning of the rest of a text,
// which begins with one of marks, and returns its size in bytes: 0 if it is not encoded. An
// encoded form that is cut off at the end decodes to nothing.
type encoding struct {
	marks  string
	decode func(rest string) (text string, size int)
}

const base64Marks = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_"

var encodings = []encoding{
	{"%", percent},
	{"%+", func(rest string) (string, int) {
		if rest[0] == '+' {
			return " ", 1
		}
		return percent(rest)
	}},
	{`\`, backslash},
	{"&", entity},
	{base64Marks, base64Run},
	{base64Marks, base64Lines},
	{noiseMarks, noise},
	{highBytes, windows1252},
}

// The bytes of which control characters, invalid UTF-8 and U+FFFD consist.
var (
	noiseMarks = "\x00\x01\x02\x03\x04\x05\x06\a\b\v\f\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f\x7f" + highBytes
	highBytes  = bytesFrom(0x80)
)

// bytesFrom returns all bytes from the first to 255.
func bytesFrom(first int) string {
	var b strings.Builder
	for c := first; c <= 0xff; c++ {
		b.WriteByte(byte(c))
	}
	return b.String()
}

// noise leaves out what is no text, such as the zero bytes of UTF-16.
func noise(rest string) (string, int) {
	r, size := utf8.DecodeRuneInString(rest)
	if isNoText(r) {
		return "", size
	}
	return rest[:size], size
}

// windows1252 decodes a byte that is not UTF-8, as ISO 8859-1 writes characters too.
func windows1252(rest string) (string, int) {
	r, size := utf8.DecodeRuneInString(rest)
	if r == utf8.RuneError && size == 1 {
		return string(charmap.Windows1252.DecodeByte(rest[0])), 1
	}
	return rest[:size], size
}

func percent(rest string) (string, int) {
	if len(rest) < len("%41") {
		return "", len(rest)
	}
	if rest[1] == 'u' { // JavaScript's escape
		return backslash(strings.ReplaceAll(rest[:min(len(rest), maxEscape)], "%u", `\u`))
	}
	c, err := strconv.ParseUint(rest[1:3], 16, 8)
	if err != nil {
		return "", 0
	}
	return string([]byte{byte(c)}), 3
}

// maxEscape is the maximum length of an escape sequence, in bytes: that of 😀 in JSON.
const maxEscape = len(`\ud83d\ude00`)

// backslash decodes an escape sequence of JSON, JavaScript or Go.
func backslash(rest string) (string, int) {
	if strings.HasPrefix(rest, `\/`) || strings.HasPrefix(rest, `\'`) {
		return rest[1:2], 2
	}
	if high, err := strconv.ParseUint(after(rest, `\u`, 4), 16, 32); err == nil && utf16.IsSurrogate(rune(high)) {
		if low, err := strconv.ParseUint(after(rest[6:], `\u`, 4), 16, 32); err == nil {
			return string(utf16.DecodeRune(rune(high), rune(low))), maxEscape
		}
	}
	r, multibyte, tail, err := strconv.UnquoteChar(rest, '"')
	switch {
	case err == nil && !multibyte:
		return string([]byte{byte(r)}), len(rest) - len(tail)
	case err == nil:
		return string(r), len(rest) - len(tail)
	case len(rest) < maxEscape:
		return "", len(rest)
	}
	return "", 0
}

// after returns the n bytes after a prefix; "" if s does not have them.
func after(s, prefix string, n int) string {
	tail, ok := strings.CutPrefix(s, prefix)
	if !ok || len(tail) < n {
		return ""
	}
	return tail[:n]
}

// entity decodes a character reference of HTML or XML.
func entity(rest string) (string, int) {
	end := strings.IndexByte(rest[:min(len(rest), maxEscape)], ';')
	if end < 0 {
		if len(rest) < maxEscape {
			return "", len(rest)
		}
		return "", 0
	}
	if text := html.UnescapeString(rest[:end+1]); text != rest[:end+1] {
		return text, end + 1
	}
	return "", 0
}

// base64Run decodes base64, of either alphabet, padded or not, on one line.
func base64Run(rest string) (string, int) {
	size := runSize(rest)
	longest := longestBase64(rest[:size])
	if longest == "" {
		return rest[:size], size // so that it is not decoded again from its second character on
	}
	padding := len(rest[size:]) - len(strings.TrimLeft(rest[size:], "="))
	return longest, size + padding
}

// base64Lines decodes base64 in lines, as mails and PEM files have it: all but the last of one length, which is a
// multiple of 4.
func base64Lines(rest string) (string, int) {
	length := runSize(rest)
	run, size := rest[:length], length
	for last := length; length >= minLine && length%4 == 0 && last == length; {
		next := strings.TrimPrefix(strings.TrimPrefix(rest[size:], "\r"), "\n")
		if last = min(runSize(next), length); len(next) == len(rest)-size { // no line break
			break
		}
		run += next[:last]
		size = len(rest) - len(next) + last
	}
	if len(run) > length {
		if longest := longestBase64(run); longest != "" {
			return longest, size
		}
	}
	return rest[:size], size // so that it is not decoded again from its second line on
}

// runSize returns the number of characters of base64 at the beginning of a text.
func runSize(text string) int { return len(text) - len(strings.TrimLeft(text, base64Marks)) }

// longestBase64 decodes characters of base64. Those before and after the encoded text may look like base64 too, so of
// the four ways to read them it takes the one with the longest text; "" if none has a text of MinSecret bytes. The text
// may be UTF-16.
func longestBase64(run string) (best string) {
	run, longest := standardAlphabet.Replace(run), MinSecret-1
	for skip := 0; skip < 4 && len(run)-skip >= minRun; skip++ {
		digits := run[skip:]
		if len(digits)%4 == 1 {
			digits = digits[:len(digits)-1]
		}
		decoded, _ := base64.RawStdEncoding.DecodeString(digits) // cannot fail
		text := fromUTF16(decoded)
		for part := range strings.FieldsFuncSeq(text, isNoText) {
			if len(part) > longest {
				best, longest = text, len(part)
			}
		}
	}
	return best
}

// fromUTF16 returns a text in UTF-8. It is taken for UTF-16 if the upper bytes of more than three of four characters
// are zero.
func fromUTF16(text []byte) string {
	var zeros [2]int
	for i, c := range text {
		if c == 0 {
			zeros[i%2]++
		}
	}
	order, most := binary.ByteOrder(binary.LittleEndian), zeros[1]
	if zeros[0] > most {
		order, most = binary.BigEndian, zeros[0]
	}
	if most <= len(text)/2*3/4 {
		return string(text)
	}
	units := make([]uint16, len(text)/2)
	for i := range units {
		units[i] = order.Uint16(text[2*i:])
	}
	return string(utf16.Decode(units))
}

// minLine is the minimum length of a line of base64 that continues in the next one.
const minLine = 16

// minRun is the minimum number of base64 characters that encode MinSecret bytes.
const minRun = 6

var standardAlphabet = strings.NewReplacer("-", "+", "_", "/")
