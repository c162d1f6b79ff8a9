package base

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/exit"
)

// explained returns an error with its status and what helps.
func explained(s *Session, err error) error {
	if err == nil {
		return nil
	}
	code := exit.CodeOf(err)
	if own, ok := errors.AsType[*exit.Error](err); ok && own.Err == nil {
		return own
	}
	return exit.With(code, errors.New(Describe(s.URL, err)))
}

// Describe returns what is wrong, in the words of the API at a URL where it answered, and what helps.
func Describe(at string, err error) string {
	if answered, ok := errors.AsType[*client.Error](err); ok {
		return describeAnswer(err.Error(), at, answered)
	}
	if errors.Is(err, context.Canceled) {
		return "interrupted"
	}
	if unreachable, ok := errors.AsType[*url.Error](err); ok {
		if own, ok := errors.AsType[*exit.Error](unreachable.Err); ok { // nothing was sent
			return own.Error()
		}
		help := ""
		if at == DefaultURL {
			help = "\n\"almanac dev\" runs one there; --url, $ALMANAC_URL or \"almanac context add\" say where another is"
		}
		return fmt.Sprintf("the API at %s cannot be reached: %v%s", at, unreachable.Err, help)
	}
	return err.Error()
}

func describeAnswer(text, at string, e *client.Error) string {
	var b strings.Builder
	b.WriteString(text)
	for _, d := range e.Details {
		if !strings.Contains(text, d.Message) {
			b.WriteString("\n  " + d.Message)
		}
	}
	switch {
	case e.Code == "" && e.Status != 0:
		fmt.Fprintf(&b, "\nIs %s the URL of Almanac's API?", at)
	case e.Status == http.StatusUnauthorized:
		b.WriteString("\n\"almanac login\", --token-file, $ALMANAC_TOKEN or a context say who calls")
	case e.Status >= http.StatusInternalServerError && e.RequestID != "":
		b.WriteString("\nThe log of the API has more at the request " + e.RequestID)
	}
	return b.String()
}
