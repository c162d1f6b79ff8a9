package odata

import (
	"fmt"
	"strings"
	"unicode"

	"almanac/internal/fields"
	"almanac/job"
	"almanac/job/listing"
)

// sorts are what $orderby may name.
var sorts = []listing.SummarySort{
	listing.SortName, listing.SortNext, listing.SortLateness, listing.SortState, listing.SortHost,
}

// maxSearch is the length of the longest search, in bytes.
const maxSearch = 200

// ParseSummaryQuery parses the query of a list of summaries: that of a list, with search and $orderby. $top is the size
// of each page.
func ParseSummaryQuery(raw string) (ListQuery, listing.SummaryQuery, error) {
	q, err := ParseListQuery(raw, SummaryFilter)
	if err != nil {
		return q, listing.SummaryQuery{}, err
	}
	q.single = false
	s := listing.SummaryQuery{Page: q.Page}
	var bad fields.Errors
	if given := q.values["search"]; len(given) > 0 {
		s.Search = strings.Fields(job.NormalizeName(given[0]))
		if len(given) > 1 || len(given[0]) > maxSearch || len(s.Search) == 0 || strings.ContainsFunc(given[0], unicode.IsControl) {
			bad.Add(&job.FieldError{
				Path: "search", Code: fields.Invalid, Value: strings.Join(given, ","),
				Allowed: fmt.Sprintf("one text of 1 to %d bytes without control characters", maxSearch),
			})
		}
	}
	if given := q.values["$orderby"]; len(given) > 0 {
		if !order(&s, given[0]) || len(given) > 1 {
			bad.Add(&job.FieldError{
				Path: "$orderby", Code: fields.Invalid, Value: strings.Join(given, ","), Allowed: allowedOrders(),
			})
		}
	}
	if len(bad.List) > 0 {
		return q, s, &job.Error{
			Kind: job.KindInvalid, Code: "BadRequest", Message: "The query is not valid", Fields: bad.List,
		}
	}
	return q, s, nil
}

// order parses a member and, after it, asc or desc.
func order(s *listing.SummaryQuery, text string) bool {
	words := strings.Fields(text)
	if len(words) == 0 || len(words) > 2 {
		return false
	}
	if len(words) == 2 {
		s.Descending = strings.EqualFold(words[1], "desc")
		if !s.Descending && !strings.EqualFold(words[1], "asc") {
			return false
		}
	}
	for _, by := range sorts {
		if strings.EqualFold(words[0], string(by)) {
			s.Sort = by
			return true
		}
	}
	return false
}

func allowedOrders() string {
	var names []string
	for _, by := range sorts {
		names = append(names, string(by))
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last] + ", and desc after it for the other direction"
}
