// Package token makes and checks tokens: secrets of 256 random bits that stand for a caller with a role in a scope. A
// file holds their hashes, so that reading the file gives nobody a usable token.
package token

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"strings"
)

// Prefix begins every token, so that scanners for secrets find it.
const Prefix = "alm_"

const (
	secretDigits   = 64 // of a secret of 256 bits, in hexadecimal
	checksumDigits = 8
)

// Pattern matches tokens and nothing else, in a regular expression. The last 8 digits are a checksum: the CRC-32 (IEEE)
// of all before them, the prefix included.
const Pattern = Prefix + "[0-9a-f]{72}"

// A Hash is the SHA-256 of a token. The secret is random, so no salt and no slow hash is needed.
type Hash [sha256.Size]byte

// HashOf returns the hash of a token.
func HashOf(token string) Hash { return sha256.Sum256([]byte(token)) }

// New returns a new token.
func New() string {
	var secret [secretDigits / 2]byte
	_, _ = rand.Read(secret[:]) // ends the program rather than fail
	body := Prefix + hex.EncodeToString(secret[:])
	return body + checksum(body)
}

// WellFormed reports whether a text has the form of a token, with its checksum.
func WellFormed(text string) bool {
	if len(text) != len(Prefix)+secretDigits+checksumDigits || !strings.HasPrefix(text, Prefix) {
		return false
	}
	body, sum := text[:len(Prefix)+secretDigits], text[len(Prefix)+secretDigits:]
	return checksum(body) == sum
}

func checksum(body string) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(body))) }
