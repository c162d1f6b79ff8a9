package issuer

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	// keyAge is how long keys are used without asking the issuer again, for keys that it withdrew.
	keyAge = 15 * time.Minute
	// askAgain is the least time between two questions: a token with a key that does not exist makes the issuer be
	// asked, and anyone can send such tokens.
	askAgain = 5 * time.Second

	askTime = 10 * time.Second
)

// A keySet has the keys of an issuer. They are fetched when a token needs one that is not known, and when they are old.
// While the issuer does not answer, those that are known count.
type keySet struct {
	issuer string
	client *http.Client
	log    *slog.Logger
	now    func() time.Time

	known    atomic.Pointer[keys] // nil before the first answer
	updating atomic.Bool          // in the background

	mu     sync.Mutex // held while the issuer is asked
	asked  time.Time
	failed error // of the last question
}

type keys struct {
	list    []jose.JSONWebKey
	fetched time.Time
}

// verify returns the key set if a key in it verifies the signature of a token. The error is errNoKey if none does;
// another one says why the issuer's keys are not known.
func (s *keySet) verify(ctx context.Context, signed *jose.JSONWebSignature) (*keys, error) {
	if known := s.current(ctx); known != nil && known.verify(signed) {
		return known, nil
	}
	fresh, err := s.fetch(ctx)
	switch {
	case err != nil:
		return nil, err
	case !fresh.verify(signed):
		return nil, errNoKey
	}
	return fresh, nil
}

// current returns the keys that are known, nil if there are none, and fetches them anew in the background if they are
// old.
func (s *keySet) current(ctx context.Context) *keys {
	known := s.known.Load()
	if known != nil && s.now().Sub(known.fetched) > keyAge && s.updating.CompareAndSwap(false, true) {
		go s.update(context.WithoutCancel(ctx))
	}
	return known
}

// verify reports whether a key verifies the signature of a token.
func (k *keys) verify(signed *jose.JSONWebSignature) bool {
	header := signed.Signatures[0].Header
	for i := range k.list {
		key := &k.list[i]
		if header.KeyID != "" && key.KeyID != header.KeyID || key.Use == "enc" || key.Algorithm != "" && key.Algorithm != header.Algorithm {
			continue
		}
		if _, err := signed.Verify(key); err == nil {
			return true
		}
	}
	return false
}

// update fetches keys that are old.
func (s *keySet) update(ctx context.Context) {
	defer s.updating.Store(false)
	_, _ = s.fetch(ctx) // it logs
}

// fetch asks the issuer for its keys, or returns those of a moment ago.
func (s *keySet) fetch(ctx context.Context) (*keys, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.asked.IsZero() && s.now().Sub(s.asked) < askAgain {
		return s.known.Load(), s.failed
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime) // others wait for the answer, too
	defer cancel()
	list, err := s.ask(ctx)
	s.asked, s.failed = s.now(), nil
	if err != nil {
		s.failed = fmt.Errorf("ask the issuer %s for its keys: %w", s.issuer, err)
		s.log.WarnContext(ctx, "an issuer of tokens does not answer; its keys that are known still count",
			slog.String("issuer", s.issuer), slog.Any("error", err))
		return nil, s.failed
	}
	fresh := &keys{list: list, fetched: s.asked}
	s.known.Store(fresh)
	return fresh, nil
}

// ask finds out where the issuer has its keys, and returns them.
func (s *keySet) ask(ctx context.Context) ([]jose.JSONWebKey, error) {
	provider, err := Discover(ctx, s.client, s.issuer)
	if err != nil {
		return nil, err
	}
	var where struct {
		Keys string `json:"jwks_uri"`
	}
	if err := provider.Claims(&where); err != nil {
		return nil, err
	}
	if err := CheckURL(where.Keys); err != nil {
		return nil, fmt.Errorf("jwks_uri: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, where.Keys, nil)
	if err != nil {
		return nil, err
	}
	answer, err := s.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s", where.Keys, answer.Status)
	}
	list, err := parseKeys(text)
	if err != nil {
		return nil, fmt.Errorf("the keys at %s: %w", where.Keys, err)
	}
	return list, nil
}

// parseKeys returns the public keys of a set. Keys of other types, and damaged ones, are left out: RFC 7517, section 5.
func parseKeys(text []byte) (list []jose.JSONWebKey, err error) {
	var set struct{ Keys []json.RawMessage }
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, err
	}
	for _, text := range set.Keys {
		var k jose.JSONWebKey
		if err := json.Unmarshal(text, &k); err == nil && k.Valid() && k.IsPublic() {
			list = append(list, k)
		}
	}
	return list, nil
}
