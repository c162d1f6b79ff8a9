package api_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/api"
	"almanac/job"
	"almanac/job/listing"
)

// filtered requests a list and returns the filter that the scheduler gets.
func filtered(path, filter string) (listing.Filter, answer) {
	f, asked := paged()
	got := get(f, path+"?"+url.Values{"$filter": {filter}}.Encode())
	return asked.Filter, got
}

// period returns a period. An empty text means no bound.
func period(from, before string) listing.Period {
	var p listing.Period
	if from != "" {
		p.From = at(from)
	}
	if before != "" {
		p.Before = at(before)
	}
	return p
}

func TestFilterIsReadAsTheServiceReadIt(t *testing.T) {
	t.Parallel()
	starting := func(from, before string) listing.Filter { return listing.Filter{Start: period(from, before)} }
	const midnight, tickLater = "2016-01-01T00:00:00Z", "2016-01-01T00:00:00.0000001Z"
	for _, tt := range []struct {
		name, path, filter string
		want               listing.Filter
	}{
		{"jobs by state, as recorded", jobsPath, "state eq Enabled", listing.Filter{State: job.StateEnabled}},
		{"as documented for the classic service", jobsPath, "state eq completed", listing.Filter{State: job.StateCompleted}},
		{"in another case", jobsPath, "STATE EQ DISABLED", listing.Filter{State: job.StateDisabled}},
		{"in quotes", jobsPath, "state eq 'faulted'", listing.Filter{State: job.StateFaulted}},
		{"in double quotes", jobsPath, `state eq "Faulted"`, listing.Filter{State: job.StateFaulted}},
		{"many blanks", jobsPath, " state  eq\tenabled\n", listing.Filter{State: job.StateEnabled}},
		{"below properties", jobsPath, "Properties/State eq enabled", listing.Filter{State: job.StateEnabled}},
		{"the same state twice", jobsPath, "state eq enabled and state eq 'Enabled'", listing.Filter{State: job.StateEnabled}},

		{"history by status, as recorded", historyPath, "status eq Completed", listing.Filter{Status: job.OutcomeCompleted}},
		{"failures", historyPath, "status eq failed", listing.Filter{Status: job.OutcomeFailed}},
		{"missed occurrences", historyPath, "status eq missed", listing.Filter{Status: job.OutcomeMissed}},
		{"skipped occurrences", historyPath, "status eq Skipped", listing.Filter{Status: job.OutcomeSkipped}},
		{"cancelled ones", historyPath, "status eq Cancelled", listing.Filter{Status: job.OutcomeCancelled}},
		{"what was never postponed", historyPath, "status eq postponed", listing.Filter{Status: "Postponed"}},

		{"from a time", jobsPath, "startTime ge 2016-01-01T00:00:00Z", starting(midnight, "")},
		{"after a time", jobsPath, "startTime gt 2016-01-01T00:00:00Z", starting(tickLater, "")},
		{"before a time", jobsPath, "startTime lt 2016-01-01T00:00:00Z", starting("", midnight)},
		{"up to a time", jobsPath, "startTime le 2016-01-01T00:00:00Z", starting("", tickLater)},
		{"at a time", jobsPath, "startTime eq 2016-01-01T00:00:00Z", starting(midnight, tickLater)},
		{"operators and fields in another case", jobsPath, "STARTTIME Ge 2016-01-01T00:00:00Z AND endtime LT 2016-01-02",
			listing.Filter{Start: period(midnight, ""), End: period("", "2016-01-02T00:00:00Z")}},
		{"a date", jobsPath, "startTime ge 2016-01-01", starting(midnight, "")},
		{"without an offset", jobsPath, "startTime ge 2016-01-01T00:00", starting(midnight, "")},
		{"with an offset", jobsPath, "startTime ge 2016-01-01T01:00:00+01:00", starting(midnight, "")},
		{"with a + that was not escaped", jobsPath, "startTime ge 2016-01-01T01:00:00 01:00 and state eq enabled",
			listing.Filter{State: job.StateEnabled, Start: period(midnight, "")}},
		{"the same in quotes", jobsPath, "startTime ge '2016-01-01T01:00:00 01:00'", starting(midnight, "")},
		{"with a fraction", jobsPath, "startTime ge 2016-01-01T00:00:00.0000001Z", starting(tickLater, "")},
		{"as OData writes it", jobsPath, "startTime ge datetime'2016-01-01T00:00:00Z'", starting(midnight, "")},
		{"in quotes and below properties", historyPath, `properties/endTime le "2016-01-01"`, listing.Filter{End: period("", tickLater)}},
		{"before the first year ends", jobsPath, "startTime le 0001-01-01", starting("", "0001-01-01T00:00:00.000000101Z")},

		{"a status within a period", historyPath, "status eq Failed and startTime ge 2016-01-01 and startTime lt 2016-01-02",
			listing.Filter{Status: job.OutcomeFailed, Start: period(midnight, "2016-01-02T00:00:00Z")}},
		{"periods that overlap", jobsPath, "startTime ge 2015-01-01 and startTime ge 2016-01-01 and startTime lt 2016-02-01 and startTime lt 2016-03-01",
			starting(midnight, "2016-02-01T00:00:00Z")},
		{"periods that overlap, the other way around", jobsPath, "startTime lt 2016-03-01 and startTime lt 2016-02-01 and startTime ge 2016-01-01 and startTime ge 2015-01-01",
			starting(midnight, "2016-02-01T00:00:00Z")},
		{"periods that do not", jobsPath, "startTime ge 2016-01-01 and startTime lt 2015-01-01", starting(midnight, "2015-01-01T00:00:00Z")},
		{"parentheses", jobsPath, "((state eq enabled) and(startTime ge 2016-01-01 and(startTime lt 2016-01-02)))",
			listing.Filter{State: job.StateEnabled, Start: period(midnight, "2016-01-02T00:00:00Z")}},

		{"a job by its name, without case", jobsPath, "name eq 'Nightly Report'", listing.Filter{Name: "nightly report"}},
		{"jobs whose names begin alike", jobsPath, "startswith(name,'Night')", listing.Filter{NamePrefix: "night"}},
		{"the same with blanks, beside others", jobsPath, `StartsWith ( Name , "a,b" ) and state eq enabled`, listing.Filter{NamePrefix: "a,b", State: job.StateEnabled}},
		{"a name that holds a quote", jobsPath, `name eq "it's"`, listing.Filter{Name: "it's"}},
		{"a quote that is doubled, as OData has it", jobsPath, `name eq 'O''Brien'`, listing.Filter{Name: "o'brien"}},
		{"at the beginning and the end", jobsPath, `startswith(name,'''O''')`, listing.Filter{NamePrefix: "'o'"}},
		{"a double quote that is doubled", jobsPath, `name eq "a""b"`, listing.Filter{Name: `a"b`}},
		{"jobs by their last outcome", jobsPath, "lastOutcome eq failed", listing.Filter{LastOutcome: job.OutcomeFailed}},
		{"jobs by their next run", jobsPath, "nextExecutionTime le 2016-01-01", listing.Filter{Next: period("", tickLater)}},
		{"the history of many jobs by name", "/history", "name eq j and status eq Failed", listing.Filter{Name: "j", Status: job.OutcomeFailed}},
		{"of a collection, by the beginning of names", "/jobCollections/c/history", "startswith(name,'j')", listing.Filter{NamePrefix: "j"}},
		{"occurrences by name", "/jobCollections/c/upcoming", "startswith(name,'j')", listing.Filter{NamePrefix: "j"}},
		{"what began late", "/history", "lateness ge PT1M", listing.Filter{Lateness: listing.Span{From: time.Minute, Before: listing.Unlimited}}},
		{"what began late, but not too late", historyPath, "lateness gt 00:00:01 and lateness le 'PT1M'",
			listing.Filter{Lateness: listing.Span{From: time.Second + 100, Before: time.Minute + 100}}},
		{"whatever began", historyPath, "lateness ge PT0S", listing.Filter{Lateness: listing.Span{Before: listing.Unlimited}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			filter, got := filtered(tt.path, tt.filter)
			require.Equal(t, http.StatusOK, got.status, got.body)
			require.Equal(t, tt.want, filter)
		})
	}
}

func TestTimesAreFilteredAsExactlyAsTheyAreShown(t *testing.T) {
	t.Parallel()
	r := attempt()
	r.Start = r.Start.Add(99 * time.Nanosecond) // answers do not show these
	const shown = "2016-03-30T20:39:53.8021951Z"
	require.Equal(t, shown, job.NewTime(r.Start).String())
	for operator, meets := range map[string]bool{"eq": true, "ge": true, "le": true, "gt": false, "lt": false} {
		filter, got := filtered(historyPath, "startTime "+operator+" "+shown)
		require.Equal(t, http.StatusOK, got.status, got.body)
		require.Equal(t, meets, filter.MatchesRecord(&r), operator)
	}
}

func TestBadFilterIsRefusedWithWhatIsWantedWhere(t *testing.T) {
	t.Parallel()
	const (
		wantField   = "state, startTime, endTime, name, nextExecutionTime or lastOutcome"
		wantState   = "one of enabled, disabled, completed, faulted"
		wantStatus  = "one of Completed, Failed, Postponed, Missed, Skipped, Cancelled"
		wantTime    = "a date or a time such as 2026-01-31T08:30:00Z"
		wantCompare = "one of eq, ge, gt, le, lt"
	)
	for _, tt := range []struct{ name, path, filter, want string }{
		{"empty", jobsPath, "", wantField + " at the end"},
		{"blank", jobsPath, "  ", wantField + " at the end"},
		{"an unknown field", jobsPath, "names eq a", wantField + ` instead of "names"`},
		{"a field in quotes", jobsPath, "'state' eq enabled", wantField + ` instead of "state"`},
		{"a field of letters that only look alike", jobsPath, "ſtate eq enabled", wantField + ` instead of "ſtate"`},
		{"status among jobs", jobsPath, "status eq Failed", wantField + ` instead of "status"`},
		{"state in a history", historyPath, "state eq enabled", `status, startTime, endTime or lateness instead of "state"`},
		{"below properties alone", jobsPath, "properties/ eq enabled", wantField + ` instead of "properties/"`},
		{"no operator", jobsPath, "state", "eq at the end"},
		{"another operator", jobsPath, "state ne enabled", `eq instead of "ne"`},
		{"an operator of times", jobsPath, "state ge enabled", `eq instead of "ge"`},
		{"no value", jobsPath, "state eq", wantState + " at the end"},
		{"an empty value", jobsPath, "state eq ''", wantState + ` instead of ""`},
		{"an unknown state", jobsPath, "state eq sleepy", wantState + ` instead of "sleepy"`},
		{"an unknown status", historyPath, "status eq lost", wantStatus + ` instead of "lost"`},
		{"a value that does not end", jobsPath, "state eq 'enabled", `a second ' after "enabled"`},
		{"a value that is a quote", jobsPath, `state eq "`, `a second " after ""`},
		{"two states", jobsPath, "state eq enabled and state eq disabled", "one state, not both enabled and disabled"},
		{"or", jobsPath, "state eq enabled or state eq disabled", `and, or the end instead of "or"`},
		{"nothing after and", jobsPath, "state eq enabled and", wantField + " at the end"},
		{"two terms without and", jobsPath, "state eq enabled startTime ge 2016-01-01", `and, or the end instead of "startTime"`},
		{"an open parenthesis", jobsPath, "(state eq enabled", "and, or ) at the end"},
		{"a stray parenthesis", jobsPath, "state eq enabled)", `and, or the end instead of ")"`},
		{"empty parentheses", jobsPath, "()", wantField + ` instead of ")"`},
		{"no comparison of times", jobsPath, "startTime ne 2016-01-01", wantCompare + ` instead of "ne"`},
		{"no time", historyPath, "endTime ge", wantTime + " at the end"},
		{"what is no time", historyPath, "endTime ge yesterday", wantTime + ` instead of "yesterday"`},
		{"a day that is none", historyPath, "endTime ge 2016-02-30", wantTime + ` instead of "2016-02-30"`},
		{"a time in words of OData without a value", historyPath, "endTime ge datetime", wantTime + ` instead of "datetime"`},
		{"a time before all", historyPath, "endTime le 0000-12-31T23:59:59.9999999Z", wantTime + ` instead of "0000-12-31T23:59:59.9999999Z"`},
		{"another operator of names", jobsPath, "name ge 'a'", `eq, or startswith(name,'...') instead of "ge"`},
		{"an empty name", jobsPath, "name eq ''", `the name of a job, in quotes instead of ""`},
		{"no name", jobsPath, "startswith(name,)", `the beginning of the name of a job, in quotes instead of ")"`},
		{"two names", jobsPath, "name eq 'a' and name eq 'b'", "one name, not both a and b"},
		{"two beginnings", jobsPath, "startswith(name,'a') and startswith(name,'b')", "one beginning of the name, not both a and b"},
		{"the beginning of something else", jobsPath, "startswith(state,'a')", `startswith(name,'...') instead of "state"`},
		{"a beginning that does not end", jobsPath, "startswith(name,'a'", ") at the end"},
		{"a name within the history of a job", historyPath, "startswith(name,'a')", `status, startTime, endTime or lateness instead of "startswith"`},
		{"another operator of durations", historyPath, "lateness ne PT1M", wantCompare + ` instead of "ne"`},
		{"what is no duration", historyPath, "lateness gt 60", `a duration such as PT30S instead of "60"`},
		{"a time and something", historyPath, "endTime ge 2016-01-01T00:00:00 CET", `and, or the end instead of "CET"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, got := filtered(tt.path, tt.filter)
			require.Equal(t, http.StatusBadRequest, got.status, got.body)
			var body struct {
				Error struct {
					Code    string
					Details []struct{ Target, Message string }
				}
			}
			require.NoError(t, json.Unmarshal([]byte(got.body), &body))
			require.Equal(t, "BadRequest", body.Error.Code)
			require.Len(t, body.Error.Details, 1)
			require.Equal(t, "$filter", body.Error.Details[0].Target)
			example := "state eq enabled and startTime ge 2026-01-31T08:30:00Z"
			if tt.path == historyPath {
				example = "status eq Failed and startTime ge 2026-01-31T08:30:00Z"
			}
			_, message, _ := strings.Cut(body.Error.Details[0].Message, `" is not valid; allowed: `)
			require.Equal(t, tt.want+", as in "+example, message)
			_, taken := filtered(tt.path, example)
			require.Equal(t, http.StatusOK, taken.status, "the example is refused")
		})
	}
}

func TestLongFiltersAreRefusedBriefly(t *testing.T) {
	t.Parallel()
	for _, filter := range []string{
		strings.Repeat("(", 100_000), "state eq " + strings.Repeat("x", 100_000), strings.Repeat("'x' ", 50_000), "'" + strings.Repeat("x", 100_000),
	} {
		_, got := filtered(jobsPath, filter)
		require.Equal(t, http.StatusBadRequest, got.status)
		require.Less(t, len(got.body), 1000)
	}
}

func FuzzFilter(f *testing.F) {
	for _, seed := range []string{
		"", "state eq Enabled", "(startTime ge 2016-01-01 and endTime lt datetime'2016-01-02T00:00:00Z')", `properties/state eq "x"`,
		"startTime eq 2016-01-01T00:00:00 01:00 and startTime le '0001-01-01'", "state eq 'enabled", "state eq enabled)", "((state eq enabled)",
	} {
		f.Add(seed)
	}
	scheduler, asked := paged()
	h := api.New(scheduler, api.Options{}) // made once, because it takes longer than a request
	filtered := func(text string) (listing.Filter, answer) {
		*asked = listing.Page{}
		got := send(h, http.MethodGet, jobsPath+"?"+url.Values{"$filter": {text}}.Encode(), "")
		return asked.Filter, got
	}
	f.Fuzz(func(t *testing.T, text string) {
		filter, got := filtered(text)
		if got.status != http.StatusOK {
			require.Equal(t, http.StatusBadRequest, got.status, got.body)
			return
		}
		require.NotEqual(t, listing.Filter{}, filter, "what is asked for is not done")
		require.True(t, slices.Contains([]job.State{"", job.StateEnabled, job.StateDisabled, job.StateCompleted, job.StateFaulted}, filter.State))
		require.Empty(t, filter.Status)
		for _, same := range []string{"(" + text + ")", text + " and " + text, "(" + text + ")and(" + text + ")"} {
			again, got := filtered(same)
			require.Equal(t, http.StatusOK, got.status, got.body)
			require.Equal(t, filter, again, same)
		}
	})
}
