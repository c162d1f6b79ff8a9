package settings

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/internal/emulators"
	"almanac/internal/ratelimit"
)

// newCertificate writes a certificate and its key, and returns the flags that name them.
func newCertificate(t *testing.T) (flags []string, cert, key string) {
	t.Helper()
	cert, key, err := emulators.WriteCertificate(t.TempDir(), "jobs.example.com")
	require.NoError(t, err)
	return []string{"--tls-cert", cert, "--tls-key", key}, cert, key
}

func TestACertificateAndItsKeyBelongTogether(t *testing.T) {
	t.Parallel()
	flags, cert, key := newCertificate(t)
	_, other, _ := newCertificate(t)
	for _, command := range []string{"dev", "api", "worker", "codec"} {
		c, err := loaded(t, command, nil, flags...)
		require.NoError(t, err)
		require.NotNil(t, c.Certificates)
		require.Equal(t, "https", c.Scheme())
		require.Empty(t, c.Warnings)
		c, err = loaded(t, command, nil)
		require.NoError(t, err)
		require.Nil(t, c.Certificates)
		require.Equal(t, "http", c.Scheme())

		_, err = loaded(t, command, map[string]string{"ALMANAC_TLS_CERT": cert})
		require.EqualError(t, err, "$ALMANAC_TLS_CERT: the certificate has no key; allowed: a certificate together with --tls-key, or neither")
		_, err = loaded(t, command, nil, "--tls-key", key)
		require.EqualError(t, err, "--tls-key: the key has no certificate; allowed: a key together with --tls-cert, or neither")
		_, err = loaded(t, command, nil, "--tls-key", key, "--tls-cert", other)
		require.ErrorContains(t, err, "private key does not match public key")
	}
	_, err := loaded(t, "api", nil, "--client-ca", cert)
	require.ErrorContains(t, err, "--client-ca: callers can show a certificate by TLS only")
	_, err = loaded(t, "api", nil, append(flags, "--client-ca", key)...)
	require.ErrorContains(t, err, "has no certificate in PEM")
	_, err = loaded(t, "api", nil, append(flags, "--client-ca", cert)...)
	require.NoError(t, err)

	require.NoError(t, os.Chmod(key, 0o644))
	c, err := loaded(t, "api", nil, flags...)
	require.NoError(t, err)
	require.Len(t, c.Warnings, 1)
	require.Contains(t, c.Warnings[0], "chmod 600")
}

func TestTLSIsNoLogin(t *testing.T) {
	t.Parallel()
	flags, _, _ := newCertificate(t)
	for _, listener := range []string{"--listen", "--temporal-listen", "--ui-listen"} {
		args := append([]string{listener, "0.0.0.0:0"}, flags...)
		_, err := loaded(t, "dev", nil, args...)
		require.ErrorContains(t, err, listener+": 0.0.0.0:0 can be reached by other machines")
		_, err = loaded(t, "dev", nil, append(args, "--unauthenticated")...)
		require.NoError(t, err)
	}
}

func TestCallersHaveLimitsUnlessTheyAreTurnedOff(t *testing.T) {
	t.Parallel()
	c, err := loaded(t, "api", nil)
	require.NoError(t, err)
	require.Equal(t, ratelimit.Limits{Rate: 1000, InFlight: 16}, c.PerCaller)
	c, err = loaded(t, "api", nil, "--max-rate-per-caller", "0", "--max-in-flight-per-caller", "0")
	require.NoError(t, err)
	require.Nil(t, ratelimit.NewLimiter(c.PerCaller))
	_, err = loaded(t, "api", nil, "--max-rate-per-caller", "-1")
	require.ErrorContains(t, err, "--max-rate-per-caller: -1 is too low")
}

func TestAProxyIsNotEveryAddress(t *testing.T) {
	t.Parallel()
	_, err := loaded(t, "api", nil, "--trusted-proxies", "0.0.0.0/0")
	require.ErrorContains(t, err, `--trusted-proxies: "0.0.0.0/0" is every address`)
}

func TestTheAuditLogIsAFileThatAlmanacMayWrite(t *testing.T) {
	t.Parallel()
	_, err := loaded(t, "api", nil, "--audit-log", t.TempDir())
	require.ErrorContains(t, err, "allowed: a file that Almanac may write, or stdout")
}
