package base

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/output"
	"almanac/internal/fields"
)

// A ResourceGroup is a resource group that has job collections.
type ResourceGroup struct{ Subscription, Name string }

// same reports whether two groups are the same: names compare without case.
func (g ResourceGroup) same(other ResourceGroup) bool {
	return fields.Normalize(g.Subscription) == fields.Normalize(other.Subscription) && fields.Normalize(g.Name) == fields.Normalize(other.Name)
}

// Groups returns the resource groups of all subscriptions in which the caller may see job collections; at most so many,
// 0 for all.
func (s *Session) Groups(ctx context.Context, most int) (all []ResourceGroup, err error) {
	for of, err := range s.Client.Subscriptions(ctx, client.List{}) {
		if err != nil {
			return all, err
		}
		for g, err := range s.Client.ResourceGroups(ctx, of.SubscriptionID, client.List{}) {
			if err != nil {
				return all, err
			}
			if all = append(all, ResourceGroup{of.SubscriptionID, g.Name}); len(all) == most {
				return all, nil
			}
		}
	}
	return all, nil
}

// namedElsewhere is how many groups [Session.Elsewhere] names.
const namedElsewhere = 5

// Elsewhere says in which other resource groups there are job collections; "" for none, or if that cannot be read soon.
func (s *Session) Elsewhere(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	all, err := s.Groups(ctx, namedElsewhere+2) // the session's own, and one that is not named
	if err != nil {
		return ""
	}
	var lines []string
	for _, g := range all {
		if g.same(s.Group) {
			continue
		}
		if len(lines) == namedElsewhere {
			lines = append(lines, "  …")
			break
		}
		lines = append(lines, fmt.Sprintf("  --subscription %s --resource-group %s", word(g.Subscription), word(g.Name)))
	}
	if len(lines) == 0 {
		return ""
	}
	return "There are job collections in other resource groups:\n" + strings.Join(lines, "\n")
}

var plainWord = regexp.MustCompile(`^[\w.-]+$`)

// word returns a name as one word of a shell.
func word(name string) string {
	name = output.Line(name)
	if plainWord.MatchString(name) {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}
