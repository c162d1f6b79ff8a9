package kind

import (
	"almanac/internal/fields"
)

// A Secret is a secret member of parameters, set or not.
type Secret struct {
	Path    string  // below the parameters
	Value   *string // in these parameters
	Stored  string  // in those that they replace
	Kept    Kept
	Allowed string // description for errors; "" if the parameters do not need it

	Empty       *bool // says that the secret is there and empty; nil: it cannot be
	StoredEmpty bool

	Together func() // takes what belongs to the secret from the stored parameters; nil: nothing does
}

// Absent reports whether the secret is not set.
func (s *Secret) Absent() bool { return *s.Value == "" && (s.Empty == nil || !*s.Empty) }

// Keep takes the secret from the stored parameters.
func (s *Secret) Keep() {
	*s.Value = s.Stored
	if s.Empty != nil {
		*s.Empty = s.StoredEmpty
	}
	if s.Together != nil {
		s.Together()
	}
}

// Missing returns the error of a secret that is left out and not kept, at a path.
func (s *Secret) Missing(path string) *fields.Error {
	e := &fields.Error{Path: path, Code: fields.Required, Allowed: s.Allowed}
	if k := s.Kept; k.Identity && k.Moved != "" {
		e.Hint = "send it again, because the target changed (" + k.Moved +
			"), and a stored secret is not sent to another one"
	}
	return e
}

// A Kept says whether a stored secret may replace one that is left out. Two conditions must hold:
//
//   - The identity is the same: the user name, the client ID, the certificate, or the key's name.
//   - The target is the same: scheme, host and port of the uri and the header Host; the tenant and
//     audience of a token; the storage account and queue; the Service Bus namespace; the origin of PagerDuty's uri. The
//     rest of the uri may change.
//
// Otherwise everyone who may change a job could have its secrets sent to a host of their own.
type Kept struct {
	Identity bool
	Moved    string // the part that makes the target another one; "" if it is the same
}

// To returns k, without the condition on the target if retarget is true.
func (k Kept) To(retarget bool) Kept {
	if retarget {
		k.Moved = ""
	}
	return k
}

// May reports whether the stored secret may be kept.
func (k Kept) May() bool { return k.Identity && k.Moved == "" }

// move records a change of a part of the target.
func (k *Kept) move(part, now, was string) {
	if k.Moved == "" && now != was {
		k.Moved = part
	}
}
