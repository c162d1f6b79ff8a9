package importer

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"almanac/cmd/almanac/internal/importer/source"
	"almanac/cmd/almanac/internal/importer/value"
)

// Options say how sources are read.
type Options struct {
	Now        time.Time
	Zone       string // of jobs whose source has none; "": it is not known
	Collection string // of jobs whose source has none, and of all crontabs; "": default
	Parameters []source.File
	Form       string // of crontabs: user, system or "" for either
}

// DefaultCollection returns the collection of jobs whose source has none.
func (o Options) DefaultCollection() string {
	if o.Collection == "" {
		return "default"
	}
	return o.Collection
}

// AnyPast is a startTime for schedules that no phase depends on. It is always the same, so that a second import changes
// nothing.
const AnyPast = "2000-01-01T00:00:00Z"

// MaxJobs is how many jobs an import takes.
const MaxJobs = 100_000

var wordOfName = regexp.MustCompile(`^[a-z][a-z0-9._-]{0,40}$`) // what has other letters may be a secret

// Names gives jobs without a name one.
type Names map[string]int

// Of returns a name that begins with a word; one of another form is left out.
func (n Names) Of(word string) string {
	word = strings.TrimPrefix(word, "www.")
	if !wordOfName.MatchString(word) || randomToken(word) {
		word = "job"
	}
	n[word]++
	if n[word] == 1 {
		return word
	}
	return fmt.Sprintf("%s-%d", word, n[word])
}

// Repeating returns the properties of a job that repeats by a cron expression: nothing runs when it is made.
func Repeating(action, recurrence *value.Value, line int) *value.Value {
	return value.Obj(line).Set("startTime", value.Text(AnyPast, line)).Set("action", action).
		Set("recurrence", recurrence).Set("state", value.Text("enabled", line))
}

// Web returns the action of a web request.
func Web(request, retry *value.Value, https bool, line int) *value.Value {
	kind := "Http"
	if https {
		kind = "Https"
	}
	return value.Obj(line).Set("type", value.Text(kind, line)).Set("request", request).Set("retryPolicy", retry)
}
