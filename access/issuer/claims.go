package issuer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// claims are what a token says, in the names of OpenID Connect and of Entra ID. They are decoded once, by their exact
// names.
type claims struct {
	Identity
	Audience  many
	Nonce     string
	Expires   *float64
	NotBefore *float64
	AppV1     string // appid: in Entra ID's tokens of version 1
	AppV2     string // azp: in those of version 2, and elsewhere
	ClientID  string // client_id: in access tokens of RFC 9068
}

// many is a list of texts, which some issuers write as a text if there is one.
type many []string

// UnmarshalJSON reads a text or a list of texts.
func (m *many) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		*m = make(many, 1)
		return json.Unmarshal(text, &(*m)[0])
	}
	return json.Unmarshal(text, (*[]string)(m))
}

// Errors of [parseClaims]; others are about a payload that is damaged.
var (
	// RFC 7519, section 4, lets readers refuse it: they differ in which one counts.
	errRepeated = errors.New("the token has a claim twice")
	errType     = errors.New("a claim is of a wrong type")
)

// parseClaims decodes the payload of a token. Package json would take "Roles" for roles, and the last of several.
func parseClaims(payload []byte) (*claims, error) {
	said, values := new(claims), map[string]json.RawMessage{}
	d := json.NewDecoder(bytes.NewReader(payload))
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return nil, errors.New("the payload is no JSON object")
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		claim := name.(string) // the decoder accepts no other
		if _, repeated := values[claim]; repeated {
			return nil, errRepeated
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		values[claim] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("the payload has more than a JSON object")
	}
	for name, to := range map[string]any{
		"iss": &said.Issuer, "sub": &said.Subject, "tid": &said.Tenant, "oid": &said.Object, "groups": &said.Groups, "roles": &said.Roles,
		"aud": &said.Audience, "nonce": &said.Nonce, "exp": &said.Expires, "nbf": &said.NotBefore,
		"appid": &said.AppV1, "azp": &said.AppV2, "client_id": &said.ClientID,
	} {
		value, ok := values[name]
		if !ok {
			continue
		}
		if err := json.Unmarshal(value, to); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", errType, name, err)
		}
	}
	return said, nil
}
