package token_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/access"
	"almanac/access/token"
)

// layouts are files with the tokens a, b and c, of which HASH-a and so on are the hashes.
var layouts = map[string]string{
	"a line each":              "- {name: a, sha256: HASH-a}\n- {name: b, sha256: HASH-b, role: reader, scope: '/'}\n- {name: c, sha256: HASH-c}\n",
	"no line end":              "- {name: a, sha256: HASH-a}\n- {name: b, sha256: HASH-b}\n- {name: c, sha256: HASH-c}",
	"blocks":                   "- name: a\n  sha256: HASH-a\n- name: b\n  sha256: HASH-b\n  role: reader\n  scope: /\n- name: c\n  sha256: HASH-c\n",
	"comments":                 "# Tokens of the payroll team.\n- {name: a, sha256: HASH-a} # first\n\n# the second\n- name: b # of Ben\n  # his hash\n  sha256: HASH-b\n# end\n- {name: c, sha256: HASH-c}\n# no more\n",
	"an indented list":         "  - {name: a, sha256: HASH-a}\n  - name: b\n    sha256: HASH-b\n  - {name: c, sha256: HASH-c}\n",
	"a hyphen alone":           "-\n  name: a\n  sha256: HASH-a\n-\n  name: b\n  sha256: HASH-b\n-\n  name: c\n  sha256: HASH-c\n",
	"a hyphen and a comment":   "- # the first\n  name: a\n  sha256: HASH-a\n- # the second\n  name: b\n  sha256: HASH-b\n- # the third\n  name: c\n  sha256: HASH-c\n",
	"lines of Windows":         "# tokens\r\n- name: a\r\n  sha256: HASH-a\r\n- name: b\r\n  sha256: HASH-b\r\n- {name: c, sha256: HASH-c}\r\n",
	"brackets":                 "[{name: a, sha256: HASH-a}, {name: b, sha256: HASH-b}, {name: c, sha256: HASH-c}]\n",
	"brackets over lines":      "[\n  {name: a, sha256: HASH-a},\n  {name: b, sha256: HASH-b}, # of Ben\n  {name: c, sha256: HASH-c}, # ]\n]\n# ]\n",
	"braces over lines":        "- {\n    name: a,\n    sha256: HASH-a\n  }\n- {\n    name: b,\n    sha256: HASH-b\n  }\n- {\n    name: c,\n    sha256: HASH-c\n  }\n",
	"JSON":                     `[{"name": "a", "sha256": "HASH-a"}, {"name": "b", "sha256": "HASH-b", "role": "reader", "scope": "/jobCollections/}]"}, {"name": "c", "sha256": "HASH-c"}]`,
	"the start of a document":  "---\n- {name: a, sha256: HASH-a}\n- {name: b, sha256: HASH-b}\n- {name: c, sha256: HASH-c}\n",
	"the end of a document":    "%YAML 1.1\n---\n- {name: a, sha256: HASH-a}\n- {name: b, sha256: HASH-b}\n- {name: c, sha256: HASH-c}\n...\n# no more\n",
	"anchors":                  "&tokens\n- &a {name: a, sha256: &hash HASH-a}\n- &b\n  name: &name b\n  sha256: HASH-b\n- {name: c, sha256: HASH-c}\n",
	"tags":                     "!!seq\n- !!map {name: a, sha256: HASH-a}\n- !!map\n  name: !!str b\n  sha256: HASH-b\n- {name: c, sha256: HASH-c}\n",
	"a block of text":          "- name: a\n  sha256: HASH-a\n- name: b\n  sha256: HASH-b\n  role: reader\n  scope: >-\n    /jobCollections/pay\n\n- name: c\n  sha256: HASH-c\n",
	"explicit keys":            "- ? name\n  : a\n  ? sha256\n  : HASH-a\n- ? name\n  : b\n  ? sha256\n  : HASH-b\n- {name: c, sha256: HASH-c}\n",
	"a byte order mark":        "\ufeff- {name: a, sha256: HASH-a}\n- {name: b, sha256: HASH-b}\n- {name: c, sha256: HASH-c}\n",
	"a list within the braces": "- {name: a, sha256: HASH-a}\n- {name: b,\n   sha256: HASH-b}\n- {name: c, sha256: HASH-c}\n\n\n",
}

func layout(name string) []byte {
	text := layouts[name]
	for _, t := range []string{"a", "b", "c"} {
		text = strings.ReplaceAll(text, "HASH-"+t, fmt.Sprintf("%x", token.HashOf(t)))
	}
	return []byte(text)
}

func names(t *testing.T, text []byte) (all []string) {
	t.Helper()
	for _, e := range parse(t, string(text)).Entries() {
		all = append(all, e.Name)
	}
	return all
}

// comments returns the comments in a text.
func comments(text []byte) (all []string) {
	for line := range strings.Lines(string(text)) {
		if _, comment, found := strings.Cut(line, "# "); found {
			all = append(all, strings.TrimSpace(comment))
		}
	}
	return all
}

func TestATokenIsAddedToEveryLayout(t *testing.T) {
	t.Parallel()
	for name := range layouts {
		text := layout(name)
		e := token.Entry{Name: "d", Hash: token.HashOf("d"), Grant: grant(t, access.Operator, "/jobCollections/it's")}
		added, err := token.Add(text, e, "/jobCollections/it's", defaults)
		require.NoError(t, err, name)
		before, after := parse(t, string(text)).Entries(), parse(t, string(added)).Entries()
		require.Equal(t, append(before, e), after, name)
		require.Equal(t, comments(text), comments(added), name)
		left, err := token.Remove(added, "d", defaults)
		require.NoError(t, err, name)
		require.Equal(t, before, parse(t, string(left)).Entries(), name)
	}
}

func TestATokenIsRemovedFromEveryLayoutAndTheRestStays(t *testing.T) {
	t.Parallel()
	for name := range layouts {
		text := layout(name)
		for _, order := range []string{"abc", "acb", "bac", "bca", "cab", "cba"} {
			left, rest := text, "abc"
			for _, gone := range order {
				var err error
				left, err = token.Remove(left, string(gone), defaults)
				require.NoError(t, err, "%s: %s of %q", name, string(gone), left)
				rest = strings.ReplaceAll(rest, string(gone), "")
				require.Equal(t, rest, strings.Join(names(t, left), ""), name)
			}
			e := token.Entry{Name: "d", Hash: token.HashOf("d")}
			left, err := token.Add(left, e, "", defaults)
			require.NoError(t, err, "%s: %q", name, left)
			require.Equal(t, []string{"d"}, names(t, left))
		}
		_, err := token.Remove(text, "d", defaults)
		require.ErrorIs(t, err, token.ErrNoToken)
	}
	left, err := token.Remove(layout("comments"), "b", defaults)
	require.NoError(t, err)
	require.Equal(t, []string{"Tokens of the payroll team.", "first", "the second", "end", "no more"}, comments(left), "those within the token are gone")
}

func TestATokenIsAddedToAFileWithoutTokens(t *testing.T) {
	t.Parallel()
	e := token.Entry{Name: "d", Hash: token.HashOf("d")}
	for _, text := range []string{"", "\n", "# none yet", "# none yet\r\n", "---\n", "[]", "[ ]\n", "[\n]\n", "---\n...\n"} {
		added, err := token.Add([]byte(text), e, "", defaults)
		require.NoError(t, err, "%q", text)
		require.Equal(t, []string{"d"}, names(t, added), "%q", text)
		require.Equal(t, comments([]byte(text)), comments(added))
	}
}

func TestALayoutThatCannotBeChangedSafelyIsRefusedWithAReason(t *testing.T) {
	t.Parallel()
	e := token.Entry{Name: "d", Hash: token.HashOf("d")}
	_, err := token.Add([]byte("null\n"), e, "", defaults)
	require.ErrorContains(t, err, "add the line that it prints by hand")
	_, err = token.Add(layout("brackets"), token.Entry{Name: "a"}, "", defaults)
	require.EqualError(t, err, "there is a token named a")
	_, err = token.Add([]byte("- {name: a}"), e, "", defaults)
	require.ErrorContains(t, err, "line 1: [0].sha256: it is missing")
	_, err = token.Remove([]byte("- {name: a}"), "a", defaults)
	require.ErrorContains(t, err, "line 1: [0].sha256: it is missing")
	for _, name := range []string{"blocks", "a line each", "comments"} { // line breaks that are some in YAML alone
		for _, end := range []string{"\r", "\u0085", "\u2028"} {
			if left, err := token.Remove([]byte(strings.ReplaceAll(string(layout(name)), "\n", end)), "b", defaults); err == nil {
				require.Equal(t, []string{"a", "c"}, names(t, left))
			}
		}
	}
}

func TestAFileThatWasCutOffGrantsNothingMore(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"blocks", "a line each"} {
		whole := strings.TrimSuffix(string(layout(name)), "\n")
		whole = strings.Replace(whole, "scope: /", "scope: /jobCollections/payroll", 1)
		whole = strings.Replace(whole, "scope: '/'", "scope: '/jobCollections/payroll'", 1)
		want := parse(t, whole+"\n").Entries()
		for cut := range len(whole) {
			set, err := token.Parse([]byte(whole[:cut]), defaults)
			if err != nil {
				continue
			}
			for i, e := range set.Entries() {
				require.Equal(t, want[i].Hash, e.Hash)
				if e.Grant != (access.Grant{}) { // a token without a role may do nothing
					require.Equal(t, want[i], e, "cut after %q", whole[:cut])
				}
			}
		}
	}
	_, err := token.Parse([]byte("- name: a\n  sha256: "+fmt.Sprintf("%x", token.HashOf("a"))+"\n  role: owner\n  scope: /"), defaults)
	require.EqualError(t, err, `line 4: the file ends in the middle of a line, so what follows "/" may be missing; allowed: a line end after the last line`)
}
