// Package odata parses the query of a list ($top, $skip, $skiptoken and $filter, by the names of OData) and
// writes the link to its next page.
package odata

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"almanac/internal/fields"
	"almanac/job"
	"almanac/job/listing"
)

// ParseQuery parses a query. Parameter names are case-insensitive, as in Azure, and are returned in lower
// case.
func ParseQuery(raw string) (url.Values, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, &job.Error{Kind: job.KindInvalid, Code: "BadRequest", Message: "The query is not valid: " + err.Error(), Err: err}
	}
	folded := url.Values{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		folded[job.NormalizeName(name)] = append(folded[job.NormalizeName(name)], values[name]...)
	}
	return folded, nil
}

// A ListQuery is the query of a list.
type ListQuery struct {
	Page   listing.Page
	values url.Values
	single bool // $top was given, so nothing follows this page
}

// maxTop is the maximum of $top, and its default.
const maxTop = 100

// ParseListQuery parses $top, $skip, $skiptoken and $filter. A list without filters has a nil filter. The
// error lists every bad parameter.
func ParseListQuery(raw string, filter *Filter) (ListQuery, error) {
	values, err := ParseQuery(raw)
	if err != nil {
		return ListQuery{}, err
	}
	q := ListQuery{values: values, Page: listing.Page{Top: maxTop}, single: values.Has("$top")}
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
			bad = append(bad, &job.FieldError{Path: name, Code: fields.Invalid, Value: strings.Join(given, ","), Allowed: err.Error()})
		}
	}
	read("$top", integer(&q.Page.Top, 1, maxTop))
	read("$skip", integer(&q.Page.Skip, 0, math.MaxInt32))
	read("$skiptoken", func(text string) error {
		switch q.Page.After = text; {
		case text == "":
			return errors.New("the value from the nextLink of the previous page")
		case values.Has("$skip"):
			return errors.New("no $skip beside it: the page begins where the previous one ended")
		}
		return nil
	})
	read("$filter", func(text string) (err error) {
		q.Page.Filter, err = filter.parse(text)
		return err
	})
	if len(bad) > 0 {
		return ListQuery{}, &job.Error{Kind: job.KindInvalid, Code: "BadRequest", Message: "The query is not valid", Fields: bad}
	}
	return q, nil
}

// integer returns a function that parses an integer from least to most into n.
func integer(n *int, least, most int) func(text string) error {
	return func(text string) error {
		parsed, err := strconv.Atoi(text)
		if err != nil || parsed < least || parsed > most || text[0] == '+' || text[0] == '-' {
			return fmt.Errorf("an integer from %d to %d", least, most)
		}
		*n = parsed
		return nil
	}
}

// NextLink returns the URL of the next page of the list at that URL. next is the continuation of this page,
// entries its length. NextLink returns nil if no page follows, or if this page has as many entries as $top
// asks for.
func (q ListQuery) NextLink(list, next string, entries int) *string {
	if next == "" || q.single && entries >= q.Page.Top {
		return nil
	}
	if q.single {
		q.values.Set("$top", strconv.Itoa(q.Page.Top-entries))
	}
	q.values.Del("$skip") // this page has applied it
	q.values.Set("$skiptoken", next)
	return new(list + "?" + strings.ReplaceAll(q.values.Encode(), "%24", "$")) // as the service writes its parameters
}
