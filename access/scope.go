package access

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"almanac/job"
)

// A Scope is a part of the tree of resources: everything, a subscription, a resource group, a job collection or a job.
// From the first member on that is empty, all are. Names are as [job.NormalizeName] returns them, so that equal scopes
// are the same part.
type Scope struct{ Subscription, ResourceGroup, Collection, Job string }

// Everything is the scope of the whole installation.
var Everything = Scope{}

// NewScope returns the scope of a path of names, which may end in empty names.
func NewScope(subscription, resourceGroup, collection, name string) Scope {
	return Scope{
		job.NormalizeName(subscription), job.NormalizeName(resourceGroup), job.NormalizeName(collection), job.NormalizeName(name),
	}
}

// ScopeOfCollection returns the scope of a collection.
func ScopeOfCollection(k job.CollectionKey) Scope {
	return NewScope(k.Subscription, k.ResourceGroup, k.Name, "")
}

// ScopeOfJob returns the scope of a job.
func ScopeOfJob(k job.Key) Scope {
	return NewScope(k.Collection.Subscription, k.Collection.ResourceGroup, k.Collection.Name, k.Name)
}

// Parent returns the scope that contains s next. ok is false for [Everything].
func (s Scope) Parent() (parent Scope, ok bool) {
	switch {
	case s.Job != "":
		s.Job = ""
	case s.Collection != "":
		s.Collection = ""
	case s.ResourceGroup != "":
		s.ResourceGroup = ""
	case s.Subscription != "":
		s.Subscription = ""
	default:
		return s, false
	}
	return s, true
}

const providerPath = "/providers/Microsoft.Scheduler"

// String returns the resource ID of a scope; "/" for [Everything].
func (s Scope) String() string {
	var path strings.Builder
	for _, part := range []struct{ word, name string }{
		{"/subscriptions/", s.Subscription}, {"/resourceGroups/", s.ResourceGroup},
		{providerPath + "/jobCollections/", s.Collection}, {"/jobs/", s.Job},
	} {
		if part.name == "" {
			break
		}
		path.WriteString(part.word + part.name)
	}
	return cmp.Or(path.String(), "/")
}

// Defaults are the subscription and the resource group that a short scope, such as /jobCollections/payroll, is in.
type Defaults struct{ Subscription, ResourceGroup string }

// AllowedScopes says which texts [ParseScope] accepts.
const AllowedScopes = "/, /jobCollections/NAME[/jobs/NAME], or " +
	"/subscriptions/NAME[/resourceGroups/NAME[/providers/Microsoft.Scheduler/jobCollections/NAME[/jobs/NAME]]]"

// ParseScope reads a scope: the path of a resource in the API, long or short, or "/" for everything. Fixed words and
// names compare without case, and names are not percent-encoded.
func ParseScope(text string, d Defaults) (Scope, error) {
	if text == "/" {
		return Everything, nil
	}
	short, found := cutWord(text, "/jobCollections/")
	if found {
		text = "/subscriptions/" + d.Subscription + "/resourceGroups/" + d.ResourceGroup + providerPath + "/jobCollections/" + short
	}
	var names [4]string
	rest, found := text, false
	for i, word := range []string{"/subscriptions/", "/resourceGroups/", providerPath + "/jobCollections/", "/jobs/"} {
		if rest, found = cutWord(rest, word); !found {
			return Scope{}, fmt.Errorf("%.200q is not the path of a resource", text)
		}
		names[i], rest = cutName(rest)
		switch {
		case names[i] == "":
			return Scope{}, fmt.Errorf("%.200q lacks a name", text)
		case rest == "":
			return checked(NewScope(names[0], names[1], names[2], names[3]))
		}
	}
	return Scope{}, fmt.Errorf("%.200q is not the path of a resource", text)
}

// checked returns a scope, or an error if one of its names cannot exist. The first name may be empty, and is then
// wrong.
func checked(s Scope) (Scope, error) {
	k := job.CollectionKey{Subscription: s.Subscription, ResourceGroup: cmp.Or(s.ResourceGroup, "any"), Name: cmp.Or(s.Collection, "any")}
	if err := k.Job(cmp.Or(s.Job, "any")).Validate(); err != nil {
		if bad, ok := errors.AsType[*job.Error](err); ok && len(bad.Fields) > 0 {
			return Scope{}, bad.Fields[0]
		}
		return Scope{}, err
	}
	return s, nil
}

// cutWord removes a prefix, which is compared without case.
func cutWord(text, word string) (rest string, found bool) {
	if len(text) < len(word) || !strings.EqualFold(text[:len(word)], word) { // the Kelvin sign is longer than a k
		return text, false
	}
	return text[len(word):], true
}

// cutName splits a text before its first slash.
func cutName(text string) (name, rest string) {
	if i := strings.IndexByte(text, '/'); i >= 0 {
		return text[:i], text[i:]
	}
	return text, ""
}
