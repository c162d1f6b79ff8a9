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

// A KeyRing holds the keys that payloads are encrypted and decrypted with. A nil
// KeyRing has no keys: it encrypts nothing, and refuses to decode what is
// encrypted. It is safe for concurrent use.
type KeyRing struct {
	ids  []string // the first one encrypts
	keys map[string]cipher.AEAD

	acceptClear bool
}

// validID matches the names of keys. A base64 key of the right size is longer,
// so an id may be shown.
var validID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,32}$`)

// ParseKeys reads keys, each as id:base64, separated by commas or line ends.
// An id has up to 32 letters, digits, dots, dashes or underscores; a key has 32
// bytes. The first key encrypts, all decrypt. Empty lines and lines that begin
// with # do not count. The error tells every mistake, and no key.
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
	if !found || !validID.MatchString(id) { // nothing is quoted: the parts may be the wrong way round
		return errors.New("want id:key, the id of at most 32 letters, digits, dots, dashes or underscores")
	}
	if slices.Contains(r.ids, id) {
		return fmt.Errorf("the id %q is taken already", id)
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(key) != keySize { // err tells about the key
		return fmt.Errorf("%q: want %d bytes in base64, as `openssl rand -base64 %d` prints them", id, keySize, keySize)
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

// AcceptingClear returns a ring of the same keys that reads payloads in clear as
// they are.
func (r *KeyRing) AcceptingClear() *KeyRing {
	if r == nil {
		return nil
	}
	accepting := *r
	accepting.acceptClear = true
	return &accepting
}

// IDs returns the ids of the keys, the one that encrypts first.
func (r *KeyRing) IDs() []string {
	if r == nil {
		return nil
	}
	return slices.Clone(r.ids)
}

// String returns the ids of the keys, so that no formatting shows a key.
func (r *KeyRing) String() string { return strings.Join(r.IDs(), ", ") }

// GenerateKey returns a new key in base64.
func GenerateKey() string {
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // never fails
	return base64.StdEncoding.EncodeToString(key)
}
