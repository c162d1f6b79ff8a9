package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"almanac/internal/codec"
)

func TestGenerateKeyPrintsALineForTheFile(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"named after the day": {nil, `^\d{4}-\d\d-\d\d-[A-Z2-7]{8}$`},
		"named by the user":   {[]string{"blue"}, "^blue$"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := almanac(t, "", nil, append([]string{"codec", "generate-key"}, tt.args...)...)
			require.NoError(t, err)
			keys, err := codec.ParseKeys(out)
			require.NoError(t, err)
			require.Regexp(t, tt.want, keys.String())
		})
	}
	_, err := almanac(t, "", nil, "codec", "generate-key", "two words")
	require.ErrorContains(t, err, `"two words" cannot be the id of a key; allowed: at most 32 letters`)
}

func TestErrorsAboutEncryptionKeysNameTheirSource(t *testing.T) {
	t.Parallel()
	good, bad := filepath.Join(t.TempDir(), "good"), filepath.Join(t.TempDir(), "bad")
	key := codec.GenerateKey()
	require.NoError(t, os.WriteFile(good, []byte("k:"+key), 0o600))
	require.NoError(t, os.WriteFile(bad, []byte("k:"+key[1:]), 0o600))
	for _, tt := range []struct {
		name      string
		variables map[string]string
		args      []string
		want      string
	}{
		{"there are none", nil, []string{"codec"}, "there are no keys to decode with: set --encryption-keys-file or $ALMANAC_ENCRYPTION_KEYS"},
		{"a bad key", map[string]string{"ALMANAC_ENCRYPTION_KEYS": "k:" + key[1:]}, []string{"api"}, `$ALMANAC_ENCRYPTION_KEYS: encryption key 1: "k" is not a key; allowed: 32 bytes`},
		{"a key without an id", map[string]string{"ALMANAC_ENCRYPTION_KEYS": key}, []string{"worker"}, "$ALMANAC_ENCRYPTION_KEYS: encryption key 1: it has no id; allowed: id:key"},
		{"a bad file", nil, []string{"dev", "--encryption-keys-file", bad}, `--encryption-keys-file: encryption key 1: "k" is not a key; allowed: 32 bytes`},
		{"no file", map[string]string{"ALMANAC_ENCRYPTION_KEYS_FILE": "nowhere"}, []string{"codec"}, "$ALMANAC_ENCRYPTION_KEYS_FILE: open nowhere"},
		{"two sources", map[string]string{"ALMANAC_ENCRYPTION_KEYS": "k:" + key}, []string{"codec", "--encryption-keys-file", good}, "--encryption-keys-file: $ALMANAC_ENCRYPTION_KEYS is set, too; allowed: one of them"},
		{"a codec server that asks nobody", nil, []string{"codec", "--encryption-keys-file", good, "--listen", ":0"}, "any if $ALMANAC_CODEC_TOKEN is set"},
		{"a codec server of dev that asks nobody", nil, []string{"dev", "--codec-listen", "0.0.0.0:0"}, "any if $ALMANAC_CODEC_TOKEN is set"},
		{"an address that is none", nil, []string{"codec", "--encryption-keys-file", good, "--listen", "here"}, `--listen: "here" is not host:port`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := almanac(t, "", tt.variables, tt.args...)
			require.ErrorContains(t, err, tt.want)
			require.NotContains(t, err.Error(), key[1:])
		})
	}
}

func TestTheCodecServerServesUntilItIsStopped(t *testing.T) {
	t.Parallel()
	entry := "k:" + codec.GenerateKey()
	variables := map[string]string{
		"ALMANAC_ENCRYPTION_KEYS": entry, "ALMANAC_CODEC_TOKEN": "t0ken", "ALMANAC_CODEC_ORIGIN": "http://127.0.0.1:8233/, http://ui",
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	lines, out := io.Pipe()
	failed := make(chan error, 1)
	go func() {
		lookup := func(name string) (string, bool) { v, ok := variables[name]; return v, ok }
		failed <- run(ctx, []string{"codec", "--listen", "0.0.0.0:0"}, lookup, strings.NewReader(""), out, io.Discard)
		_ = out.Close()
	}()
	read := bufio.NewScanner(lines)
	require.True(t, read.Scan())
	address := regexp.MustCompile(`http://\S+:(\d+)`).FindStringSubmatch(read.Text())
	require.NotEmpty(t, address, read.Text())
	require.Contains(t, read.Text(), "(keys k)")

	keys, err := codec.ParseKeys(entry)
	require.NoError(t, err)
	encrypted, err := keys.Codec("job/a").Encode([]*commonpb.Payload{{Data: []byte("a secret")}})
	require.NoError(t, err)
	body, err := protojson.Marshal(&commonpb.Payloads{Payloads: encrypted})
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1:"+address[1]+"/default/decode", strings.NewReader(string(body)))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer t0ken")
	req.Header.Set("Origin", "http://127.0.0.1:8233")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, "%s", answer)
	require.Contains(t, string(answer), "YSBzZWNyZXQ=", "the data in base64")

	stop()
	require.NoError(t, <-failed)
}
