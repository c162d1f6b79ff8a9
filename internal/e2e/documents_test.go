package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"almanac/internal/docs"
	"almanac/internal/emulators"
)

// The commands of these pages are executed as they are written, in their order, and what they
// print is compared with what the page shows.
func TestWhatAPageShowsIsWhatItsCommandsPrint(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"README.md", "docs/tutorial.md"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join(repository, path))
			require.NoError(t, err)
			r := newReader(t)
			parts := docs.Parse(string(text))
			run := 0
			for i, part := range parts {
				if part.Language != "sh" {
					continue
				}
				shown := shownAfter(parts[i+1:])
				commands := docs.Commands(part.Text)
				for j, command := range commands {
					if command == "go run ./cmd/almanac dev" {
						require.Equal(t, r.where, shown.text, "what almanac dev prints")
						continue
					}
					if j == len(commands)-1 {
						r.run(t, command, shown)
					} else {
						r.run(t, command, claim{code: shown.code})
					}
					run++
				}
			}
			require.Greater(t, run, 5)
		})
	}
}

func TestTheCommandThatTheStartPrintsWorksAlsoWithTokensAndCertificates(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil && os.Getenv("CI") == "" {
		t.Skip("there is no curl: the command is not run")
	}
	file := filepath.Join(t.TempDir(), "tokens.yaml")
	token, err := exec.CommandContext(t.Context(), program(t), "token", "create", "--name", "me", "--role", "owner", "--token-file", file).Output()
	require.NoError(t, err)
	named, namedKey, err := emulators.WriteCertificate(t.TempDir(), "jobs.example.com")
	require.NoError(t, err)
	local, localKey, err := emulators.WriteCertificate(t.TempDir(), "localhost")
	require.NoError(t, err)
	id := newIssuer(t)
	policy := written(t, "assignments:\n- principal: {subject: alice}\n  role: contributor\n  scope: /\n")
	ofFile, ofIssuer := strings.TrimSpace(string(token)), id.token(t, "alice", "jobs")
	for _, tt := range []struct {
		token string
		flags []string
	}{
		{"", nil},
		{ofFile, []string{"--token-file", file}},
		{ofIssuer, []string{"--oidc-issuer", id.URL, "--oidc-audience", "jobs", "--access", policy}},
		{"", []string{"--tls-cert", named, "--tls-key", namedKey, "--allowed-hosts", "jobs.example.com"}},
		{ofFile, []string{"--tls-cert", local, "--tls-key", localKey, "--ca-file", local, "--token-file", file}},
	} {
		p := dev(t, t.TempDir(), tt.flags...)
		command, printed := strings.CutPrefix(p.output[len(p.output)-1], "Try:")
		require.True(t, printed, p.output)
		cmd := exec.CommandContext(t.Context(), "sh", "-c", command+" --silent --output /dev/null --write-out '%{http_code}'")
		cmd.Env = append(os.Environ(), "TOKEN="+tt.token)
		code, err := cmd.Output()
		require.NoError(t, err)
		require.Equal(t, "201", string(code), "%v: %s", tt.flags, command)
	}
}

// repository is the directory in which readers type commands.
const repository = "../.."

// A claim is what a page says of a command's outcome.
type claim struct {
	text  string              // what is printed; "" if the page does not show it
	json  bool                // whether text is JSON, or a part of it
	table []map[string]string // entries of a history, by the names of their fields
	code  int                 // the status of the answer; 0 if the page does not name it
}

var (
	statusCode = regexp.MustCompile("`([1-5][0-9][0-9]) [A-Z]")
	heading    = regexp.MustCompile("^\\| `[a-zA-Z]+` \\|")
)

// shownAfter returns the claim about a command that the parts after it make.
func shownAfter(parts []docs.Part) claim {
	var c claim
	if len(parts) == 0 {
		return c
	}
	if prose := parts[0]; !prose.Code {
		if m := statusCode.FindStringSubmatch(prose.Text); m != nil {
			c.code, _ = strconv.Atoi(m[1])
		}
		c.table = table(prose.Text)
		parts = parts[1:]
	}
	if len(parts) > 0 && parts[0].Code && parts[0].Language != "sh" {
		c.text, c.json = parts[0].Text, parts[0].Language == "json"
	}
	return c
}

// table returns the rows of the first table whose first heading is code.
func table(prose string) []map[string]string {
	var names []string
	var rows []map[string]string
	for line := range strings.Lines(prose) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		switch {
		case heading.MatchString(line):
			for _, cell := range cells {
				names = append(names, strings.Trim(cell, " `"))
			}
		case names == nil || strings.HasPrefix(line, "|---"):
		case !strings.HasPrefix(line, "|"):
			return rows
		default:
			row := map[string]string{}
			for i, cell := range cells {
				if row[names[i]] = strings.Trim(cell, " `"); row[names[i]] == "the same" {
					row[names[i]] = rows[len(rows)-1][names[i]]
				}
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// A reader follows a page.
type reader struct {
	where string // what almanac dev printed, with the ports and the directory that are its defaults
	bin   string // is first in the reader's PATH, and has curl's configuration
	sink  *sink  // stands for https://example.com
}

// defaults are the addresses that almanac dev has where nothing else is asked for.
var defaults = map[string]string{"API": "8080", "Web UI": "8233", "Temporal": "7233"}

var address = regexp.MustCompile(`^(API|Web UI|Temporal)( +.*127\.0\.0\.1:)([0-9]+)(.*)$`)

// newReader starts an almanac dev. Neither a command nor a page is changed for its ports, which
// are free ones: curl is told to connect to them.
func newReader(t *testing.T) reader {
	t.Helper()
	curl, err := exec.LookPath("curl")
	if err != nil && os.Getenv("CI") != "true" {
		t.Skip("there is no curl: what the page shows is not run")
	}
	require.NoError(t, err, curl)
	path, err := filepath.Abs(program(t))
	require.NoError(t, err)
	r := reader{bin: t.TempDir()}
	r.sink = newSink(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("<!doctype html><p>Example Domain"))
	})

	data := t.TempDir()
	p := dev(t, data)
	for _, line := range p.output {
		line = strings.Replace(strings.Replace(line, data, "./almanac-data", 1), p.url, "http://127.0.0.1:8080", 1)
		r.where += address.ReplaceAllStringFunc(line, func(line string) string {
			m := address.FindStringSubmatch(line)
			return m[1] + m[2] + defaults[m[1]] + m[4]
		}) + "\n"
	}
	api, err := url.Parse(p.url)
	require.NoError(t, err)
	config := fmt.Sprintf("connect-to = \"127.0.0.1:8080:%s\"\nsilent\nshow-error\nwrite-out = \"\\n%%{http_code}\"\n", api.Host)
	require.NoError(t, os.WriteFile(filepath.Join(r.bin, ".curlrc"), []byte(config), 0o600))
	// go run ./cmd/almanac runs the program that is built already.
	script := fmt.Sprintf("#!/bin/sh\nshift 2\nexec '%s' \"$@\"\n", path)
	require.NoError(t, os.WriteFile(filepath.Join(r.bin, "go"), []byte(script), 0o700)) //nolint:gosec // it is executed
	return r
}

// run executes a command until its outcome is what the page claims: once if it changes
// something, and otherwise for as long as that may take.
func (r reader) run(t *testing.T, command string, want claim) {
	t.Helper()
	written := command
	command = strings.ReplaceAll(command, "https://example.com/", r.sink.URL+"/")
	changes := regexp.MustCompile(`-X (PUT|POST|PATCH|DELETE)`).MatchString(command)
	deadline := time.Now().Add(3 * time.Minute)
	for {
		got := r.execute(t, command)
		problem := want.problem(got, strings.HasPrefix(command, "curl "))
		if problem == "" {
			return
		}
		if changes || time.Now().After(deadline) {
			require.Failf(t, "the page and the program differ", "%s\n%s\nThe program printed:\n%s", written, problem, got)
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-t.Context().Done():
			require.NoError(t, t.Context().Err())
		}
	}
}

func (r reader) execute(t *testing.T, command string) string {
	t.Helper()
	require.Regexp(t, `^(curl|go run \./cmd/almanac) `, command, "only such commands are run")
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
	cmd.Dir = repository
	cmd.Env = append(os.Environ(), "PATH="+r.bin+string(os.PathListSeparator)+os.Getenv("PATH"), "CURL_HOME="+r.bin)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s\n%s", command, out)
	shown := strings.ReplaceAll(string(out), r.sink.URL+"/", "https://example.com/")
	return strings.ReplaceAll(shown, strings.TrimPrefix(r.sink.URL, "http://"), "example.com")
}

// problem says how an outcome differs from the claim.
func (c claim) problem(got string, isCurl bool) string {
	if isCurl {
		at := strings.LastIndexByte(got, '\n')
		code, err := strconv.Atoi(got[at+1:])
		if err != nil {
			return "curl printed no status code"
		}
		got = got[:at]
		refused := c.json && strings.Contains(c.text, `"error":`)
		if c.code != 0 && code != c.code || c.code == 0 && (code >= 400) != refused {
			return fmt.Sprintf("The status is %d, and the page says %d.", code, c.code)
		}
	}
	switch {
	case c.json:
		if !pattern(c.text).MatchString(squeeze(got)) {
			return "The page shows:\n" + c.text
		}
	case c.text != "" && got != c.text:
		return "The page shows:\n" + c.text
	}
	return c.entriesProblem(got)
}

// entriesProblem says how a history differs from the page's table.
func (c claim) entriesProblem(got string) string {
	if c.table == nil {
		return ""
	}
	var answer struct {
		Value []struct{ Properties map[string]any }
	}
	if err := json.Unmarshal([]byte(got), &answer); err != nil {
		return err.Error()
	}
	if len(answer.Value) != len(c.table) {
		return fmt.Sprintf("There are %d entries, and the page shows %d.", len(answer.Value), len(c.table))
	}
	for i, row := range c.table {
		for name, want := range row {
			if have := fmt.Sprint(answer.Value[i].Properties[name]); !pattern(want).MatchString(squeeze(have)) {
				return fmt.Sprintf("%s of entry %d is %q, and the page shows %q.", name, i+1, have, want)
			}
		}
	}
	return ""
}

// squeeze takes the white space out of a text.
func squeeze(text string) string { return strings.Join(strings.Fields(text), "") }

var (
	pageTime  = regexp.MustCompile(`2026-11-23T[0-9:]+(\\\.[0-9]+)?Z`)
	pageCount = regexp.MustCompile(`"(executionCount|repeatCount)":1\b`)
)

// pattern matches what a page shows: … stands for anything, a time of the day on which the page
// was written for any time, and a first execution for any.
func pattern(shown string) *regexp.Regexp {
	p := regexp.QuoteMeta(squeeze(shown))
	p = pageTime.ReplaceAllString(p, `[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]+(\.[0-9]+)?Z`)
	p = pageCount.ReplaceAllString(p, `"$1":[1-9][0-9]*`)
	return regexp.MustCompile(`(?s)` + strings.ReplaceAll(p, "…", ".*"))
}

func TestAPatternMatchesWhatThePageMeans(t *testing.T) {
	t.Parallel()
	p := pattern(`{ "at": "2026-11-23T10:00:07.21Z", "message": "it … failed", "executionCount": 1, "failureCount": 1 }`)
	got := `{"at":"2027-01-02T03:04:05Z","message":"it has failed","executionCount":%d,"failureCount":%d}`
	assert.Regexp(t, p, squeeze(fmt.Sprintf(got, 1, 1)))
	assert.Regexp(t, p, squeeze(fmt.Sprintf(got, 2, 1)))
	assert.NotRegexp(t, p, squeeze(fmt.Sprintf(got, 0, 1)))
	assert.NotRegexp(t, p, squeeze(fmt.Sprintf(got, 1, 2)))
	assert.NotRegexp(t, pattern(`"2026-01-30T16:15:00Z"`), `"2026-01-30T15:15:00Z"`)
}
