package jobfile_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"almanac/client"
	"almanac/job/jobfile"
)

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(jobfile.Schema()))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("job.json", doc))
	s, err := c.Compile("job.json")
	require.NoError(t, err)
	return s
}

// matches returns whether each document of a YAML text is valid.
func matches(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	d := yaml.NewDecoder(strings.NewReader(text))
	for {
		var v any
		if d.Decode(&v) != nil {
			return nil
		}
		asJSON, err := json.Marshal(v)
		require.NoError(t, err)
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
		require.NoError(t, err)
		if err := s.Validate(doc); err != nil {
			return err
		}
	}
}

func TestEveryExampleIsAJobFile(t *testing.T) {
	t.Parallel()
	s := compiled(t)
	examples, err := filepath.Glob("../../examples/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, examples)
	for _, path := range examples {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, matches(t, s, string(text)), path)
		jobs, err := jobfile.Read(path, text)
		require.NoError(t, err)
		require.Len(t, jobs, 1)
		require.Equal(t, strings.TrimSuffix(filepath.Base(path), ".json"), jobs[0].Name)
		require.JSONEq(t, string(text), string(jobs[0].Body(nil)))

		written := write(t, jobs[0])
		require.NoError(t, matches(t, s, written), written)
		again, err := jobfile.Read("again.yaml", []byte(written))
		require.NoError(t, err)
		require.JSONEq(t, string(text), string(again[0].Body(nil)), written)
	}
}

func write(t *testing.T, jobs ...jobfile.Job) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, jobfile.Write(&b, jobs...))
	return b.String()
}

func TestTheSchemaRefusesWhatAJobCannotHave(t *testing.T) {
	t.Parallel()
	s := compiled(t)
	const action = "action: {type: Http, request: {uri: 'http://example.com/'"
	for _, tt := range []struct{ name, text string }{
		{"an unknown member", "name: a\nrecurence: {frequency: day}\n" + action + "}}"},
		{"no action", "name: a"},
		{"members within properties and beside it", "recurrence: {frequency: day}\nproperties: {" + action + "}}}"},
		{"an unknown kind of reference", action + ", authentication: {type: Basic, username: u, password: {$vault: x}}}}"},
		{"a reference that is no secret", action + ", authentication: {type: Basic, username: {$env: USER}}}}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Error(t, matches(t, s, tt.text))
		})
	}
	require.NoError(t, matches(t, s, action+", authentication: {type: Basic, username: u, password: {$env: P}}}}"))
}

func TestAJobIsWrittenAsPeopleWriteIt(t *testing.T) {
	t.Parallel()
	j, err := jobfile.New("reports", "nightly", client.JobProperties{
		StartTime: "2026-01-01T00:00:00Z",
		Action: client.Action{Type: "Https", Request: &client.Request{
			URI: "https://example.com/", Method: "POST", Body: "first\nsecond\n", Headers: map[string]string{"X": "yes"},
			Authentication: &client.Authentication{Type: "Basic", Username: new("elf"), Password: jobfile.Env("ELF_PASSWORD").Text()},
		}},
		Recurrence: &client.Recurrence{Frequency: "day", Schedule: &client.Schedule{Hours: []int{6, 18}}},
		Status:     &client.JobStatus{ExecutionCount: 3},
	})
	require.NoError(t, err)
	j.Comment = "crontab line 3\nwas paused"
	const want = `# crontab line 3
# was paused
collection: reports
name: nightly
startTime: "2026-01-01T00:00:00Z"
action:
  request:
    uri: https://example.com/
    method: POST
    headers:
      X: "yes"
    body: |
      first
      second
    authentication:
      username: elf
      password: {$env: ELF_PASSWORD}
      type: Basic
  type: Https
recurrence:
  frequency: day
  schedule:
    hours: [6, 18]
`
	require.Equal(t, want, write(t, j))
	require.NoError(t, matches(t, compiled(t), want))
	again, err := jobfile.Read("x.yaml", []byte(want))
	require.NoError(t, err)
	refs := again[0].References()
	require.Len(t, refs, 1)
	require.Equal(t, "properties.action.request.authentication.password", refs[0].Path)
	require.Equal(t, "x.yaml:17:17", refs[0].At.String())
	require.NotContains(t, string(again[0].Body(nil)), "password")
	require.Contains(t, string(again[0].Body(map[string]string{refs[0].Path: "hush"})), `"password":"hush"`)
	require.Equal(t, "x.yaml:23:16", again[0].At("properties.recurrence.schedule.hours[1]").String())
}

func TestTextsAreReadAgainAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		"", " ", "a", "1", "true", "null", "~", "on", "2026-01-01", "0x10", "1_000", "a: b", "# a", "- a", "{a}", "[a]", "&a", "*a", "!a",
		"'a'", `"a"`, "a\n", "\na", "a\nb", "a\n\n", " a\nb", "a \nb", "a\tb", "\ta\nb", "a\r\nb", "\u0085", "\u2028", "\ufeff", "ü\n€\n", "a\n\n\nb\n",
		"a\n  b\n", "---", "---\na", "...\n", "a\n---\nb\n", "\x7f", "%a", "@a", "`a", "a #b", "a:", ":", "?", "|", ">", "=", "<<", "12:30:45", ".inf",
		"1e3", "0o7", "08", "emoji 😀", strings.Repeat("long words ", 40),
	} {
		j, err := jobfile.New("", "n", map[string]any{"action": map[string]any{"request": map[string]any{"body": body}}})
		require.NoError(t, err)
		text := write(t, j)
		again, err := jobfile.Read("x.yaml", []byte(text))
		require.NoError(t, err, text)
		var got struct {
			Properties struct {
				Action struct{ Request struct{ Body string } }
			}
		}
		require.NoError(t, json.Unmarshal(again[0].Body(nil), &got))
		require.Equal(t, body, got.Properties.Action.Request.Body, text)
		require.Equal(t, text, write(t, again...), "written again")
	}
}

func TestFilesAreReadAsPeopleHaveThem(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, file, text, want string }{
		{"documents", "a.yaml", "name: a\naction: {}\n---\n---\nname: b\naction: {}\n", "a b"},
		{"a list", "a.json", `[{"name":"a","action":{}},{"name":"b","action":{}}]`, "a b"},
		{"JSON objects one after the other", "a.json", "{\"name\":\"a\"}\n\t{\"name\":\"b\"}", "a b"},
		{"the name of the file", "reports/nightly.yml", "action: {}", "nightly"},
		{"a byte order mark and line ends of Windows", "a.yaml", "\ufeffname: a\r\naction: {}\r\n", "a"},
		{"the answer of the API", "a.json", `{"id":"/x","type":"t","name":"reports/a","properties":{"action":{},"status":{"executionCount":3}}}`, "reports/a"},
		{"anchors and merge keys", "a.yaml", "name: a\naction: &a {type: Http}\nrecurrence: {<<: *a, frequency: day}", "a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			jobs, err := jobfile.Read(tt.file, []byte(tt.text))
			require.NoError(t, err)
			var names []string
			for _, j := range jobs {
				names = append(names, strings.TrimPrefix(j.Collection+"/"+j.Name, "/"))
				require.True(t, json.Valid(j.Body(nil)))
				require.NotContains(t, string(j.Body(nil)), "status")
			}
			require.Equal(t, tt.want, strings.Join(names, " "))
		})
	}
}

func TestValuesAreThoseOfJSON(t *testing.T) {
	t.Parallel()
	jobs, err := jobfile.Read("a.yaml", []byte("name: 7\nstartTime: 2026-01-01T00:00:00Z\naction: {a: 0x10, b: yes, c: ~, d: 1.5, e: 010, f: '1', g: True, on: [failed]}"))
	require.NoError(t, err)
	require.Equal(t, "7", jobs[0].Name)
	require.JSONEq(t, `{"properties":{"startTime":"2026-01-01T00:00:00Z",
		"action":{"a":16,"b":"yes","c":null,"d":1.5,"e":8,"f":"1","g":true,"on":["failed"]}}}`, string(jobs[0].Body(nil)))
}

func TestWhatIsWrongInAFileIsNamedWithItsPlace(t *testing.T) {
	t.Parallel()
	const auth = "action: {request: {authentication: {type: Basic, username: u, "
	for _, tt := range []struct{ name, file, text, want string }{
		{"no YAML", "a.yaml", "name: a\n  action: b: c\n", "a.yaml:2:1: the text is not valid YAML: mapping values are not allowed in this context"},
		{"no JSON", "a.json", "{\n  \"name\": \"a\",\n  x}", "a.json:3:3: the text is not valid JSON: invalid character 'x'"},
		{"JSON that ends", "a.json", `{"name": "a"`, "a.json:1:13: the text is not valid JSON: it ends before the object does"},
		{"no object", "a.yaml", "- a", "a.yaml:1:3: a job is an object with a name and an action"},
		{"no name among several", "a.yaml", "action: {}\n---\nname: b\naction: {}", "a.yaml:1:1: a job of a file with several needs a name"},
		{"a member twice", "a.yaml", "name: a\nName: b", "a.yaml:2:1: Name is there twice"},
		{"a member twice within", "a.json", `{"name":"a","action":{"type":"x","Type":"y"}}`, "a.json:1:34: Type is there twice"},
		{"beside properties", "a.yaml", "properties: {}\nstate: enabled", "a.yaml:2:1: state stands inside properties, or properties is left out"},
		{"an unknown reference", "a.yaml", auth + "password: {$vault: x}}}}", "a.yaml:1:73: $vault is no kind of reference; allowed: $env, $file or $exec"},
		{"an empty reference", "a.yaml", auth + "password: {$env: ''}}}}", "a.yaml:1:73: $env names nothing; allowed: {$env: NAME}"},
		{
			"a reference that is no secret", "a.yaml", "action: {request: {headers: {Authorization: {$env: TOKEN}}}}",
			"a.yaml:1:45: a reference is for secrets only, and properties.action.request.headers.Authorization is none",
		},
		{"a number that is none", "a.yaml", "action: {a: .inf}", "a.yaml:1:13: a number is such as 10 or 1.5"},
		{"a tag", "a.yaml", "action: !!binary aGk=", "a.yaml:1:9: the tag !!binary is not allowed"},
		{"aliases that grow", "a.yaml", "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n" +
			"d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]", "more than 100000 values in a document"},
		{"an alias of itself", "a.yaml", "a: &a [*a]", "more than 32 levels"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := jobfile.Read(tt.file, []byte(tt.text))
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestANameIsAsItIsWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"007": "007", "0x1F": "0x1F", "1_000": "1_000", "True": "True", "1.50": "1.50", "'8'": "8"} {
		jobs, err := jobfile.Read("x.yaml", []byte("name: "+text+"\ncollection: "+text+"\naction: {}\n"))
		require.NoError(t, err)
		require.Equal(t, want, jobs[0].Name)
		require.Equal(t, want, jobs[0].Collection)
	}
	_, err := jobfile.Read("x.yaml", []byte("name: a/b\ncollection: c\naction: {}\n"))
	require.ErrorContains(t, err, "x.yaml:1:1: job a/b is not in job collection c")
	jobs, err := jobfile.Read("x.yaml", []byte("name: a/b\ncollection: A\naction: {}\n"))
	require.NoError(t, err)
	require.Equal(t, "b", jobs[0].Name)
}

func TestAliasesOfALongTextAreRefused(t *testing.T) {
	t.Parallel()
	text := "name: x\naction:\n  - &a " + strings.Repeat("x", 100_000) + "\n" + strings.Repeat("  - *a\n", 200)
	_, err := jobfile.Read("x.yaml", []byte(text))
	require.ErrorContains(t, err, "bytes of texts in a document, with those that aliases stand for")
}
