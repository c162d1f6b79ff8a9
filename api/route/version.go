package route

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"almanac/api/odata"
	"almanac/job"
)

// Versions are the api-versions of Azure Scheduler. The answers do not depend on them.
var Versions = []string{"2016-03-01", "2016-01-01", "2014-08-01-preview"}

// CheckVersion returns a handler that refuses requests with an api-version that is not supported, or without
// one if it is required.
func CheckVersion(required bool) func(c *gin.Context) error {
	return func(c *gin.Context) error {
		values, err := odata.ParseQuery(c.Request.URL.RawQuery)
		if err != nil {
			return err
		}
		supported := strings.Join(Versions, ", ")
		given := values["api-version"]
		text := strings.Join(given, ",")
		switch {
		case text == "" && required:
			return &job.Error{
				Kind: job.KindInvalid, Code: "MissingApiVersionParameter",
				Message: "The api-version query parameter (?api-version=) is required for all requests. " +
					"The supported versions are '" + supported + "'.",
			}
		case len(given) > 0 && !slices.ContainsFunc(Versions, func(v string) bool { return strings.EqualFold(v, text) }):
			return &job.Error{
				Kind: job.KindInvalid, Code: "InvalidApiVersionParameter",
				Message: fmt.Sprintf("The api-version '%.40s' is invalid. The supported versions are '%s'.", text, supported),
			}
		}
		return nil
	}
}
