package audit_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/internal/audit"
)

func TestDifferences(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, before, after, want string }{
		{"nothing", `{"a":1}`, `{"a":1}`, `[]`},
		{"another value", `{"a":{"b":1,"c":2}}`, `{"a":{"b":1,"c":3}}`, `[{"path":"a.c","from":2,"to":3}]`},
		{"a new member", `{"a":{}}`, `{"a":{"b":"x"}}`, `[{"path":"a.b","to":"x"}]`},
		{"a new object", `{}`, `{"a":{"b":"x","c":"y"}}`, `[{"path":"a.b","to":"x"},{"path":"a.c","to":"y"}]`},
		{"a member that is gone", `{"a":{"b":"x"}}`, `{}`, `[{"path":"a.b","from":"x"}]`},
		{"an array", `{"a":[1,2]}`, `{"a":[2,1]}`, `[{"path":"a","from":[1,2],"to":[2,1]}]`},
		{"another type", `{"a":{"b":1}}`, `{"a":[1]}`, `[{"path":"a","from":{"b":1},"to":[1]}]`},
		{"another secret", `{"s":{"secret":"hunter2"}}`, `{"s":{"secret":"hunter3"}}`, `[{"path":"s.secret","hidden":true}]`},
		{"a new secret", `{}`, `{"secret":"hunter2"}`, `[{"path":"secret","hidden":true}]`},
		{"a secret that is gone", `{"secret":"hunter2","a":1}`, `{"a":1}`, `[{"path":"secret","hidden":true}]`},
		{"a secret in an object that is replaced", `{"a":{"secret":"hunter2"}}`, `{"a":"x"}`, `[{"path":"a","hidden":true}]`},
		{"a long value", `{}`, `{"a":"` + strings.Repeat("é", 1001) + `"}`, `[{"path":"a","to":"` + strings.Repeat("é", 1000) + `…"}]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			found := version(t, tt.before).Differences(version(t, tt.after))
			got, err := json.Marshal(append([]audit.Difference{}, found...))
			require.NoError(t, err)
			require.JSONEq(t, tt.want, string(got))
			require.NotContains(t, string(got), "hunter")
		})
	}
}

// version returns a version whose members with the name secret are not shown.
func version(t *testing.T, text string) audit.Version {
	t.Helper()
	var full any
	require.NoError(t, json.Unmarshal([]byte(text), &full))
	return audit.NewVersion(full, shown(full))
}

func shown(v any) any {
	object, ok := v.(map[string]any)
	if !ok {
		return v
	}
	kept := map[string]any{}
	for name, value := range object {
		if name != "secret" {
			kept[name] = shown(value)
		}
	}
	return kept
}
