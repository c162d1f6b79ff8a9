package codec

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"slices"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
)

// maxRequest is the size limit of a request to a codec server, in bytes.
const maxRequest = 16 << 20

// HandlerOptions configure [KeyRing.Handler].
type HandlerOptions struct {
	// Token is the secret of callers: "Authorization: Bearer TOKEN". If it is empty, everyone who reaches
	// the handler may decode.
	Token string

	// Origins are the origins of web pages that may call, such as "https://temporal.example.com". Other
	// pages get 403. Callers that are not web pages send no Origin header and are not affected.
	Origins []string
}

// Handler returns a codec server: POST /decode and POST /{namespace}/decode, in the protocol of the
// Temporal Web UI and CLI. Payloads in clear are returned as they are. POST /encode is refused, because the
// request does not name the workflow to encrypt for.
func (r *KeyRing) Handler(o HandlerOptions) http.Handler {
	codec := http.MaxBytesHandler(converter.NewPayloadCodecHTTPHandler(reader{r.AcceptingClear()}), maxRequest)
	mux := http.NewServeMux()
	for _, path := range []string{"/encode", "/decode", "/{namespace}/encode", "/{namespace}/decode"} {
		mux.Handle("POST "+path, o.authenticated(codec))
		mux.HandleFunc("OPTIONS "+path, preflight)
	}
	return o.sameOrigins(mux)
}

// authenticated answers 401 to callers without the token.
func (o HandlerOptions) authenticated(next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(o.Token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		got := sha256.Sum256([]byte(token))
		if o.Token != "" && (!strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(want[:], got[:]) == 0) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "the codec server requires the header Authorization: Bearer, with the token that it was "+
				"started with", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// sameOrigins answers 403 to web pages of other origins, and sets the CORS headers for those of allowed
// ones.
func (o HandlerOptions) sameOrigins(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "Origin")
		if origin := r.Header.Get("Origin"); origin != "" {
			if !slices.Contains(o.Origins, origin) {
				http.Error(w, "the codec server was not started with --origin for this web page", http.StatusForbidden)
				return
			}
			w.Header().Set("Access-Control-Allow-Origin", origin)
			w.Header().Set("Access-Control-Allow-Credentials", "true")
		}
		next.ServeHTTP(w, r)
	})
}

// preflight answers CORS preflight requests. The allowed headers are those that the Web UI sets.
func preflight(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Access-Control-Allow-Methods", http.MethodPost)
	w.Header().Set("Access-Control-Allow-Headers", "Authorization, Authorization-Extras, Content-Type, X-Namespace")
	w.Header().Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
}

// A reader is the payload codec of a codec server.
type reader struct{ keys *KeyRing }

// Encode accepts only calls without payloads, which the temporal CLI makes too.
func (reader) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	if len(payloads) == 0 {
		return payloads, nil
	}
	return nil, errors.New("payloads are encrypted for one workflow, and a codec server is not told which: send no arguments, or use Almanac's API")
}

func (r reader) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return each(payloads, r.keys.decrypt)
}
