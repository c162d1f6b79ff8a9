package odata_test

import (
	"fmt"

	"almanac/api/odata"
)

func ExampleParseListQuery() {
	q, err := odata.ParseListQuery("$top=10&$filter=state eq enabled and startTime ge 2026-01-31", odata.JobFilter)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(q.Page.Top, q.Page.Filter.State, q.Page.Filter.Start.From)

	// Four entries were found before many jobs did not answer. The next page has the other six.
	fmt.Println(*q.NextLink("http://127.0.0.1:8080/jobCollections/default/jobs", "17", 4))
	// Output:
	// 10 enabled 2026-01-31 00:00:00 +0000 UTC
	// http://127.0.0.1:8080/jobCollections/default/jobs?$filter=state+eq+enabled+and+startTime+ge+2026-01-31&$skiptoken=17&$top=6
}
