package settings

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/activities/senders"
)

func TestTheMailServerComesFromItsSettings(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(file, []byte("canary\n"), 0o600))
	env := map[string]string{
		"ALMANAC_SMTP_SERVER": "smtp.example.com:587", "ALMANAC_SMTP_FROM": "almanac@example.com", "ALMANAC_SMTP_USERNAME": "almanac",
		"ALMANAC_SMTP_PASSWORD_FILE": file,
	}
	c, err := loaded(t, "worker", env)
	require.NoError(t, err)
	require.Equal(t, senders.SMTP{Server: "smtp.example.com:587", From: "almanac@example.com", Username: "almanac", Password: "canary"}, c.Sending.SMTP)

	env["ALMANAC_SMTP_PASSWORD"] = "canary"
	_, err = loaded(t, "worker", env)
	require.ErrorContains(t, err, "$ALMANAC_SMTP_PASSWORD_FILE: $ALMANAC_SMTP_PASSWORD is set, too; allowed: one of them")
	require.NotContains(t, err.Error(), "canary")
}

func TestAMailServerNeedsASender(t *testing.T) {
	t.Parallel()
	_, err := loaded(t, "worker", map[string]string{"ALMANAC_SMTP_SERVER": "smtp.example.com:587"})
	require.ErrorContains(t, err, "a mail server needs the address of the sender")
	_, err = loaded(t, "worker", map[string]string{"ALMANAC_SMTP_SERVER": "smtp.example.com:587", "ALMANAC_SMTP_FROM": "Almanac <a@example.com>"})
	require.ErrorContains(t, err, "is not a mail address; allowed: a mail address such as almanac@example.com")
}

func TestRevokedCertificatesNeedAuthoritiesAndAList(t *testing.T) {
	t.Parallel()
	_, err := loaded(t, "api", nil, "--client-crl", written(t, "revoked.pem", "nothing"))
	require.ErrorContains(t, err, "--client-crl: no certificates of callers are accepted; allowed: it beside --client-ca")
	_, err = loaded(t, "api", nil, "--client-ca", written(t, "ca.pem", ""), "--client-crl", written(t, "revoked.pem", "nothing"))
	require.ErrorContains(t, err, "certificate revocation list")
}

func TestADomainOfMailIsNoAddress(t *testing.T) {
	t.Parallel()
	_, err := loaded(t, "worker", nil, "--mail-domains", "a@example.com")
	require.ErrorContains(t, err, `"a@example.com" is no domain`)
}
