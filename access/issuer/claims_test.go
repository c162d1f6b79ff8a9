package issuer_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"almanac/access"
)

// signed returns a token with a payload that is written by hand.
func (p *provider) signed(payload string) string {
	key := p.keys[len(p.keys)-1]
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(key.Algorithm), Key: key}, nil)
	require.NoError(p.t, err)
	signed, err := signer.Sign([]byte(strings.ReplaceAll(payload, "ISSUER", p.URL)))
	require.NoError(p.t, err)
	token, err := signed.CompactSerialize()
	require.NoError(p.t, err)
	return token
}

const (
	expiry = "1772373600" // an hour after start
	claims = `"iss":"ISSUER","sub":"alice","aud":"` + audience + `","exp":` + expiry
)

func TestClaimsAreReadByTheirExactNames(t *testing.T) {
	t.Parallel()
	require.Equal(t, int64(1772373600), start.Add(2*time.Hour).Unix())
	p := newProvider(t)
	a := p.authenticator()
	for _, others := range []string{`"Roles":["admin"]`, `"ROLES":["admin"]`, `"groupſ":["admin"]`, `"Groups":["admin"]`, `"SUB":"admin"`, `"Oid":"admin"`, `"APPID":"admin"`, `"Azp":"admin"`} {
		got, err := authenticate(a, p.signed("{"+claims+","+others+"}"))
		require.NoError(t, err, others)
		require.Equal(t, []access.Selector{{Kind: access.KindSubject, Issuer: p.URL, Value: "alice"}}, got.Selectors, others)
	}
	for payload, want := range map[string]string{
		`{"iss":"ISSUER","Sub":"alice","aud":"` + audience + `","exp":` + expiry + `}`:         "The token has no subject (sub).",
		`{"iss":"ISSUER","sub":"alice","aud":"` + audience + `","EXP":` + expiry + `}`:         "The token has no expiry (exp), so it is not accepted.",
		`{"iss":"ISSUER","sub":"alice","Aud":"` + audience + `","exp":` + expiry + `}`:         "The token is for another audience (aud).",
		`{"Iss":"ISSUER","sub":"alice","aud":"` + audience + `","exp":` + expiry + `}`:         "The token is of an issuer that is not accepted, or is damaged.",
		`{"iss":"ISSUER","sub":"alice","aud":"` + audience + `","exp":1,"EXP":` + expiry + `}`: "The token has expired.",
	} {
		requireRefused(t, a, p.signed(payload), want)
	}
}

func TestATokenWithAClaimTwiceIsRefused(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	a := p.authenticator()
	for _, again := range []string{`"sub":"admin"`, `"exp":` + expiry, `"roles":[],"roles":["admin"]`, `"jti":"1","jti":"1"`, `"groups":null,"gro\u0075ps":["admin"]`, `"iss":"ISSUER"`} {
		requireRefused(t, a, p.signed("{"+claims+","+again+"}"), "The token has a claim twice.")
	}
	for _, damaged := range []string{`[]`, `null`, `"text"`, `{` + claims, `{` + claims + `}{}`, `{` + claims + `} x`, ``} {
		requireRefused(t, a, p.signed(damaged), "The token is of an issuer that is not accepted, or is damaged.")
	}
}

// An issuer may be taken over, or a name in DNS may lead elsewhere.
func TestWhatAnIssuerSaysIsReadUpToALimit(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	for _, endless := range []string{"/.well-known/openid-configuration", "/keys"} {
		ended := make(chan struct{})
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != endless {
				_, _ = w.Write([]byte(`{"issuer":"http://` + r.Host + `","jwks_uri":"http://` + r.Host + `/keys"}`))
				return
			}
			defer close(ended)
			_, _ = w.Write([]byte(`{"x":"`))
			for block := []byte(strings.Repeat("x", 64<<10)); ; {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		}))
		t.Cleanup(server.Close)
		_, err := authenticate(p.authenticator(server.URL), p.token(map[string]any{"iss": server.URL}))
		require.ErrorContains(t, err, "longer than 1048576 bytes", endless)
		<-ended
	}
}
