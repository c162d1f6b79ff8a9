package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/cmd/almanac/internal/cli/exit"
	"almanac/internal/apitest"
)

// write returns the path of a file with a text.
func (u *user) write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(u.home, name)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func TestAFileDoesNotUndoTheChangesOfOthers(t *testing.T) {
	t.Parallel()
	u := newUser(t, &apitest.Memory{})
	u.must(t, "job", "create", "hello", "http://example.com/", "--every", "2h", "--start", "2026-12-01")
	read := u.must(t, "job", "get", "hello", "-o", "yaml")
	require.Regexp(t, `^# etag: "[^"]+"\n`, read)
	file := u.write(t, "hello.yaml", strings.Replace(read, "interval: 2", "interval: 4", 1))
	u.must(t, "job", "edit", "hello", "--uri", "http://example.com/new")
	_, problems, status := u.types(t, "job", "edit", "hello", "-f", file, "--yes")
	require.Equal(t, exit.Refused, status)
	require.Contains(t, problems, "was changed by somebody else since it was read, and "+file+" would undo that")
	require.Equal(t, "http://example.com/new\n", u.must(t, "job", "get", "hello", "-o", "jsonpath=properties.action.request.uri"))

	bare := u.write(t, "bare.yaml", strings.Replace(body(read), "interval: 2", "interval: 4", 1))
	_, problems, status = u.types(t, "job", "edit", "hello", "-f", bare)
	require.Equal(t, exit.Usage, status, "of a file that does not say what it was made of, what it changes is asked about")
	require.Contains(t, problems, "~ properties.action.request.uri\n  ~ properties.recurrence.interval\n")
	require.Contains(t, problems, "There is no terminal to ask at")
	u.must(t, "job", "edit", "hello", "-f", bare, "--yes")
	require.Equal(t, "4\n", u.must(t, "job", "get", "hello", "-o", "jsonpath=properties.recurrence.interval"))
}

func TestTheTagOfAnotherJobSaysNothing(t *testing.T) {
	t.Parallel()
	u := newUser(t, &apitest.Memory{})
	u.must(t, "job", "create", "a", "http://example.com/a", "--start", "2026-12-01")
	u.must(t, "job", "create", "b", "http://example.com/b", "--start", "2026-12-01")
	file := u.write(t, "a.yaml", u.must(t, "job", "get", "a", "-o", "yaml"))
	_, problems, status := u.types(t, "job", "edit", "b", "-f", file)
	require.Equal(t, exit.Usage, status)
	require.Contains(t, problems, "~ properties.action.request.uri")
}

func TestAFileOfAJobHasProperties(t *testing.T) {
	t.Parallel()
	u := newUser(t, &apitest.Memory{})
	file := u.write(t, "job.yaml", "name: nightly\naction: {type: Http, request: {uri: http://example.com/}}\n")
	_, problems, status := u.types(t, "job", "create", "nightly", "-f", file)
	require.Equal(t, exit.Usage, status)
	require.Contains(t, problems, "If it is a job file: almanac apply -f "+file)
}

func TestFlagsChangeWhatTheyName(t *testing.T) {
	t.Parallel()
	u := newUser(t, &apitest.Memory{})
	u.write(t, "https.yaml", "properties: {startTime: 2026-12-01, action: {type: Https, retryPolicy: {retryType: none}, request: {uri: https://example.com/}}}\n")
	u.must(t, "job", "create", "a", "-f", filepath.Join(u.home, "https.yaml"))
	u.must(t, "job", "edit", "a", "--uri", "https://example.com/new")
	require.Equal(t, "Https\n", u.must(t, "job", "get", "a", "-o", "jsonpath=properties.action.type"))
	_, problems, status := u.types(t, "job", "edit", "a", "--retry-interval", "1m")
	require.Equal(t, exit.Usage, status)
	require.Contains(t, problems, "--retry-interval: the job default/a has no retries")
	u.must(t, "job", "edit", "a", "--retry-interval", "1m", "--retries", "2")
	require.Equal(t, "fixed\n", u.must(t, "job", "get", "a", "-o", "jsonpath=properties.action.retryPolicy.retryType"))
	_, problems, status = u.types(t, "job", "edit", "a", "--every", "99999999999999999999m")
	require.Equal(t, exit.Usage, status)
	require.Contains(t, problems, "--every: 99999999999999999999 is too large")
}

func TestAnActionOfAnotherTypeGetsAnAddress(t *testing.T) {
	t.Parallel()
	u := newUser(t, &apitest.Memory{})
	file := u.write(t, "queue.yaml", `properties:
  startTime: 2026-12-01
  action: {type: StorageQueue, queueMessage: {storageAccount: account, queueName: queue, sasToken: sv=1&sig=a, message: m}}
`)
	u.must(t, "job", "create", "a", "-f", file)
	u.must(t, "job", "edit", "a", "--uri", "http://example.com/", "-X", "get")
	require.Equal(t, "Http\n", u.must(t, "job", "get", "a", "-o", "jsonpath=properties.action.type"))
}

func TestACronExpressionReplacesAndIsReplaced(t *testing.T) {
	t.Parallel()
	u := newUser(t, &apitest.Memory{})
	recurrence := func() string { return u.must(t, "job", "get", "a", "-o", "jsonpath=properties.recurrence") }
	u.must(t, "job", "create", "a", "http://example.com/", "--cron", "0 9 * * mon", "--start", "2026-12-01")
	require.Contains(t, recurrence(), `"cron":"0 9 * * mon"`)
	u.must(t, "job", "edit", "a", "--cron", "30 10 * * *")
	require.Contains(t, recurrence(), `"cron":"30 10 * * *"`)
	read := u.must(t, "job", "get", "a", "-o", "yaml")
	require.Contains(t, read, "frequency: day", "an answer says what the expression means")
	file := u.write(t, "a.yaml", strings.Replace(read, "30 10 * * *", "0 8 1 * *", 1))
	u.must(t, "job", "edit", "a", "-f", file)
	require.Contains(t, recurrence(), `"frequency":"month"`)
	u.must(t, "job", "edit", "a", "--every", "5m")
	require.JSONEq(t, `{"frequency":"minute","interval":5}`, recurrence())
	u.must(t, "job", "edit", "a", "--rrule", "FREQ=WEEKLY;BYDAY=MO")
	require.Contains(t, recurrence(), `"rrule":"FREQ=WEEKLY;BYDAY=MO"`)
	_, problems, status := u.types(t, "job", "edit", "a", "--cron", "0 9 * * *", "--hours", "9")
	require.Equal(t, exit.Usage, status)
	require.Contains(t, problems, "--hours: --cron says when it runs; give one of the two")
}

func TestAFilterThatFindsNothingIsTold(t *testing.T) {
	t.Parallel()
	u := newUser(t, &apitest.Memory{})
	out, problems, status := u.types(t, "job", "edit", "--filter", "host eq 'typo'", "--every", "5m", "-o", "json")
	require.Equal(t, exit.OK, status)
	require.Equal(t, "No job of the job collection default fits the filter\n", problems)
	require.Equal(t, "[]\n", out)
}
