package route

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"almanac/api/odata"
	"almanac/internal/fields"
	"almanac/job"
)

// Takes is what a request to a route may have. The zero value takes nothing.
type Takes struct {
	Query       []string // parameters beside api-version, which every route takes
	Body        bool
	Conditional bool // If-Match and If-None-Match hold
	Repeatable  bool // Repeatability names the request
}

// Repeatability is the header that names a request, so that it can be repeated: that of Azure's newer services.
const Repeatability = "Repeatability-Request-ID"

// repeatability is its name as package http has it.
var repeatability = http.CanonicalHeaderKey(Repeatability)

// Refuse refuses a request with anything else: an unknown query parameter, a condition, a body. A caller who sends one
// expects it to have an effect.
func (t Takes) Refuse(c *gin.Context) error {
	if err := t.refuseParameters(c.Request.URL.RawQuery); err != nil {
		return err
	}
	if err := t.refuseConditions(c.Request.Header); err != nil {
		return err
	}
	return t.refuseBody(c)
}

func (t Takes) refuseParameters(query string) error {
	if _, err := odata.ParseQuery(query); err != nil {
		return err
	}
	sent, _ := url.ParseQuery(query)
	known := append([]string{"api-version"}, t.Query...)
	var bad fields.Errors
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		if !slices.ContainsFunc(known, func(k string) bool { return fields.SameName(k, name) }) {
			bad.Add(unknownParameter(name, known))
		}
	}
	return BadRequest("The query is not valid", &bad)
}

// unknownParameter returns the error for a parameter that is not known. It names the nearest of those that are.
func unknownParameter(name string, known []string) *job.FieldError {
	bad := &job.FieldError{Path: fields.Shorten(name), Code: fields.UnknownParameter, Allowed: fields.OneOf(known)}
	switch near := nearestParameter(name, known); {
	case name == "":
		bad.Path = "?="
		bad.Hint = `a parameter without a name is what a shell makes of "?$filter=…": put the URL into single quotes`
	case near != "":
		bad.Allowed, bad.Hint = "", `did you mean "`+near+`"?`
	}
	return bad
}

// nearestParameter returns the known parameter that is most like the name; "" for none. One that is the beginning of
// the other counts, too.
func nearestParameter(name string, known []string) string {
	if near := fields.Nearest(name, known); near != "" {
		return near
	}
	plain := func(name string) string { return strings.TrimPrefix(fields.Normalize(name), "$") }
	for _, k := range known {
		short, long := plain(k), plain(name)
		begins := strings.HasPrefix(long, short) || strings.HasPrefix(short, long)
		if begins && len(short) > 2 && len(long) > 2 {
			return k
		}
	}
	return ""
}

// isCondition reports whether by a header a request depends on something, or asks to be treated otherwise, such as not
// to be done twice. That are those of RFC 9110, section 13.1, If of RFC 4918, section 10.4, and the like, whose names
// begin so. Other headers are not looked at: proxies and clients add some of their own.
func isCondition(name string) bool {
	return name == "If" || strings.HasPrefix(name, "If-") || name == "Prefer" || name == repeatability
}

func (t Takes) refuseConditions(h http.Header) error {
	var bad fields.Errors
	for _, name := range slices.Sorted(maps.Keys(h)) {
		takes := t.Conditional && (name == "If-Match" || name == "If-None-Match") || t.Repeatable && name == repeatability
		if !isCondition(name) || takes {
			continue
		}
		if name == repeatability {
			name = Repeatability
		}
		bad.Add(&job.FieldError{Path: name, Code: fields.UnsupportedHeader, Hint: "leave it out"})
	}
	return BadRequest("The headers are not valid", &bad)
}

// refuseBody refuses a body if the route takes none. One that says nothing, such as {} or null, is none.
func (t Takes) refuseBody(c *gin.Context) error {
	if t.Body || c.Request.Body == nil || c.Request.ContentLength == 0 {
		return nil
	}
	sent, err := ReadBody(c)
	if err != nil && job.KindOf(err) != job.KindTooLarge {
		return err
	}
	text := strings.TrimSpace(string(sent))
	tooLarge := err != nil
	tree, err := fields.Parse(sent)
	if !tooLarge && (text == "" || text == "null" || err == nil && tree.Kind == fields.Object && len(tree.Entries) == 0) {
		return nil
	}
	bad := fields.Errors{List: []*job.FieldError{{Path: "body", Code: fields.Forbidden, Hint: "this request takes none"}}}
	if err == nil && tree.Kind == fields.Object {
		bad = fields.Errors{}
		for _, m := range tree.Entries {
			bad.Add(t.inQuery(m.Name))
		}
	}
	return BadRequest("The body is not valid", &bad)
}

// inQuery returns the error for a member of a body that the route does not take. It names the nearest query parameter.
func (t Takes) inQuery(name string) *job.FieldError {
	bad := &job.FieldError{Path: fields.Shorten(name), Code: fields.Forbidden, Hint: "this request takes no body"}
	if near := nearestParameter(name, t.Query); near != "" {
		bad.Hint += "; did you mean the query parameter " + near + "?"
	}
	return bad
}

// BadRequest returns the error of a request with bad parts; nil if there are none.
func BadRequest(message string, bad *fields.Errors) error {
	if len(bad.List) == 0 {
		return nil
	}
	return &job.Error{
		Kind: job.KindInvalid, Code: "BadRequest", Message: message, Fields: bad.List, Unlisted: bad.Unlisted,
	}
}

// ReadBody reads a body of any content type, up to the limit of the server. A Content-Encoding other than
// identity is an error.
func ReadBody(c *gin.Context) ([]byte, error) {
	encoding := strings.Join(c.Request.Header.Values("Content-Encoding"), ", ")
	if encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, &job.Error{
			Kind: job.KindInvalid, Code: "BadRequest",
			Message: fmt.Sprintf("The body has the Content-Encoding %.40q; send it without one.", encoding),
		}
	}
	body, err := c.GetRawData()
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, &job.Error{
			Kind: job.KindTooLarge, Code: "RequestEntityTooLarge",
			Message: fmt.Sprintf("The body is larger than %d bytes, which is the limit.", tooLarge.Limit),
		}
	}
	if err != nil {
		return nil, &job.Error{
			Kind: job.KindInvalid, Code: "BadRequest", Message: "The body could not be read to its end.", Err: err,
		}
	}
	return body, nil
}
