package core

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"almanac/job/listing"
)

// Token returns the $skiptoken with which a list goes on after value; "" for "", which is the end. The list's name is
// unique and has its scope. A check at the end of the token tells those of other lists, and those that were cut or
// changed.
func Token(list, value string) string {
	if value == "" {
		return ""
	}
	return value + tokenMark + check(list, value)
}

// Open replaces the $skiptoken of a page by the value that [Token] had, or returns [BadToken].
func Open(list string, p *listing.Page) error {
	if p.After == "" {
		return nil
	}
	at := strings.LastIndex(p.After, tokenMark)
	if at <= 0 || p.After[at+1:] != check(list, p.After[:at]) {
		return BadToken()
	}
	p.After = p.After[:at]
	return nil
}

// tokenMark is before the check, which has none.
const tokenMark = "."

func check(list, value string) string {
	sum := sha256.Sum256([]byte(list + "\x00" + value))
	return base64.RawURLEncoding.EncodeToString(sum[:6])
}
