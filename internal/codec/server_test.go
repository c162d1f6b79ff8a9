package codec_test

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"almanac/internal/codec"
)

const origin = "http://127.0.0.1:8233"

// ask sends payloads to a codec server as the Temporal Web UI and CLI do.
func ask(t *testing.T, h http.Handler, path string, header map[string]string, payloads ...*commonpb.Payload) *httptest.ResponseRecorder {
	t.Helper()
	body, err := protojson.Marshal(&commonpb.Payloads{Payloads: payloads})
	require.NoError(t, err)
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(string(body)))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Namespace", "default")
	for name, value := range header {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestTheWebUIAndTheCLIDecode(t *testing.T) {
	t.Parallel()
	keys, p := ring(t, "k"), payload(`"a secret"`)
	open := keys.Handler(codec.HandlerOptions{Origins: []string{origin}})
	guarded := keys.Handler(codec.HandlerOptions{Token: "t0ken", Origins: []string{origin}})
	for _, tt := range []struct {
		name    string
		handler http.Handler
		path    string
		header  map[string]string
	}{
		{"the CLI with --codec-endpoint", open, "/decode", nil},
		{"the CLI with --codec-auth", guarded, "/decode", map[string]string{"Authorization": "Bearer t0ken"}},
		{"the CLI with {namespace} in its endpoint", guarded, "/default/decode", map[string]string{"Authorization": "bearer t0ken"}},
		{"the Web UI", open, "/decode?preserveStorageRefs=true", map[string]string{"Origin": origin}},
		{"the Web UI that passes its access token", guarded, "/default/decode", map[string]string{"Origin": origin, "Authorization": "Bearer t0ken"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := ask(t, tt.handler, tt.path, tt.header, encode(t, keys, p), p)
			require.Equal(t, http.StatusOK, w.Code, w.Body)
			require.Equal(t, "application/json", w.Header().Get("Content-Type"))
			require.Equal(t, tt.header["Origin"], w.Header().Get("Access-Control-Allow-Origin"))
			var got commonpb.Payloads
			require.NoError(t, protojson.Unmarshal(w.Body.Bytes(), &got))
			require.Len(t, got.GetPayloads(), 2)
			for _, decoded := range got.GetPayloads() {
				require.True(t, proto.Equal(p, decoded), "got %v", decoded)
			}
		})
	}
}

// The temporal CLI uses the SDK's client of codec servers.
func TestTheSDKsRemoteCodecWorks(t *testing.T) {
	t.Parallel()
	keys := ring(t, "k")
	server := httptest.NewServer(keys.Handler(codec.HandlerOptions{Token: "t0ken"}))
	defer server.Close()
	remote := converter.NewRemotePayloadCodec(converter.RemotePayloadCodecOptions{
		Endpoint: server.URL + "/default",
		ModifyRequest: func(r *http.Request) error {
			r.Header.Set("Authorization", "Bearer t0ken")
			return nil
		},
	})
	p := payload(`"a secret"`)
	decoded, err := remote.Decode([]*commonpb.Payload{encode(t, keys, p)})
	require.NoError(t, err)
	require.True(t, proto.Equal(p, decoded[0]))
	_, err = remote.Encode([]*commonpb.Payload{p})
	require.ErrorContains(t, err, "encrypted for one workflow")
}

func TestABrowserMayAskBefore(t *testing.T) {
	t.Parallel()
	h := ring(t, "k").Handler(codec.HandlerOptions{Token: "t0ken", Origins: []string{origin}})
	r := httptest.NewRequest(http.MethodOptions, "/decode", http.NoBody)
	r.Header.Set("Origin", origin)
	r.Header.Set("Access-Control-Request-Method", http.MethodPost)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	require.Equal(t, http.StatusNoContent, w.Code)
	require.Equal(t, origin, w.Header().Get("Access-Control-Allow-Origin"))
	for _, name := range []string{"Authorization", "Content-Type", "X-Namespace"} {
		require.Contains(t, w.Header().Get("Access-Control-Allow-Headers"), name)
	}
}

func TestWhoIsRefused(t *testing.T) {
	t.Parallel()
	h := ring(t, "k").Handler(codec.HandlerOptions{Token: "t0ken", Origins: []string{origin}})
	p := encode(t, ring(t, "k"), payload(`"a secret"`))
	const right = "Bearer t0ken"
	for _, tt := range []struct {
		name   string
		path   string
		header map[string]string
		want   int
	}{
		{"no token", "/decode", nil, http.StatusUnauthorized},
		{"a wrong token", "/decode", map[string]string{"Authorization": "Bearer t0keN"}, http.StatusUnauthorized},
		{"the beginning of the token", "/decode", map[string]string{"Authorization": "Bearer t0k"}, http.StatusUnauthorized},
		{"another scheme", "/decode", map[string]string{"Authorization": "Basic t0ken"}, http.StatusUnauthorized},
		{"a token without a scheme", "/decode", map[string]string{"Authorization": "t0ken"}, http.StatusUnauthorized},
		{"the page of another origin", "/decode", map[string]string{"Authorization": right, "Origin": "https://example.com"}, http.StatusForbidden},
		{"another path", "/", map[string]string{"Authorization": right}, http.StatusNotFound},
		{"a path that only ends so", "/a/b/decode", map[string]string{"Authorization": right}, http.StatusNotFound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := ask(t, h, tt.path, tt.header, p)
			require.Equal(t, tt.want, w.Code)
			require.NotContains(t, w.Body.String(), "secret")
			require.NotContains(t, w.Body.String(), "t0ken")
		})
	}
}

func TestTheCodecServerNamesAMissingKey(t *testing.T) {
	t.Parallel()
	h := ring(t, "k").Handler(codec.HandlerOptions{})
	w := ask(t, h, "/decode", nil, encode(t, ring(t, "lost"), payload("1")))
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.Contains(t, w.Body.String(), `the key "lost"`)
}

func TestTheCodecServerTakesNoEndlessRequest(t *testing.T) {
	t.Parallel()
	h := ring(t, "k").Handler(codec.HandlerOptions{})
	w := ask(t, h, "/decode", nil, payload(strings.Repeat("x", 17<<20)))
	require.Equal(t, http.StatusBadRequest, w.Code)
}

func TestTheCodecServerShowsPayloadsInClearAsTheyAre(t *testing.T) {
	t.Parallel()
	w := ask(t, ring(t, "k").Handler(codec.HandlerOptions{}), "/decode", nil, payload(`"older than the keys"`))
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	require.Contains(t, w.Body.String(), base64.StdEncoding.EncodeToString([]byte(`"older than the keys"`)))
}
