package job

import (
	"strconv"
	"strings"
	"unicode"
)

// A CollectionKey names a collection. Names compare without case; the case
// they were first written in is kept for showing.
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

// WorkflowID returns the id of the collection's workflow. Workflow ids
// are spelled in this file and nowhere else.
func (k CollectionKey) WorkflowID() string {
	return CollectionWorkflowID(k.Subscription, k.Path())
}

// Path returns the collection's name within its subscription: resource group/name.
func (k CollectionKey) Path() string { return k.ResourceGroup + "/" + k.Name }

// CollectionWorkflowID returns the id of the workflow of the collection that
// has that path in the subscription.
func CollectionWorkflowID(subscription, path string) string {
	return "collection/" + Fold(subscription+"/"+path)
}

// SubscriptionWorkflowID returns the id of the workflow that lists a
// subscription's collections.
func SubscriptionWorkflowID(subscription string) string { return "subscription/" + Fold(subscription) }

// ARMID returns the job's resource id.
func (k Key) ARMID() string { return k.Collection.ARMID() + "/jobs/" + k.Name }

// WorkflowID returns the id of the job's workflow: the same for every
// spelling of the names that differs in case only.
func (k Key) WorkflowID() string {
	c := k.Collection
	return "job/" + Fold(c.Subscription+"/"+c.ResourceGroup+"/"+c.Name+"/"+k.Name)
}

// Fold maps names that differ in case only to one string.
func Fold(name string) string { return strings.ToLower(name) }

// Names end up in paths, workflow ids and outbound headers.
const (
	maxCollectionName = 100
	maxName           = 260
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
	bad := name == "" || len(name) > most || strings.TrimSpace(name) != name || strings.HasSuffix(name, ".") ||
		strings.ContainsFunc(name, func(r rune) bool {
			return unicode.IsControl(r) || r == unicode.ReplacementChar || strings.ContainsRune(`/\?#%&<>":*|`, r)
		})
	if !bad {
		return nil
	}
	return &FieldError{
		Path: what, Value: name,
		Want: `at most ` + strconv.Itoa(most) + ` bytes without control characters, without any of / \ ? # % & < > " : * |, without blanks at its ends or a full stop at its end`,
	}
}
