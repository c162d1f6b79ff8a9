package access_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/access"
)

func TestAFileOfAssignmentsSelectsPrincipals(t *testing.T) {
	t.Parallel()
	p, err := access.ParsePolicy([]byte(`
# Who may do what.
assignments:
  - principal: {token: ci}
    role: operator
    scope: /jobCollections/payroll
  - {principal: {group: ops, issuer: https://b.example}, role: contributor, scope: /}
  - {principal: {certificate: "CN=ci,O=Example"}, role: owner, scope: /subscriptions/s}
`), access.FileOptions{Defaults: defaults, Issuers: []string{"https://a.example", "https://b.example"}, Authorities: []access.Authority{{ID: "sha256:00", Name: "CN=authority"}}})
	require.NoError(t, err)
	role := func(s access.Selector, at string) string {
		return p.For(&access.Principal{Selectors: []access.Selector{s}}).Role(scope(t, at)).String()
	}
	require.Equal(t, "operator", role(named("ci"), "/jobCollections/payroll/jobs/j"))
	require.Equal(t, "none", role(access.Selector{Kind: access.KindGroup, Issuer: "https://a.example", Value: "ops"}, "/"))
	require.Equal(t, "contributor", role(access.Selector{Kind: access.KindGroup, Issuer: "https://b.example", Value: "ops"}, "/"))
	require.Equal(t, "owner", role(access.Selector{Kind: access.KindCertificate, Issuer: "sha256:00", Value: "CN=ci,O=Example"}, "/subscriptions/s/resourceGroups/g"))

	for _, empty := range []string{"", "# nothing\n", "assignments:\n", "assignments: []"} {
		p, err := access.ParsePolicy([]byte(empty), access.FileOptions{})
		require.NoError(t, err, empty)
		require.False(t, p.For(&access.Principal{Selectors: []access.Selector{named("ci")}}).Reaches(access.Everything))
	}
}

func TestTheOnlyIssuerNeedsNoName(t *testing.T) {
	t.Parallel()
	p, err := access.ParsePolicy([]byte(`assignments: [{principal: {subject: alice}, role: reader, scope: /}]`),
		access.FileOptions{Issuers: []string{"https://a.example"}})
	require.NoError(t, err)
	who := &access.Principal{Selectors: []access.Selector{{Kind: access.KindSubject, Issuer: "https://a.example", Value: "alice"}}}
	require.Equal(t, access.Reader, p.For(who).Role(access.Everything))
}

func TestAMistakeInAFileOfAssignmentsIsReportedWithItsLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"assignments:\n- {principal: {token: a}, role: reador, scope: /}":              `line 2: assignments[0].role: "reador" is no role; allowed: reader, operator, contributor or owner`,
		"assignments:\n- {principal: {token: a}, role: reader}":                        `line 2: assignments[0].scope: it is missing`,
		"assignments:\n- principal: {token: a}\n  role: reader\n  scope: /payroll":     `line 4: assignments[0].scope: "/payroll" is not the path of a resource; allowed: /, /jobCollections/NAME`,
		"assignments:\n- principal: {token: a}\n  rol: reader\n  scope: /":             `line 3: assignments[0].rol: there is no such member; allowed: principal, role, scope`,
		"assignments:\n- principal: {}\n  role: reader\n  scope: /":                    `line 2: assignments[0].principal: it selects nobody; allowed: one of token, subject,`,
		"assignments:\n- role: reader\n  scope: /":                                     `line 2: assignments[0].principal: it is missing`,
		"assignments:\n- {principal: {token: a, group: b}, role: reader, scope: /}":    `assignments[0].principal: it has both token and group`,
		"assignments:\n- {principal: {token: a, issuer: b}, role: reader, scope: /}":   `assignments[0].principal.issuer: a token has no issuer`,
		"assignments:\n- {principal: {group: b}, role: reader, scope: /}":              `assignments[0].principal.issuer: it is missing, and there are several issuers`,
		"assignments:\n- {principal: {group: b, issuer: c}, role: reader, scope: /}":   `assignments[0].principal.issuer: "c" is no --oidc-issuer; allowed: https://a.example, https://b.example`,
		"assignments:\n- {principal: {token: [a]}, role: reader, scope: /}":            `assignments[0].principal.token: it is no text`,
		"assignments:\n- {principal: {token: ''}, role: reader, scope: /}":             `assignments[0].principal.token: it is no text`,
		"assignments:\n- {principal: {token: a}, role: reader, role: owner, scope: /}": `assignments[0].role: the member is there twice`,
		"assignments: {a: b}":                   `line 1: assignments: it is no list`,
		"assignment: []":                        `line 1: assignment: there is no such member; allowed: assignments`,
		"- a":                                   `line 1: it is no mapping; allowed: a mapping with assignments`,
		"assignments: [":                        `line 1: did not find expected node content`,
		"assignments: []\n---\nassignments: []": `a second document begins`,
		"x: &a {token: t}\nassignments:\n- {principal: *a, role: reader, scope: /}": `line 3: assignments[0].principal: it is no mapping`,
	} {
		_, err := access.ParsePolicy([]byte(text), access.FileOptions{Defaults: defaults, Issuers: []string{"https://a.example", "https://b.example"}})
		require.ErrorContains(t, err, want, text)
	}
	_, err := access.ParsePolicy([]byte("assignments:\n"+strings.Repeat("- {}\n", 30)), access.FileOptions{})
	require.ErrorContains(t, err, "and 80 more mistakes")
	_, err = access.ParsePolicy([]byte(`assignments: [{principal: {group: a}, role: reader, scope: /}]`), access.FileOptions{})
	require.ErrorContains(t, err, "no --oidc-issuer is given")
}
