package fields_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/internal/fields"
)

// A pet has a field for every tag.
type pet struct {
	Name   string         `json:"name" field:"required"`
	Kind   string         `json:"kind" field:"required,enum=cat|dog"`
	Legs   int            `json:"legs" field:"min=0,max=4,default=4"`
	Rank   int            `json:"rank" field:"min=-5,max=5,nonzero"`
	Age    int            `json:"age" field:"min=1,quoted"`
	Chip   string         `json:"chip" field:"secret,rule=chip"`
	Toys   []string       `json:"toys" field:"enum=ball|bone"`
	Scores []int          `json:"scores"`
	Owner  *owner         `json:"owner"`
	Tags   fields.Members `json:"tags"`
	Born   *fields.Code   `json:"born" field:"rule=born"`
	Weight string         `json:"weight" field:"readonly"`
	Tame   *bool          `json:"tame"`
	Vet    string         `json:"vet" field:"rule=vet"`

	_ struct{} `ignore:"etag"`
}

type owner struct {
	Type  string `json:"type" field:"variant,required,enum=person|firm|nobody"`
	Phone string `json:"phone" field:"in=person,required"`
	VAT   string `json:"vat" field:"in=firm"`
}

// decode returns the pet in a body, and the errors, one a line.
func decode(t *testing.T, body string) (pet, string) {
	t.Helper()
	tree, err := fields.Parse([]byte(body))
	require.NoError(t, err)
	d := fields.Decoder{Rules: map[string]fields.Rule{
		"chip": {Allowed: "digits", Valid: func(s string) bool { return strings.Trim(s, "0123456789") == "" }},
		"vet":  {Allowed: "a short name", Valid: func(s string) bool { return len(s) < 10 }, Hidden: true},
		"born": {Allowed: "a year", Parse: func(s string) (any, bool) { return fields.Code(s), len(s) == 4 }},
	}}
	var p pet
	require.True(t, d.Decode(tree, "", &p))
	return p, d.Error()
}

func TestDecodeFollowsTheTags(t *testing.T) {
	t.Parallel()
	p, bad := decode(t, `{"NAME":"Tom","kind":"CAT","rank":-1,"age":"3","chip":"12","toys":"Bone","scores":[1,null,3],"etag":[],"weight":5,
		"owner":{"phone":"1","TYPE":"Person"},"tags":{"b":"1","a":"2"},"born":"1940","tame":false,"other":null}`)
	require.Empty(t, bad)
	require.Equal(t, pet{
		Name: "Tom", Kind: "cat", Legs: 4, Rank: -1, Age: 3, Chip: "12", Toys: []string{"bone"}, Scores: []int{1, 3},
		Owner: &owner{Type: "person", Phone: "1"}, Tags: fields.Members{{Name: "b", Value: "1"}, {Name: "a", Value: "2"}},
		Born: new(fields.Code("1940")), Tame: new(false),
	}, p)
}

func TestDecodeReportsEveryBadField(t *testing.T) {
	t.Parallel()
	const good = `"name":"Tom","kind":"cat"`
	for _, tt := range []struct{ name, members, want string }{
		{"missing members", ``, "name: required; kind: required; allowed: cat or dog"},
		{"an empty text that is required", `"name":"","kind":"cat"`, "name: required"},
		{"an unknown word", `"name":"Tom","kind":"cow"`, `kind: "cow" is not supported; allowed: cat or dog`},
		{"numbers out of range", good + `,"legs":5,"age":0,"rank":0`, "legs: 5 is out of range; allowed: 0 to 4; rank: 0 is out of range; allowed: 1 to 5 or -5 to -1; age: 0 is out of range; allowed: 1 or more"},
		{"a number in quotes", good + `,"legs":"4"`, `legs: "4" is not valid; allowed: an integer from 0 to 4`},
		{"a secret, which is not shown", good + `,"chip":"hunter2"`, "chip: the value is not valid; allowed: digits"},
		{"a text that its rule hides", good + `,"vet":"password=hunter2"`, "vet: the value is not valid; allowed: a short name"},
		{"a text in place of an object, which may be a secret", good + `,"owner":"hunter2"`, "owner: a string is not valid; allowed: an object"},
		{"elements of a list by their place in the body", good + `,"scores":[null,1,"x"],"toys":["ball","bat"]`, `toys[1]: "bat" is not supported; allowed: ball or bone; scores[2]: "x" is not valid; allowed: an integer`},
		{"a member of another variant", good + `,"owner":{"type":"firm","phone":"1"}`, "owner.phone: unknown field; allowed: type or vat"},
		{"no variant, so nothing else is looked at", good + `,"owner":{"phone":1}`, "owner.type: required; allowed: person, firm or nobody"},
		{"the last variant, whose members are not looked at", good + `,"owner":{"type":"nobody","phone":1}`, ""},
		{"an unknown member", good + `,"leggs":4,"x":1`, `leggs: unknown field; did you mean "legs"?; x: unknown field; allowed: name, kind, legs, rank, age, chip, toys, scores, owner, tags, born, tame or vet`},
		{"a value that its rule cannot parse", good + `,"born":"long ago"`, `born: "long ago" is not valid; allowed: a year`},
		{"a boolean in quotes", good + `,"tame":"yes"`, `tame: "yes" is not valid; allowed: true or false`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, bad := decode(t, "{"+tt.members+"}")
			require.Equal(t, tt.want, bad)
		})
	}
}

func TestABoundThatIsNoIntegerIsAMistakeInTheProgram(t *testing.T) {
	t.Parallel()
	tree, err := fields.Parse([]byte(`{"legs": 4}`))
	require.NoError(t, err)
	var d fields.Decoder
	require.PanicsWithValue(t, `the tag min of the field Legs is no integer: strconv.Atoi: parsing "O": invalid syntax`, func() {
		d.Decode(tree, "", &struct {
			Legs int `json:"legs" field:"min=O"`
		}{})
	})
}
