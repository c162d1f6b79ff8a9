package source_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/source"
)

func TestYAMLAndJSONAreReadWithWhereEachMemberIs(t *testing.T) {
	t.Parallel()
	yaml, err := source.Parse("a.yaml", []byte("# a job\nproperties:\n  startTime: 2026-01-01T00:00:00Z\n  state: &s enabled\n  other: *s\n  schedule: {hours: [1, 25]}\n  on: yes\n  none: ~\n  n: 1.5\n"))
	require.NoError(t, err)
	require.JSONEq(t, `{"properties":{"startTime":"2026-01-01T00:00:00Z","state":"enabled","other":"enabled","schedule":{"hours":[1,25]},"on":"yes","none":null,"n":1.5}}`, string(yaml.JSON))
	json, err := source.Parse("a.json", []byte("\ufeff{\n\t\"properties\": {\n\t\t\"state\": \"\\u00fc\"}}"))
	require.NoError(t, err)
	require.JSONEq(t, `{"properties":{"state":"ü"}}`, string(json.JSON))
	pair, err := source.Parse("b.json", []byte(`{"a":"\ud83d\ude00"}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"a":"😀"}`, string(pair.JSON))
	require.Equal(t, "b.json", pair.Position("a"))
	for target, want := range map[string]string{
		"properties.schedule.hours[1]": "a.yaml:6:25", "properties.schedule.minutes": "a.yaml:6:3", "properties.state": "a.yaml:4:3", "": "a.yaml:2:1",
	} {
		require.Equal(t, want, yaml.Position(target), target)
	}
	require.Equal(t, "a.json:3:3", json.Position("properties.state"))
	wrong := &client.Error{Status: 400, Code: "BadRequest", Message: "no", Details: []client.ErrorDetail{{Target: "properties.n", Message: "properties.n: no"}}}
	require.EqualError(t, yaml.Explain(wrong), "a.yaml:9:3: properties.n: no")
	other := errors.New("other")
	require.Equal(t, other, yaml.Explain(other))
}

func TestWhatCannotBeReadIsNamed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                               "f is empty",
		"- a":                            "f:1:1: a mapping is expected",
		"a: 1\na: 2":                     `f:2:1: "a" is there twice`,
		"a: 0x10":                        "f:1:4: 0x10 is not a number in JSON: put it in quotes",
		"a: !!binary aGk=":               "f:1:4: values of the type !!binary are not supported",
		"a: 1\n---\nb: 2":                "f:2: a second document begins here",
		"a: [":                           "f:",
		"x: &x {a: 1}\ny: {<<: *x}":      "f:2:5: merge keys are not supported",
		"a: " + strings.Repeat("[", 200): "f:",
	} {
		_, err := source.Parse("f", []byte(text))
		require.ErrorContains(t, err, want, text)
	}
	bomb := "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
	for i := 1; i < 9; i++ {
		bomb += strings.NewReplacer("N", string(rune('0'+i)), "P", string(rune('0'+i-1))).Replace("aN: &aN [*aP,*aP,*aP,*aP,*aP,*aP,*aP,*aP,*aP]\n")
	}
	_, err := source.Parse("f", []byte(bomb))
	require.ErrorContains(t, err, "there are too many values")
}
