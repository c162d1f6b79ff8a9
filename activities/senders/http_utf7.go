package senders

import (
	"encoding/base64"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/transform"
)

// utf7 is the encoding UTF-7 (RFC 2152), which package text lacks. It is read only: ASCII, in which a plus sign begins
// other characters, as base64 of UTF-16.
type utf7 struct{}

// NewDecoder implements [encoding.Encoding].
func (utf7) NewDecoder() *encoding.Decoder { return &encoding.Decoder{Transformer: utf7Decoder{}} }

// NewEncoder implements [encoding.Encoding].
func (utf7) NewEncoder() *encoding.Encoder { return encoding.Nop.NewEncoder() }

// A utf7Decoder decodes a text that comes all at once.
type utf7Decoder struct{ transform.NopResetter }

// Transform implements [transform.Transformer].
func (utf7Decoder) Transform(dst, src []byte, _ bool) (nDst, nSrc int, err error) {
	text := string(src)
	decoded := make([]byte, 0, len(text))
	for text != "" {
		plain, shifted, found := strings.Cut(text, "+")
		decoded = append(decoded, plain...)
		if !found {
			break
		}
		size := len(shifted) - len(strings.TrimLeft(shifted, base64Digits))
		text = strings.TrimPrefix(shifted[size:], "-")
		if size == 0 {
			decoded = append(decoded, '+')
			continue
		}
		decoded = appendUTF16(decoded, shifted[:size])
	}
	if len(decoded) > len(dst) {
		return 0, 0, transform.ErrShortDst
	}
	return copy(dst, decoded), len(src), nil
}

const base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// appendUTF16 appends what base64 of UTF-16 encodes. An incomplete character at its end is left out.
func appendUTF16(to []byte, digits string) []byte {
	if len(digits)%4 == 1 {
		digits = digits[:len(digits)-1]
	}
	words, _ := base64.RawStdEncoding.DecodeString(digits) // cannot fail
	units := make([]uint16, len(words)/2)
	for i := range units {
		units[i] = uint16(words[2*i])<<8 | uint16(words[2*i+1])
	}
	for _, r := range utf16.Decode(units) {
		to = utf8.AppendRune(to, r)
	}
	return to
}
