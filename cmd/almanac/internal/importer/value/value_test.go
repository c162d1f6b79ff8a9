package value_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/cmd/almanac/internal/importer/value"
)

func TestAsPeopleHaveIt(t *testing.T) {
	t.Parallel()
	text := "\ufeff// first\r\n{ \"a\": [1, 2,], /* two */ \"b\": {\"c\": \"x\\u00e9\\ud83d\\ude00\",},\r\n}\r\n\n{\"d\": \"two\nlines\"},\n[true, null, -1.5e3]{}"
	docs, err := value.ReadAll(text)
	require.NoError(t, err)
	all, err := json.Marshal(docs)
	require.NoError(t, err)
	require.Equal(t, `[{"a":[1,2],"b":{"c":"xé😀"}},{"d":"two\nlines"},[true,null,-1.5e3],{}]`, string(all))
	require.Equal(t, []int{2, 2, 5}, []int{docs[0].Line, docs[0].Get("A").Line, docs[1].Line})
}

func TestErrorsQuoteNothing(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{\"a\": hunter2}":               "line 1: a value is expected here: text stands in double quotes",
		"{\n\"a\" \"hunter2\"}":          "line 2: a colon is expected after the name of a member",
		"{\"a\": 1 \"hunter2\": 2}":      "line 1: a comma or } is expected here",
		"{\"hunter2\": 1,\"hunter2\":2}": "line 1: a member comes twice in its object",
		"\n\"hunter2":                    "line 2: a string that begins here has no end",
		"{\"a\": \"\\hunter2\"}":         "line 1: a backslash begins no escape here; write it as two",
		"[1, 2":                          "line 1: a comma or ] is expected here",
		"/* hunter2":                     "line 1: a comment has no end",
		strings.Repeat("[", 200):         "line 1: values are nested more than 100 deep",
	} {
		_, err := value.ReadAll(text)
		require.EqualError(t, err, want, text)
	}
}

func FuzzReadAll(f *testing.F) {
	for _, text := range []string{`{"a":[1,{"b":null}],}`, "//x\n[]", `"\ud83d\ude00"`, "{}{}", `[1 2]`, "\ufeff{}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		docs, err := value.ReadAll(text)
		if err != nil {
			return
		}
		for _, d := range docs {
			out, err := json.Marshal(d)
			require.NoError(t, err)
			again, err := value.ReadAll(string(out))
			require.NoError(t, err)
			require.Len(t, again, 1)
		}
		var strict any
		if json.Unmarshal([]byte(text), &strict) == nil && len(docs) != 1 {
			t.Errorf("%q is one document, not %d", text, len(docs))
		}
	})
}
