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

// supportedVersions are the api-versions of Azure Scheduler. The answers do not depend on them.
var supportedVersions = []string{"2016-03-01", "2016-01-01", "2014-08-01-preview"}

// requireVersion refuses requests without a supported api-version.
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

// parseQuery parses a query. Parameter names are case-insensitive, as in Azure, and are returned in lower
// case.
func parseQuery(raw string) (url.Values, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, &job.Error{Kind: job.KindInvalid, Code: codeBadRequest, Message: "The query is not valid: " + err.Error(), Err: err}
	}
	folded := url.Values{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		folded[job.NormalizeName(name)] = append(folded[job.NormalizeName(name)], values[name]...)
	}
	return folded, nil
}

// A listQuery holds the parsed query parameters of a list.
type listQuery struct {
	values url.Values
	page   job.Page
	single bool // $top was given, so nothing follows this page
}

// maxTop is the maximum of $top, and its default.
const maxTop = 100

// parseListQuery parses $top, $skip, $skiptoken and $filter. The error lists every bad one.
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

// integer returns a function that parses an integer from least to most into n.
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
