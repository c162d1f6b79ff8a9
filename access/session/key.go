package session

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/go-jose/go-jose/v4"
)

// MinSecret is the least length of the secret that a [Key] is made from, in bytes.
const MinSecret = 32

// maxCookie is how long the value of a cookie may be, in bytes. Browsers keep 4,096 bytes of name, value and
// attributes.
const maxCookie = 3800

// compressFrom is the size in bytes from which what a cookie holds is compressed. To decompress takes longer than all
// else that a request needs here.
const compressFrom = 1500

// A Key encrypts what cookies hold, and finds out if anything of it was changed. Its methods are safe for concurrent
// use.
type Key struct {
	secret  []byte
	derived sync.Map // by purpose
}

// NewKey returns the key that belongs to a secret.
func NewKey(secret string) (*Key, error) {
	if len(secret) < MinSecret {
		return nil, fmt.Errorf("it has %d bytes", len(secret))
	}
	return &Key{secret: []byte(secret)}, nil
}

// RandomKey returns a key that no other process has.
func RandomKey() *Key {
	k := &Key{secret: make([]byte, MinSecret)}
	_, _ = rand.Read(k.secret) // ends the program rather than fail
	return k
}

// Errors of a [Key].
var (
	ErrTooLong = errors.New("it is too long for a cookie")
	errSealed  = errors.New("it was not sealed with this key, or was changed")
)

// Seal encrypts a value as a JSON Web Encryption, with AES-256-GCM. What is sealed for one purpose cannot be opened for
// another.
func (k *Key) Seal(purpose string, value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	key, err := k.derive(purpose)
	if err != nil {
		return "", err
	}
	options := new(jose.EncrypterOptions)
	if len(text) > compressFrom {
		options.Compression = jose.DEFLATE
	}
	encrypter, err := jose.NewEncrypter(jose.A256GCM, jose.Recipient{Algorithm: jose.DIRECT, Key: key}, options)
	if err != nil {
		return "", err
	}
	object, err := encrypter.Encrypt(text)
	if err != nil {
		return "", err
	}
	sealed, err := object.CompactSerialize()
	if err == nil && len(sealed) > maxCookie {
		err = ErrTooLong
	}
	return sealed, err
}

// Open decrypts what was sealed for a purpose.
func (k *Key) Open(purpose, sealed string, value any) error {
	if len(sealed) > maxCookie {
		return ErrTooLong
	}
	object, err := jose.ParseEncryptedCompact(sealed, []jose.KeyAlgorithm{jose.DIRECT}, []jose.ContentEncryption{jose.A256GCM})
	if err != nil {
		return errSealed
	}
	key, err := k.derive(purpose)
	if err != nil {
		return err
	}
	text, err := object.Decrypt(key)
	if err != nil {
		return errSealed
	}
	return json.Unmarshal(text, value)
}

// derive returns the key of a purpose.
func (k *Key) derive(purpose string) ([]byte, error) {
	if known, ok := k.derived.Load(purpose); ok {
		return known.([]byte), nil
	}
	key, err := hkdf.Key(sha256.New, k.secret, nil, "almanac "+purpose, 32)
	if err == nil {
		k.derived.Store(purpose, key)
	}
	return key, err
}
