package login

import (
	"encoding/json"
	"net/http"
)

// metadataPath is the path of what the API says about how to get tokens for it (RFC 9728).
const metadataPath = "/.well-known/oauth-protected-resource"

// A CommandLine says how people log in at a command line: by the device flow of an issuer (RFC 8628).
type CommandLine struct {
	Issuer   string
	ClientID string   // of a client that is public
	Scopes   []string // besides openid
}

// showMetadata returns how command lines get tokens. Anybody may read it: it holds no secret.
func (h *Handler) showMetadata(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(map[string]any{ // the caller may be gone
		"resource":                 h.base(r),
		"authorization_servers":    []string{h.CommandLine.Issuer},
		"bearer_methods_supported": []string{"header"},
		"scopes_supported":         append([]string{"openid"}, h.CommandLine.Scopes...),
		"almanac_cli_client_id":    h.CommandLine.ClientID,
	})
}
