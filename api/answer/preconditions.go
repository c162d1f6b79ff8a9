package answer

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"almanac/api/route"
	"almanac/internal/fields"
	"almanac/job"
)

// An entity tag of a job or a collection is strong: it has the generation of what users write, and a hash of the
// whole answer, which also has what changes by itself, such as the status.
//
//	"64b1f0c1a2b3c-9f86d081884c7d65"
//
// A read compares whole tags. A change compares generations: it replaces what users write, so an execution that has
// ended since is no reason to refuse it.
func entityTag(generation int, body []byte) string {
	sum := sha256.Sum256(body)
	return fmt.Sprintf(`"%x-%x"`, generation, sum[:8])
}

// generationOf returns the part of an entity tag that a change compares.
func generationOf(tag string) string {
	generation, _, _ := strings.Cut(tag, "-")
	return generation
}

const anyTag = "*"

// Preconditions are the headers If-Match and If-None-Match (RFC 9110, section 13.1): entity tags, or anyTag; nil for
// a header that was not sent.
type Preconditions struct{ match, noneMatch []string }

// tagPattern matches an entity tag at the beginning of a list, and what separates it from the next.
var tagPattern = regexp.MustCompile(`^[ \t,]*((?:W/)?"[\x21\x23-\x7e\x80-\xff]*")[ \t]*(?:,[ \t,]*|$)`)

// PreconditionsOf returns the preconditions in the headers of a request.
func PreconditionsOf(h http.Header) (p Preconditions, err error) {
	var bad fields.Errors
	read := func(name string) []string {
		values := h.Values(name)
		if len(values) == 0 {
			return nil
		}
		text := strings.Join(values, ",")
		if strings.TrimSpace(text) == anyTag {
			return []string{anyTag}
		}
		var tags []string
		for rest := text; rest != "" || tags == nil; {
			found := tagPattern.FindStringSubmatch(rest)
			if found == nil {
				bad.Add(&job.FieldError{
					Path: name, Code: fields.Invalid, Value: text,
					Allowed: `*, or the values of ETag headers with their quotes, such as "1a-2b"`,
				})
				return nil
			}
			tags, rest = append(tags, found[1]), rest[len(found[0]):]
		}
		return tags
	}
	p = Preconditions{read("If-Match"), read("If-None-Match")}
	return p, route.BadRequest("The headers are not valid", &bad)
}

// Given reports whether there are any.
func (p Preconditions) Given() bool { return p.match != nil || p.noneMatch != nil }

// AllowJob is allowChange for a job; nil for one that does not exist.
func (p Preconditions) AllowJob(current *job.Job) error {
	if current == nil {
		return p.allowChange(false, 0)
	}
	return p.allowChange(true, current.Generation)
}

// AllowCollection is allowChange for a collection; nil for one that does not exist.
func (p Preconditions) AllowCollection(current *job.Collection) error {
	if current == nil {
		return p.allowChange(false, 0)
	}
	return p.allowChange(true, current.Generation)
}

// AllowCalendar is allowChange for a calendar; nil for one that does not exist.
func (p Preconditions) AllowCalendar(current *job.KeptCalendar) error {
	if current == nil {
		return p.allowChange(false, 0)
	}
	return p.allowChange(true, current.Generation)
}

func failed(format string, args ...any) error {
	return &job.Error{Kind: job.KindPrecondition, Code: "PreconditionFailed", Message: fmt.Sprintf(format, args...)}
}

// allowChange returns an error unless a resource of that generation may be changed; it does not matter if it does not
// exist. It must be asked where the change is decided, for the generation that is then changed.
func (p Preconditions) allowChange(exists bool, generation int) error {
	ours := generationOf(entityTag(generation, nil))
	names := func(tags []string, strip string) bool {
		return exists && slices.ContainsFunc(
			tags, func(tag string) bool { return tag == anyTag || generationOf(strings.TrimPrefix(tag, strip)) == ours },
		)
	}
	switch {
	case p.match != nil && !exists:
		return failed("If-Match does not hold: the resource does not exist. Nothing was changed.")
	case p.match != nil && !names(p.match, ""):
		return failed("If-Match does not hold: the resource was changed since it had that entity tag. " +
			"Nothing was changed: read it, and try again with its ETag.")
	case names(p.noneMatch, "W/"):
		return failed("If-None-Match does not hold: the resource exists. Nothing was changed.")
	}
	return nil
}

// Tagged answers with a resource of that generation and its entity tag, if the preconditions of a read hold, and
// else with 304 or 412.
func Tagged(c *gin.Context, generation int, shape any) error {
	p, err := PreconditionsOf(c.Request.Header)
	if err != nil {
		return err
	}
	body, err := Encode(shape)
	if err != nil {
		return err
	}
	tag := entityTag(generation, body)
	names := func(tags []string, strip string) bool {
		return slices.ContainsFunc(
			tags, func(sent string) bool { return sent == anyTag || strings.TrimPrefix(sent, strip) == tag },
		)
	}
	if p.match != nil && !names(p.match, "") {
		return failed("If-Match does not hold: the resource was changed since it had that entity tag.")
	}
	c.Header("ETag", tag)
	if names(p.noneMatch, "W/") {
		c.Status(http.StatusNotModified)
		return nil
	}
	Body(c, http.StatusOK, body)
	return nil
}

// Changed answers a change with the resource that it made, and its entity tag.
func Changed(c *gin.Context, status, generation int, shape any) error {
	body, err := Encode(shape)
	if err != nil {
		return err
	}
	c.Header("ETag", entityTag(generation, body))
	Body(c, status, body)
	return nil
}
