package issuer

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"almanac/access"
)

// maxRemembered is how many tokens are remembered at most, twice: the newest, and those before.
const maxRemembered = 4096

// A remembered token was found good. It is good until it expires, as long as its issuer has the same keys: to verify a
// signature takes longer than all else that a request needs here, and clients send a token many times.
type remembered struct {
	principal *access.Principal
	keys      *keys
	set       *keySet
	expires   time.Time
}

// A memory has the tokens that were found good last, by their SHA-256.
type memory struct {
	mu          sync.Mutex
	newest, old map[[sha256.Size]byte]remembered
}

// find returns the principal of a token that still counts; nil if it has to be verified.
func (m *memory) find(ctx context.Context, hash [sha256.Size]byte, now time.Time) *access.Principal {
	m.mu.Lock()
	r, ok := m.newest[hash]
	if !ok {
		r, ok = m.old[hash]
	}
	m.mu.Unlock()
	if !ok || r.set.current(ctx) != r.keys || !now.Before(r.expires) {
		return nil
	}
	return r.principal
}

func (m *memory) add(hash [sha256.Size]byte, r remembered) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.newest) >= maxRemembered {
		m.old, m.newest = m.newest, nil
	}
	if m.newest == nil {
		m.newest = map[[sha256.Size]byte]remembered{}
	}
	m.newest[hash] = r
}
