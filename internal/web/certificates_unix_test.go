//go:build unix

package web_test

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/internal/emulators"
	"almanac/internal/web"
)

func TestACertificateThatBlocksItsReaderLeavesTheOneBefore(t *testing.T) {
	t.Parallel()
	cert, key, err := emulators.WriteCertificate(t.TempDir(), "jobs.example.com")
	require.NoError(t, err)
	c, err := web.LoadCertificates(web.CertificateFiles{Cert: cert, Key: key, ClientCA: cert})
	require.NoError(t, err)
	expires := c.Expiries()
	require.Equal(t, c.Expires(), expires["server"])
	require.Equal(t, c.Expires(), expires["client-ca"])
	require.NoError(t, os.Remove(key))
	require.NoError(t, syscall.Mkfifo(key, 0o600))
	changed, err := c.Reload()
	require.False(t, changed)
	require.ErrorContains(t, err, "it is a named pipe; allowed: a regular file")
	require.Equal(t, expires, c.Expiries())
}
