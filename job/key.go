package job

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"almanac/internal/fields"
)

// A CollectionKey names a collection. Names are compared as by [NormalizeName]. They are shown as they were first
// written.
type CollectionKey struct {
	Subscription  string `json:"sub"`
	ResourceGroup string `json:"rg"`
	Name          string `json:"name"`
}

// A Key names a job in its collection.
type Key struct {
	Collection CollectionKey `json:"collection"`
	Name       string        `json:"name"`
}

// Job returns the key of the collection's job with that name.
func (k CollectionKey) Job(name string) Key { return Key{Collection: k, Name: name} }

// ARMID returns the collection's ARM resource ID.
func (k CollectionKey) ARMID() string {
	return "/subscriptions/" + k.Subscription + "/resourceGroups/" + k.ResourceGroup +
		"/providers/Microsoft.Scheduler/jobCollections/" + k.Name
}

// WorkflowID returns the ID of the collection's workflow.
func (k CollectionKey) WorkflowID() string {
	return CollectionWorkflowID(k.Subscription, k.Path())
}

// Path returns the collection's path in its subscription: resource group/name.
func (k CollectionKey) Path() string { return k.ResourceGroup + "/" + k.Name }

// CollectionWorkflowID returns the ID of the workflow of the collection with that path in the subscription.
func CollectionWorkflowID(subscription, path string) string {
	return workflowID("collection/" + under(subscription) + path)
}

// NotificationsWorkflowID returns the ID of a workflow that delivers alerts of the collection's jobs, by its number:
// see [almanac/job/notification.Shard].
func (k CollectionKey) NotificationsWorkflowID(shard int) string {
	path := "notifications/" + k.Subscription + "/" + k.Path()
	if shard > 0 {
		path += "/" + strconv.Itoa(shard)
	}
	return workflowID(path)
}

// SubscriptionWorkflowID returns the ID of the workflow that lists a subscription's collections.
func SubscriptionWorkflowID(subscription string) string {
	return workflowID("subscription/" + subscription)
}

// ARMID returns the job's ARM resource ID.
func (k Key) ARMID() string { return k.Collection.ARMID() + "/jobs/" + k.Name }

// WorkflowIDPrefix begins the ids of the workflows of jobs, and of no others.
const WorkflowIDPrefix = "job/"

// WorkflowID returns the ID of the job's workflow.
func (k Key) WorkflowID() string {
	c := k.Collection
	return workflowID(WorkflowIDPrefix + under(c.Subscription) + c.ResourceGroup + "/" + c.Name + "/" + k.Name)
}

// TrialWorkflowID returns the ID of a workflow that sends an action of the collection once, by a UUID.
func (k CollectionKey) TrialWorkflowID(id string) string {
	return workflowID("try/" + under(k.Subscription) + k.ResourceGroup + "/" + k.Name + "/" + id)
}

// BulkWorkflowID returns the ID of the workflow that changes selected jobs of the collection, by the name of the request.
func (k CollectionKey) BulkWorkflowID(request string) string {
	return workflowID("bulk/" + under(k.Subscription) + k.ResourceGroup + "/" + k.Name + "/" + request)
}

// NilSubscription is the subscription of the short paths. The IDs of the workflows in it
// are short: they do not name it, which those in any other do, so they have a part less and differ from all others.
const NilSubscription = "00000000-0000-0000-0000-000000000000"

// under returns the beginning of the path of a workflow in a subscription.
func under(subscription string) string {
	if subscription == NilSubscription {
		return ""
	}
	return subscription + "/"
}

// maxWorkflowID is the size limit of a workflow ID in Temporal's tables in PostgreSQL and MySQL, in bytes.
// Elsewhere it is 1,000.
const maxWorkflowID = 255

// workflowID returns the workflow ID for a path of names, none of which contains a slash. Names that are
// equal under [NormalizeName] have the same ID.
//
// Letters, digits, hyphens, full stops and underscores are kept, and every other byte of a name is
// percent-encoded: Temporal's clients send IDs in gRPC headers, which are ASCII. A longer ID than
// maxWorkflowID is cut, and ends in a tilde and the SHA-256 of the whole ID.
func workflowID(path string) string {
	const hex = "0123456789ABCDEF"
	var id strings.Builder
	for _, c := range []byte(NormalizeName(path)) {
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

// NormalizeName returns the form in which names are compared; see [fields.Normalize].
func NormalizeName(name string) string { return fields.Normalize(name) }

// Limits of names, in characters. A search attribute holds 255.
const (
	maxCollectionName = 100
	maxName           = 255
)

// Validate returns an error that lists the names that are not allowed.
func (k CollectionKey) Validate() error {
	return invalidNames(
		checkName("subscriptionId", k.Subscription, maxName),
		checkName("resourceGroupName", k.ResourceGroup, maxName),
		checkName("jobCollectionName", k.Name, maxCollectionName))
}

// Validate returns an error that lists the names that are not allowed.
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
		Path: what, Code: fields.Invalid, Value: name,
		Allowed: fmt.Sprintf(`1 to %d characters, in UTF-8, without any of / \ ? # %% & < > " : * |, without control characters, line separators and marks of writing direction, `+
			`without blanks at its ends and a full stop at its end`, most),
	}
}

// notInName reports whether r is forbidden in names: characters with a meaning in paths, invisible ones,
// and the replacement character, which stands for bytes that are not UTF-8.
func notInName(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' || r == 0x7f || strings.ContainsRune(`/\?#%&<>":*|`, r)
	}
	return r == unicode.ReplacementChar || unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control, unicode.Noncharacter_Code_Point)
}
