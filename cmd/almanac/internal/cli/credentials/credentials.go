// Package credentials keeps the tokens of those who have logged in at OpenID Connect issuers: a file for each context,
// which only its owner can read. It gets them by the device flow (RFC 8628), and renews them.
package credentials

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"almanac/internal/files"
)

// A Login is somebody's login at an issuer, for the API at a URL.
type Login struct {
	URL          string    `json:"url"`
	Issuer       string    `json:"issuer"`
	ClientID     string    `json:"clientID"`
	Token        string    `json:"token"`   // for the API
	Expires      time.Time `json:"expires"` // of Token; zero if that is not known
	RefreshToken string    `json:"refreshToken,omitempty"`
}

// margin is how long before its end a token is renewed.
const margin = 30 * time.Second

// fresh reports whether the token counts at a time, as far as that is known.
func (l *Login) fresh(now time.Time) bool {
	return l.Token != "" && (l.Expires.IsZero() || now.Add(margin).Before(l.Expires))
}

// Path returns the path of the login of a context, below the directory of the file of contexts.
func Path(contexts, name string) string {
	return filepath.Join(filepath.Dir(contexts), "logins", url.QueryEscape(name)+".json")
}

// Load reads the login for the API at a URL. It is nil if nobody has logged in, or at another API.
func Load(path, at string) (*Login, error) {
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && len(text) == 0:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("the login: %w", err)
	}
	l, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("the login in %s: %w", path, err)
	}
	if strings.TrimRight(l.URL, "/") != strings.TrimRight(at, "/") {
		return nil, nil
	}
	return l, nil
}

// parse reads a login. Its errors do not have the text, which is secret.
func parse(text []byte) (*Login, error) {
	l := new(Login)
	if json.Unmarshal(text, l) != nil {
		return nil, errors.New("it cannot be read; \"almanac login\" makes it anew")
	}
	return l, nil
}

// Save writes a login to a file, which is made for its owner alone.
func Save(path string, l *Login) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := Remove(path); err != nil { // its permissions may be those of somebody else
		return err
	}
	return files.Change(path, true, func([]byte) ([]byte, error) { return json.Marshal(l) })
}

// Remove removes a login, if there is one.
func Remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// take has a login have the tokens of an answer. The API wants a JSON Web Token: the access token if it is one, else the
// ID token, for issuers whose access tokens nobody else can read.
func (l *Login) take(t *oauth2.Token) error {
	id, _ := t.Extra("id_token").(string)
	switch {
	case strings.Count(t.AccessToken, ".") == 2:
		l.Token = t.AccessToken
	case strings.Count(id, ".") == 2:
		l.Token = id
	default:
		return errors.New("the issuer has answered without a JSON Web Token, which the API needs")
	}
	l.Expires = expiry(l.Token)
	if l.Expires.IsZero() && l.Token == t.AccessToken {
		l.Expires = t.Expiry
	}
	if t.RefreshToken != "" {
		l.RefreshToken = t.RefreshToken
	}
	return nil
}

// expiry returns when a JSON Web Token expires; the zero time if it does not say. Nothing depends on its truth: the API
// checks the token.
func expiry(token string) time.Time {
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	var said struct {
		Expires float64 `json:"exp"`
	}
	if err != nil || json.Unmarshal(payload, &said) != nil || said.Expires <= 0 || said.Expires > 1<<40 {
		return time.Time{}
	}
	return time.Unix(int64(said.Expires), 0)
}
