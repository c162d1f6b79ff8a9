package settings

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/internal/codec"
)

func TestAFileOfKeysThatOthersMayReadCausesAWarning(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("permissions are another matter there")
	}
	file := filepath.Join(t.TempDir(), "keys")
	require.NoError(t, os.WriteFile(file, []byte("k:"+codec.GenerateKey()), 0o600))
	for permissions, told := range map[os.FileMode]bool{0o600: false, 0o400: false, 0o440: false, 0o444: true, 0o640: true, 0o644: true, 0o604: true} {
		require.NoError(t, os.Chmod(file, permissions))
		c, err := loaded(t, "worker", map[string]string{"ALMANAC_ENCRYPTION_KEYS_FILE": file})
		require.NoError(t, err)
		if told {
			require.Len(t, c.Warnings, 1, permissions)
			require.Contains(t, c.Warnings[0], "other users of this machine may read the encryption keys")
			require.Contains(t, c.Warnings[0], "chmod 600")
		} else {
			require.Empty(t, c.Warnings, permissions)
		}
	}
}
