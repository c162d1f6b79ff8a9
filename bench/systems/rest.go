package systems

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// A REST calls one of Almanac's APIs.
type REST struct {
	url    string
	token  string // "": none is sent
	client *http.Client
}

func newREST(url string) *REST {
	return &REST{url: url, client: &http.Client{
		Timeout:   time.Minute,
		Transport: &http.Transport{MaxIdleConnsPerHost: 64}, // more than calls at the same time; and no proxy
	}}
}

// An Object is a JSON object.
type Object map[string]any

// A statusError is an answer other than 2xx.
type statusError struct {
	call string
	code int
	body string
}

func (e *statusError) Error() string { return fmt.Sprintf("%s: %d %.500s", e.call, e.code, e.body) }

// hasStatus reports whether an error is an answer with that status.
func hasStatus(err error, code int) bool {
	answer, ok := errors.AsType[*statusError](err)
	return ok && answer.code == code
}

// Call sends a request, with body as JSON unless that is nil, and decodes the answer unless that is
// nil. Any answer other than 2xx is an error.
func (r *REST) Call(ctx context.Context, method, path string, body Object, answer any) error {
	var sent bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&sent).Encode(body); err != nil {
			return err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, r.url+path, &sent)
	if err != nil {
		return err
	}
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return fmt.Errorf("%s %s: %w", method, path, err)
	case resp.StatusCode/100 != 2:
		return &statusError{method + " " + path, resp.StatusCode, string(text)}
	case answer != nil:
		return json.Unmarshal(text, answer)
	}
	return nil
}

// Path returns the path of the herd's collection.
func (h Herd) Path() string { return "/jobCollections/" + h.Name }

// JobPath returns the path of one of the herd's jobs.
func (h Herd) JobPath(number int) string { return h.Path() + "/jobs/" + h.ID(number) }
