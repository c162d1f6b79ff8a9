package state

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"time"
)

// Requests remembers requests that were carried out, oldest first, by their ids, so that a run carries out none that an
// earlier one did: a server keeps the updates of one run alone, and a caller that got no answer repeats its update.
// Each takes 50 bytes.
type Requests []Request

// A Request is a request that was carried out.
type Request struct {
	Hash   string `json:"id"` // of its id
	At     int64  `json:"at"` // when, in seconds
	Answer string `json:"answer,omitempty"`
}

// Find returns the request of an id; nil if it is not remembered.
func (r Requests) Find(id string) *Request {
	if id == "" || len(r) == 0 {
		return nil
	}
	hash := hashOf(id)
	i := slices.IndexFunc(r, func(one Request) bool { return one.Hash == hash })
	if i < 0 {
		return nil
	}
	return &r[i]
}

// Add remembers a request, unless its id is "", and the newest ones before it: at most most, and only those younger
// than age.
func (r *Requests) Add(id, answer string, now time.Time, age time.Duration, most int) {
	r.Forget(now.Add(-age))
	if id == "" {
		return
	}
	*r = append(*r, Request{Hash: hashOf(id), At: now.Unix(), Answer: answer})
	if extra := len(*r) - most; extra > 0 {
		*r = slices.Delete(*r, 0, extra)
	}
}

// Forget forgets the requests that were carried out before a time.
func (r *Requests) Forget(before time.Time) {
	n := 0
	for n < len(*r) && (*r)[n].At < before.Unix() {
		n++
	}
	*r = slices.Delete(*r, 0, n)
	if len(*r) == 0 {
		*r = nil
	}
}

// hashOf returns 96 bits, in 16 characters. An id may be of any length.
func hashOf(id string) string {
	sum := sha256.Sum256([]byte(id))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}
