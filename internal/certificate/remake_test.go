package certificate_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/internal/certificate"
)

// The files are of OpenSSL 3.0, all with the password hush. Those in BER have the same content with indefinite lengths and octet strings in
// parts of a kilobyte, as old Windows, NSS and Apple's keychain write it: all of it, or the envelope alone.
func TestPFXFilesOfOtherProgramsAreRead(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.pfx")
	require.NoError(t, err)
	require.Len(t, files, 7)
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			file, err := os.ReadFile(name)
			require.NoError(t, err)
			text := base64.StdEncoding.EncodeToString(file)
			got, err := certificate.Read(text, "hush")
			require.NoError(t, err)
			require.Equal(t, "CN=x", got.Leaf.Subject.String())
			_, err = certificate.Read(text, "Hush")
			require.ErrorIs(t, err, certificate.ErrPassword)
			_, err = certificate.Read(text, "")
			require.ErrorIs(t, err, certificate.ErrPassword)
			for i := 0; i < len(file); i += 7 { // whatever is damaged, nothing else happens than an error
				damaged := strings.Clone(string(file))
				damaged = damaged[:i] + string(damaged[i]^0x55) + damaged[i+1:]
				_, _ = certificate.Read(base64.StdEncoding.EncodeToString([]byte(damaged)), "hush")
				_, err = certificate.Read(base64.StdEncoding.EncodeToString(file[:i]), "hush")
				require.Error(t, err)
			}
		})
	}
}

// Values within values may be many: none is converted more than once.
func TestADeeplyNestedFileIsReadOnce(t *testing.T) {
	t.Parallel()
	file := []byte{0x04, 0x01, 0x00}
	for range 40 {
		inner := append([]byte{0x30, 0x80, 0x06, 0x01, 0x2a, 0x30, 0x00, 0xa0, 0x80}, file...)
		file = append(inner, 0, 0, 0, 0)
	}
	for cut := range 40 {
		_, err := certificate.Read(base64.StdEncoding.EncodeToString(file[cut*9:len(file)-cut*4]), "hush")
		require.Error(t, err)
	}
}

func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/*.pfx")
	require.NoError(f, err)
	for _, name := range files {
		file, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(file)
	}
	f.Fuzz(func(_ *testing.T, file []byte) {
		_, _ = certificate.Read(base64.StdEncoding.EncodeToString(file), "hush")
	})
}
