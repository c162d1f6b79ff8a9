package api

import (
	"errors"
	"fmt"
	"maps"
	"math"
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

// A listQuery is the part of a list that is asked for.
type listQuery struct {
	values url.Values
	page   job.Page
	single bool // $top asks for this page only
}

// maxTop is the most entries of a page, and how many there are unless fewer
// are asked for.
const maxTop = 100

// parseListQuery reads $top, $skip, $skiptoken and $filter and reports all of
// them that cannot be used.
func parseListQuery(raw string, filter func(text string) (job.Filter, error)) (listQuery, error) {
	values, err := parseQuery(raw)
	if err != nil {
		return listQuery{}, err
	}
	q := listQuery{values: values, page: job.Page{Top: maxTop}, single: values.Has("$top")}
	var bad []*job.FieldError
	read := func(name string, parse func(text string) error) {
		given := values[name]
		var err error
		switch len(given) {
		case 0:
		case 1:
			err = parse(given[0])
		default:
			err = errors.New("one value")
		}
		if err != nil {
			bad = append(bad, &job.FieldError{Path: name, Value: strings.Join(given, ","), Want: err.Error()})
		}
	}
	read("$top", integer(&q.page.Top, 1, maxTop))
	read("$skip", integer(&q.page.Skip, 0, math.MaxInt32))
	read("$skiptoken", func(text string) error {
		switch q.page.After = text; {
		case text == "":
			return errors.New("what the nextLink of the page before holds")
		case values.Has("$skip"):
			return errors.New("it without $skip, since it says where the page starts")
		}
		return nil
	})
	read("$filter", func(text string) (err error) {
		q.page.Filter, err = filter(text)
		return err
	})
	if len(bad) > 0 {
		return listQuery{}, &job.Error{Kind: job.KindInvalid, Code: codeBadRequest, Message: "The query is not valid", Fields: bad}
	}
	return q, nil
}

// integer returns what reads an integer between two bounds, which are both
// good, into n.
func integer(n *int, least, most int) func(text string) error {
	return func(text string) error {
		parsed, err := strconv.Atoi(text)
		if err != nil || parsed < least || parsed > most {
			return fmt.Errorf("an integer from %d to %d", least, most)
		}
		*n = parsed
		return nil
	}
}
