package job

import (
	"almanac/job/kind"
)

// An Action is what a job does at each occurrence.
type Action struct {
	kind.Content
	Type        kind.Type    `json:"type" field:"required,rule=actionType"`
	RetryPolicy *RetryPolicy `json:"retryPolicy,omitempty"`
	// runs after the last attempt failed; has no error action itself
	ErrorAction *Action `json:"errorAction,omitempty"`

	Hidden []string `json:"-"` // what else is secret in what is sent; never stored
}

// Text describes the action for people, without secrets, in at most 200 characters.
func (a *Action) Text() string {
	if sent := a.Sent(); sent != nil {
		return Shorten(sent.Text(), 200)
	}
	return string(a.Type)
}

// Host returns the action's destination in lower case, for people; "" if there is none.
func (a *Action) Host() string {
	if sent := a.Sent(); sent != nil {
		return sent.Host()
	}
	return ""
}

// Shorten returns a text of at most so many characters.
func Shorten(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}

// Secrets returns the secrets of the action and of its error action.
func (a *Action) Secrets() []string {
	all := append(values(a.secrets()), a.Hidden...)
	if a.ErrorAction != nil {
		all = append(all, a.ErrorAction.Secrets()...)
	}
	return all
}

// secrets returns the secret members of the action, set or not.
func (a *Action) secrets() (all []kind.Secret) {
	for _, p := range a.Parts() {
		all = append(all, p.Parameters.Secrets(nil)...)
	}
	return all
}

// redact removes the secrets of the action and of its error action.
func (a *Action) redact() {
	erase(a.secrets())
	if a.ErrorAction != nil {
		a.ErrorAction.redact()
	}
}

// values returns the secrets that are set.
func values(secrets []kind.Secret) (all []string) {
	for _, s := range secrets {
		if *s.Value != "" {
			all = append(all, *s.Value)
		}
	}
	return all
}

func erase(secrets []kind.Secret) {
	for _, s := range secrets {
		*s.Value = ""
	}
}

// Clone returns a copy of the action that can be changed without changing a, but for its retry policy.
func (a Action) Clone() Action {
	a.Content = a.Content.Clone()
	if a.ErrorAction != nil {
		a.ErrorAction = new(a.ErrorAction.Clone())
	}
	return a
}
