package login

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"

	"almanac/access"
	"almanac/internal/ratelimit"
	"almanac/internal/redact"
)

// refuseCredential shows why a login failed: 401, 429 if its address fails too often, or 503 if the issuer does not
// answer.
func (h *Handler) refuseCredential(w http.ResponseWriter, r *http.Request, back string, err error) {
	bad, ok := errors.AsType[*access.CredentialError](err)
	if !ok {
		h.refuse(w, r, http.StatusServiceUnavailable, "ServiceUnavailable", back,
			"The issuer does not answer as it should. Try again, or ask who operates this server: its log says why.", err)
		return
	}
	address := ratelimit.ByAddress(r)
	refusal := h.failures.Check(address)
	h.failures.Failed(address)
	if refusal != nil {
		h.slowDown(w, r, refusal)
		return
	}
	h.refuse(w, r, http.StatusUnauthorized, "AuthenticationFailed", back, bad.Problem, errors.Join(bad, bad.Err))
}

// slowDown answers 429.
func (h *Handler) slowDown(w http.ResponseWriter, r *http.Request, refusal *ratelimit.Refusal) {
	w.Header().Set("Retry-After", strconv.Itoa(refusal.Seconds()))
	h.show(w, r, http.StatusTooManyRequests, "", fmt.Sprintf("This address %s. Try again in %d s.", refusal.Reason, refusal.Seconds()))
}

// refuse shows the login page with a problem.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, status int, code, back, problem string, cause error) {
	h.Log.InfoContext(r.Context(), "a login was refused", slog.Int("status", status), slog.String("problem", problem), slog.Any("cause", cause),
		slog.String("client", ratelimit.ByAddress(r)))
	if h.Refused != nil {
		h.Refused(r, "", status, code)
	}
	h.show(w, r, status, back, problem)
}

// cut returns the beginning of a text that somebody else wrote.
func cut(text string) string { return redact.Cut(redact.Clean(text), 200) }
