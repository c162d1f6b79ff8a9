package codec

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// keySize is the size of a key in bytes: AES-256.
const keySize = 32

// A KeyRing holds the keys that encrypt and decrypt payloads. A nil KeyRing has no keys: it encrypts
// nothing and refuses to decode encrypted payloads. A KeyRing is safe for concurrent use.
type KeyRing struct {
	ids  []string // the first one encrypts
	keys map[string]cipher.AEAD

	acceptClear bool
}

// validID matches key IDs. A base64 key of the right size is longer than an ID can be, so an ID may be
// shown.
var validID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,32}$`)

// ParseKeys reads keys in the form id:base64, separated by commas or line ends. An ID has 1 to 32 ASCII
// letters, digits, dots, dashes or underscores; a key has 32 bytes. The first key encrypts, all decrypt.
// Empty lines and lines that begin with # are ignored. The error lists every mistake and shows no key.
func ParseKeys(text string) (*KeyRing, error) {
	r := &KeyRing{keys: map[string]cipher.AEAD{}}
	var errs []error
	for n, entry := range entries(text) {
		if err := r.add(entry); err != nil {
			errs = append(errs, fmt.Errorf("encryption key %d: %w", n+1, err))
		}
	}
	if len(errs) == 0 && len(r.ids) == 0 {
		errs = append(errs, errors.New("there is no encryption key: make one with `almanac codec generate-key`"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return r, nil
}

func entries(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		for entry := range strings.SplitSeq(line, ",") {
			if entry = strings.TrimSpace(entry); entry != "" {
				all = append(all, entry)
			}
		}
	}
	return all
}

func (r *KeyRing) add(entry string) error {
	id, encoded, found := strings.Cut(entry, ":")
	if !found || !validID.MatchString(id) { // do not quote the entry: key and ID may be swapped
		return errors.New("it has no id; allowed: id:key, the id of at most 32 letters, digits, dots, dashes or underscores")
	}
	if slices.Contains(r.ids, id) {
		return fmt.Errorf("the id %q is taken already", id)
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(key) != keySize { // err would show parts of the key
		return fmt.Errorf("%q is not a key; allowed: %d bytes in base64, as `openssl rand -base64 %d` prints them", id, keySize, keySize)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return fmt.Errorf("%q: %w", id, err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return fmt.Errorf("%q: %w", id, err)
	}
	r.ids, r.keys[id] = append(r.ids, id), aead
	return nil
}

// AcceptingClear returns a ring of the same keys that returns payloads in clear as they are instead of
// refusing them.
func (r *KeyRing) AcceptingClear() *KeyRing {
	if r == nil {
		return nil
	}
	accepting := *r
	accepting.acceptClear = true
	return &accepting
}

// IDs returns the IDs of the keys, first the one that encrypts.
func (r *KeyRing) IDs() []string {
	if r == nil {
		return nil
	}
	return slices.Clone(r.ids)
}

// String returns the IDs of the keys, so that no formatting shows a key.
func (r *KeyRing) String() string { return strings.Join(r.IDs(), ", ") }

// GenerateKey returns a new random key of 32 bytes, in base64.
func GenerateKey() string {
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // never fails
	return base64.StdEncoding.EncodeToString(key)
}
