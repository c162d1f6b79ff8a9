package system

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/internal/codec"
)

func TestANewKeyComesFirstAndTheOthersStay(t *testing.T) {
	t.Parallel()
	f, err := NewKeyFile(filepath.Join(t.TempDir(), "keys"))
	require.NoError(t, err)
	require.NoError(t, f.Rotate())
	ring, err := f.Ring()
	require.NoError(t, err)
	require.Equal(t, []string{"key2", "key1"}, ring.IDs())
	text, err := os.ReadFile(f.path)
	require.NoError(t, err)
	read, err := codec.ParseKeys(string(text))
	require.NoError(t, err)
	require.Equal(t, ring.IDs(), read.IDs())
	require.Equal(t, []string{"--encryption-keys-file", f.path}, f.flags())

	var none *KeyFile
	require.Empty(t, none.flags())
	ring, err = none.Ring()
	require.NoError(t, err)
	require.Nil(t, ring)
}
