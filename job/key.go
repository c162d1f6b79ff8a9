package job

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A CollectionKey names a collection. Names compare as [Fold] says; the
// spelling that they were first written in is kept for showing.
type CollectionKey struct {
	Subscription  string `json:"sub"`
	ResourceGroup string `json:"rg"`
	Name          string `json:"name"`
}

// A Key names a job within its collection.
type Key struct {
	Collection CollectionKey `json:"collection"`
	Name       string        `json:"name"`
}

// Job returns the key of the collection's job of that name.
func (k CollectionKey) Job(name string) Key { return Key{Collection: k, Name: name} }

// ARMID returns the collection's resource id.
func (k CollectionKey) ARMID() string {
	return "/subscriptions/" + k.Subscription + "/resourceGroups/" + k.ResourceGroup +
		"/providers/Microsoft.Scheduler/jobCollections/" + k.Name
}

// WorkflowID returns the id of the collection's workflow.
func (k CollectionKey) WorkflowID() string {
	return CollectionWorkflowID(k.Subscription, k.Path())
}

// Path returns the collection's name within its subscription: resource group/name.
func (k CollectionKey) Path() string { return k.ResourceGroup + "/" + k.Name }

// CollectionWorkflowID returns the id of the workflow of the collection that
// has that path in the subscription.
func CollectionWorkflowID(subscription, path string) string {
	return workflowID("collection/" + subscription + "/" + path)
}

// SubscriptionWorkflowID returns the id of the workflow that lists a
// subscription's collections.
func SubscriptionWorkflowID(subscription string) string {
	return workflowID("subscription/" + subscription)
}

// ARMID returns the job's resource id.
func (k Key) ARMID() string { return k.Collection.ARMID() + "/jobs/" + k.Name }

// WorkflowID returns the id of the job's workflow.
func (k Key) WorkflowID() string {
	c := k.Collection
	return workflowID("job/" + c.Subscription + "/" + c.ResourceGroup + "/" + c.Name + "/" + k.Name)
}

// maxWorkflowID is how many bytes of a workflow id Temporal's tables hold in
// PostgreSQL and MySQL. Elsewhere an id may have 1,000.
const maxWorkflowID = 255

// workflowID returns the id of the workflow that has that path of names, none
// of which holds a slash. It is the same for every spelling of the names that
// [Fold] takes for one.
//
// An id is a path: letters, digits, hyphens, full stops and underscores are
// themselves, and every other byte of a name is percent-encoded. Temporal's
// clients send ids in headers of gRPC, which are ASCII. What would be longer
// than maxWorkflowID is cut, and ends in a tilde and a hash of the whole.
func workflowID(path string) string {
	const hex = "0123456789ABCDEF"
	var id strings.Builder
	for _, c := range []byte(Fold(path)) {
		if c == '/' || c == '-' || c == '.' || c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' {
			id.WriteByte(c)
		} else {
			id.Write([]byte{'%', hex[c>>4], hex[c&0xf]})
		}
	}
	if id.Len() <= maxWorkflowID {
		return id.String()
	}
	hash := fmt.Sprintf("~%x", sha256.Sum256([]byte(id.String())))
	return id.String()[:maxWorkflowID-len(hash)] + hash
}

// Fold maps names that differ only in the case of ASCII letters to one string,
// as Azure Resource Manager compares names. All else counts as it is written:
// there is no other folding and no normalisation, so that the Kelvin sign is
// not a k, and an é of one code point is not an e and an accent.
func Fold(name string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}

// Names have a bounded number of characters. A search attribute holds 255.
const (
	maxCollectionName = 100
	maxName           = 255
)

// Validate reports the names that cannot be used.
func (k CollectionKey) Validate() error {
	return invalidNames(
		checkName("subscriptionId", k.Subscription, maxName),
		checkName("resourceGroupName", k.ResourceGroup, maxName),
		checkName("jobCollectionName", k.Name, maxCollectionName))
}

// Validate reports the names that cannot be used.
func (k Key) Validate() error {
	if err := k.Collection.Validate(); err != nil {
		return err
	}
	return invalidNames(checkName("jobName", k.Name, maxName))
}

func invalidNames(fields ...*FieldError) error {
	var bad []*FieldError
	for _, f := range fields {
		if f != nil {
			bad = append(bad, f)
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return &Error{Kind: KindInvalid, Code: "InvalidResourceName", Message: "The name of a resource cannot be used", Fields: bad}
}

func checkName(what, name string, most int) *FieldError {
	bad := name == "" || utf8.RuneCountInString(name) > most || strings.TrimSpace(name) != name || strings.HasSuffix(name, ".") ||
		strings.ContainsFunc(name, notInName)
	if !bad {
		return nil
	}
	return &FieldError{
		Path: what, Value: name,
		Want: fmt.Sprintf(`1 to %d characters, in UTF-8, without any of / \ ? # %% & < > " : * |, without control characters, line separators and marks of writing direction, `+
			`without blanks at its ends and a full stop at its end`, most),
	}
}

// notInName reports whether no name may hold r: what means something in a path,
// what cannot be seen, and what stands for bytes that are not UTF-8.
func notInName(r rune) bool {
	return r == unicode.ReplacementChar || strings.ContainsRune(`/\?#%&<>":*|`, r) ||
		unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control, unicode.Noncharacter_Code_Point)
}
