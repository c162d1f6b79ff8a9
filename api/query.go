package api

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"almanac/job"
)

// supportedVersions are the versions of the API that Azure Scheduler had; all
// are answered alike.
var supportedVersions = []string{"2016-03-01", "2016-01-01", "2014-08-01-preview"}

// requireVersion refuses requests without an api-version that is supported.
func requireVersion(c *gin.Context) error { return version(c, true) }

// checkVersion refuses requests with an api-version that is not supported.
func checkVersion(c *gin.Context) error { return version(c, false) }

func version(c *gin.Context, required bool) error {
	values, err := parseQuery(c.Request.URL.RawQuery)
	if err != nil {
		return err
	}
	supported := strings.Join(supportedVersions, ", ")
	given := values["api-version"]
	wanted := strings.Join(given, ",")
	switch {
	case wanted == "" && required:
		return &job.Error{
			Kind: job.KindInvalid, Code: "MissingApiVersionParameter",
			Message: "The api-version query parameter (?api-version=) is required for all requests. The supported versions are '" + supported + "'.",
		}
	case len(given) > 0 && !slices.ContainsFunc(supportedVersions, func(v string) bool { return strings.EqualFold(v, wanted) }):
		return &job.Error{
			Kind: job.KindInvalid, Code: "InvalidApiVersionParameter",
			Message: fmt.Sprintf("The api-version '%.40s' is invalid. The supported versions are '%s'.", wanted, supported),
		}
	}
	return nil
}

// parseQuery reads a query. Names of parameters compare without case, as in
// Azure, and are returned in lower case.
func parseQuery(raw string) (url.Values, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, &job.Error{Kind: job.KindInvalid, Code: codeBadRequest, Message: "The query is not valid: " + err.Error(), Err: err}
	}
	folded := url.Values{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		folded[job.Fold(name)] = append(folded[job.Fold(name)], values[name]...)
	}
	return folded, nil
}

// A filter is what $filter may ask of a list: that a field has one of these values.
type filter struct {
	field  string
	values []string
}

var (
	jobFilter = filter{"state", []string{
		string(job.StateEnabled), string(job.StateDisabled), string(job.StateCompleted), string(job.StateFaulted),
	}}
	historyFilter = filter{"status", []string{string(job.OutcomeCompleted), string(job.OutcomeFailed)}}
)

// A listQuery is the part of a list that is asked for.
type listQuery struct {
	values   url.Values
	skip     int
	top      int
	explicit bool   // top was asked for, rather than being the default
	filter   string // the value that the filter's field must have; empty for any
}

// maxTop is the most entries of a page.
const maxTop = 100

// parseListQuery reads $skip, $top and $filter and reports all of them that
// cannot be used.
func parseListQuery(raw string, f filter) (listQuery, error) {
	values, err := parseQuery(raw)
	if err != nil {
		return listQuery{}, err
	}
	q := listQuery{values: values, top: maxTop}
	var bad []*job.FieldError
	read := func(name, want string, parse func(text string) bool) {
		given := values[name]
		if len(given) > 1 || len(given) == 1 && !parse(given[0]) {
			bad = append(bad, &job.FieldError{Path: name, Value: strings.Join(given, ","), Want: want})
		}
	}
	read("$skip", fmt.Sprintf("an integer from 0 to %d", math.MaxInt32), func(text string) (ok bool) {
		q.skip, ok = parseInt(text, 0, math.MaxInt32)
		return ok
	})
	read("$top", fmt.Sprintf("an integer from 1 to %d", maxTop), func(text string) (ok bool) {
		q.top, ok = parseInt(text, 1, maxTop)
		q.explicit = true
		return ok
	})
	read("$filter", f.want(), func(text string) (ok bool) {
		q.filter, ok = f.parse(text)
		return ok
	})
	if len(bad) > 0 {
		return listQuery{}, &job.Error{Kind: job.KindInvalid, Code: codeBadRequest, Message: "The query is not valid", Fields: bad}
	}
	return q, nil
}

func parseInt(text string, least, most int) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= least && n <= most
}

// parse reads "field eq value", in any case and with the value in quotes or
// not, and returns the value as it is spelled here.
func (f filter) parse(text string) (string, bool) {
	terms := strings.Fields(text)
	if len(terms) != 3 || !strings.EqualFold(terms[0], f.field) || !strings.EqualFold(terms[1], "eq") {
		return "", false
	}
	wanted := unquote(terms[2])
	i := slices.IndexFunc(f.values, func(v string) bool { return strings.EqualFold(v, wanted) })
	if i < 0 {
		return "", false
	}
	return f.values[i], true
}

// unquote removes single or double quotes from both ends.
func unquote(text string) string {
	if last := len(text) - 1; last > 0 && (text[0] == '\'' || text[0] == '"') && text[last] == text[0] {
		return text[1:last]
	}
	return text
}

// want says what the filter takes, such as "state eq enabled|disabled".
func (f filter) want() string { return f.field + " eq " + strings.Join(f.values, "|") }

// nextLink returns the absolute URL of the page after the one that q asked
// for, or nil: where there is none, and where $top asked for one page only.
func (s *server) nextLink(r *http.Request, q listQuery, more bool) *string {
	if !more || q.explicit {
		return nil
	}
	q.values.Set("$skip", strconv.Itoa(q.skip+q.top))
	base := url.URL{Scheme: "http", Host: r.Host}
	if r.TLS != nil {
		base.Scheme = "https"
	}
	if s.publicURL != nil {
		base = *s.publicURL
	}
	query := strings.ReplaceAll(q.values.Encode(), "%24", "$") // as the parameters are written
	return new(strings.TrimSuffix(base.String(), "/") + r.URL.EscapedPath() + "?" + query)
}
