package access_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/access"
	"almanac/job"
)

var defaults = access.Defaults{Subscription: "00000000-0000-0000-0000-000000000000", ResourceGroup: "default"}

func scope(t testing.TB, text string) access.Scope {
	t.Helper()
	s, err := access.ParseScope(text, defaults)
	require.NoError(t, err)
	return s
}

func named(name string) access.Selector { return access.Selector{Kind: access.KindToken, Value: name} }

func TestARoleHoldsInItsScopeAndBelowAndNowhereElse(t *testing.T) {
	t.Parallel()
	p := access.NewPolicy([]access.Assignment{
		{Principal: named("ci"), Grant: access.Grant{Role: access.Operator, Scope: scope(t, "/jobCollections/Payroll")}},
		{Principal: named("ci"), Grant: access.Grant{Role: access.Reader, Scope: scope(t, "/subscriptions/s1")}},
		{Principal: named("ci"), Grant: access.Grant{Role: access.Owner, Scope: scope(t, "/jobCollections/other/jobs/one")}},
	})
	v := p.For(&access.Principal{Selectors: []access.Selector{named("ci")}})
	for text, want := range map[string]access.Role{
		"/jobCollections/payroll":                access.Operator,
		"/jobCollections/PAYROLL/jobs/any":       access.Operator,
		"/jobCollections/payroll2":               0,
		"/jobCollections/pay":                    0,
		"/":                                      0,
		"/subscriptions/S1":                      access.Reader,
		"/subscriptions/s1/resourceGroups/g":     access.Reader,
		"/subscriptions/s11":                     0,
		"/jobCollections/other":                  0,
		"/jobCollections/other/jobs/one":         access.Owner,
		"/jobCollections/other/jobs/two":         0,
		"/subscriptions/s2/resourceGroups/other": 0,
	} {
		require.Equal(t, want, v.Role(scope(t, text)), text)
	}
	require.True(t, v.Reaches(access.Everything))
	require.True(t, v.Reaches(scope(t, "/jobCollections/other")))
	require.False(t, v.Reaches(scope(t, "/jobCollections/payroll2")))
	require.False(t, v.Reaches(scope(t, "/subscriptions/s2")))

	other := p.For(&access.Principal{Selectors: []access.Selector{named("CI"), {Kind: access.KindGroup, Value: "ci"}}})
	require.False(t, other.Reaches(access.Everything), "selectors compare with their case and their kind")
}

func TestEachRoleMayDoWhatTheOneBeforeMayAndMore(t *testing.T) {
	t.Parallel()
	for action, least := range map[access.Action]access.Role{
		access.ReadCollections: access.Reader, access.ReadJobs: access.Reader, access.ReadHistory: access.Reader, access.ReadChanges: access.Reader, access.Preview: access.Reader,
		access.ReadMetrics: access.Reader, access.RunJobs: access.Operator, access.SkipJobs: access.Operator, access.EnableJobs: access.Operator, access.DisableJobs: access.Operator, access.EnableCollections: access.Operator, access.DisableCollections: access.Operator,
		access.WriteJobs: access.Contributor, access.DeleteJobs: access.Contributor, access.WriteCollections: access.Contributor,
		access.DeleteCollections: access.Contributor, access.ReadResponses: access.Contributor, access.WriteAssignments: access.Owner,
	} {
		for role := access.Role(0); role <= access.Owner; role++ {
			require.Equal(t, role >= least, role.Allows(action), "%s %s", role, action)
		}
	}
	require.False(t, access.Owner.Allows("Microsoft.Scheduler/unheard/of"))
}

// The model walks over all assignments and compares paths as texts.
func TestAnswersAreThoseOfAModelThatLooksAtEveryAssignment(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(words ...string) string { return words[random.IntN(len(words))] }
	path := func() string {
		text := ""
		for _, word := range []string{"/subscriptions/", "/resourceGroups/", "/providers/Microsoft.Scheduler/jobCollections/", "/jobs/"} {
			if random.IntN(4) == 0 {
				break
			}
			text += word + pick("a", "A", "b", "ab")
		}
		if text == "" {
			return "/"
		}
		return text
	}
	covers := func(outer, inner string) bool {
		outer, inner = strings.TrimSuffix(strings.ToLower(outer), "/")+"/", strings.TrimSuffix(strings.ToLower(inner), "/")+"/"
		return strings.HasPrefix(inner, outer)
	}
	for range 300 {
		var assignments []access.Assignment
		var texts []string
		for range random.IntN(6) {
			texts = append(texts, path())
			assignments = append(assignments, access.Assignment{Principal: named(pick("x", "y", "z")),
				Grant: access.Grant{Role: access.Role(1 + random.IntN(4)), Scope: scope(t, texts[len(texts)-1])}})
		}
		p := access.NewPolicy(assignments)
		who := &access.Principal{Selectors: []access.Selector{named("x"), named("y")}}
		own := path()
		if random.IntN(2) == 0 {
			who.Grant = access.Grant{Role: access.Operator, Scope: scope(t, own)}
		}
		for range 20 {
			asked := path()
			role, reaches := access.Role(0), false
			consider := func(r access.Role, at string) {
				if covers(at, asked) {
					role = max(role, r)
				}
				reaches = reaches || covers(at, asked) || covers(asked, at)
			}
			for i, a := range assignments {
				if a.Principal.Value != "z" {
					consider(a.Role, texts[i])
				}
			}
			if who.Grant.Role > 0 {
				consider(who.Grant.Role, own)
			}
			v := p.For(who)
			require.Equal(t, role, v.Role(scope(t, asked)), "%s of %v", asked, texts)
			require.Equal(t, reaches, v.Reaches(scope(t, asked)), "%s of %v", asked, texts)
		}
	}
}

func TestAScopeIsThePathOfAResource(t *testing.T) {
	t.Parallel()
	long := "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c/jobs/j"
	for text, want := range map[string]string{
		"/": "/", "/subscriptions/S": "/subscriptions/s", "/SUBSCRIPTIONS/s/resourcegroups/G": "/subscriptions/s/resourceGroups/g",
		long: long, strings.ToUpper(long): long,
		"/jobCollections/täglich":  "/subscriptions/" + defaults.Subscription + "/resourceGroups/default/providers/Microsoft.Scheduler/jobCollections/täglich",
		"/jobCollections/c/jobs/j": "/subscriptions/" + defaults.Subscription + "/resourceGroups/default/providers/Microsoft.Scheduler/jobCollections/c/jobs/j",
	} {
		require.Equal(t, want, scope(t, text).String())
		require.Equal(t, scope(t, text), scope(t, want))
	}
	for _, wrong := range []string{"", "payroll", "//", "/subscriptions", "/subscriptions/", "/subscriptions//resourceGroups/g", "/subscriptions/s/", "/jobCollections/", "/jobCollections/c/jobs", "/jobCollections/c/jobs/",
		"/jobCollections/c/jobs/j/history", "/jobCollections/t%C3%A4glich", "/jobCollections/ c", "/jobCollection\u017f/c", "/jobCollections/c/jobs\u212a/j", "/subscriptions/s/providers/Microsoft.Scheduler/jobCollections/c", "/resourceGroups/g"} {
		_, err := access.ParseScope(wrong, defaults)
		require.Error(t, err, wrong)
	}
	k := job.CollectionKey{Subscription: "S", ResourceGroup: "G", Name: "C"}
	require.Equal(t, scope(t, long), access.ScopeOfJob(k.Job("J")))
	above, _ := scope(t, long).Parent()
	require.Equal(t, above, access.ScopeOfCollection(k))
}

func TestAPrincipalTravelsWithTheContext(t *testing.T) {
	t.Parallel()
	require.Nil(t, access.PrincipalOf(t.Context()))
	p := &access.Principal{Name: "ci"}
	require.Same(t, p, access.PrincipalOf(access.WithPrincipal(t.Context(), p)))
}

func TestTheIDOfAPrincipalSaysHowItAuthenticated(t *testing.T) {
	t.Parallel()
	require.Equal(t, "token:ci", (&access.Principal{Kind: access.KindToken, Name: "ci"}).ID())
	require.Equal(t, "certificate:CN=ci", (&access.Principal{Kind: access.KindCertificate, Name: "CN=ci"}).ID())
	require.Equal(t, "https://a.example#ci", (&access.Principal{Kind: access.KindSubject, Issuer: "https://a.example", Name: "ci"}).ID())
}

func manyAssignments(n int) []byte {
	var text strings.Builder
	text.WriteString("assignments:\n")
	for i := range n {
		fmt.Fprintf(&text, "  - {principal: {token: t%d}, role: operator, scope: /jobCollections/c%d}\n", i%1000, i)
	}
	return []byte(text.String())
}

func BenchmarkReadTenThousandAssignments(b *testing.B) {
	text := manyAssignments(10_000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := access.ParsePolicy(text, access.FileOptions{Defaults: defaults}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAllowsAmongTenThousandAssignments(b *testing.B) {
	p, err := access.ParsePolicy(manyAssignments(10_000), access.FileOptions{Defaults: defaults})
	require.NoError(b, err)
	who := &access.Principal{Selectors: []access.Selector{named("t7")}}
	at := scope(b, "/jobCollections/c5007/jobs/j")
	b.ReportAllocs()
	for b.Loop() {
		if !p.For(who).Allows(access.RunJobs, at) {
			b.Fatal("refused")
		}
	}
}
