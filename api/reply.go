package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"almanac/access"
	"almanac/api/answer"
	"almanac/api/resource"
)

// replyEmpty answers 200 without a body, or returns err.
func replyEmpty(c *gin.Context, err error) error {
	if err == nil {
		c.Status(http.StatusOK)
	}
	return err
}

// replyOrFail answers with a resource in the given shape, or returns err.
func replyOrFail[T, R any](c *gin.Context, status int, shape func(T) R, resource T, err error) error {
	if err != nil {
		return err
	}
	return answer.JSON(c, status, shape(resource))
}

// putStatus returns the status of a PUT: 201 or 200.
func putStatus(created bool) int {
	if created {
		return http.StatusCreated
	}
	return http.StatusOK
}

// shown returns the forms of resources as the caller may see them.
func (s *server) shown(c *gin.Context) resource.Shown {
	if !s.HideResponses {
		return resource.Shown{}
	}
	who := access.PrincipalOf(c.Request.Context())
	if who == nil {
		return resource.Shown{Hidden: func(access.Scope) bool { return true }}
	}
	var policy *access.Policy
	if s.Access.Policy != nil {
		policy = s.Access.Policy()
	}
	view := policy.For(who)
	return resource.Shown{Hidden: func(of access.Scope) bool { return !view.Allows(access.ReadResponses, of) }}
}
