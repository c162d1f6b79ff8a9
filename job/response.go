package job

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// Beginnings of the parts of a message about a response.
const (
	responseHost    = "Http Action - Response from host '"
	responseHeaders = "' Response Headers: "
	responseBody    = " Body: "
)

// ResponseMessage describes the response to a web request in Azure Scheduler's format, which its clients parse: the host that was
// asked, the name of the status, and what the host sent.
func ResponseMessage(host, status, headers, body string) string {
	return responseHost + host + "': '" + status + responseHeaders + headers + responseBody + body
}

// AnsweredReason says in one sentence, and in one line, why a web request failed that was answered: the status and, if there is a body, its
// beginning. The headers are left out, since they come before the body and say less.
func AnsweredReason(status int, body string) string {
	reason := fmt.Sprintf("%d %s", status, statusName(status))
	if body = strings.Join(strings.Fields(body), " "); body != "" {
		reason += ": " + body
	}
	return reason
}

func statusName(status int) string {
	return cmp.Or(http.StatusText(status), "(a status without a name)")
}

// hiddenResponse stands for what a host sent, where it is hidden.
const hiddenResponse = "hidden"

// WithoutResponse returns a text without the headers and the body of the response that a message or [AnsweredReason] in it describes, and
// all after them. It says that they are hidden. The text may begin with more than that.
func WithoutResponse(text string) string {
	end, message := answeredReason(text), strings.Index(text, responseHost)
	if end >= 0 && (message < 0 || end < message) {
		return text[:end] + hiddenResponse + " (a contributor may see it)"
	}
	if message < 0 {
		return text
	}
	sent := strings.Index(text[message:], responseHeaders)
	if sent < 0 {
		return text
	}
	return fmt.Sprintf("%s%s%s%s%s (a contributor may see them)", text[:message+sent], responseHeaders, hiddenResponse, responseBody, hiddenResponse)
}

// answered matches what may be the status of an [AnsweredReason] with a body.
var answered = regexp.MustCompile(`\b([0-9]{3}) ([A-Z(][A-Za-z'() -]*): `)

// answeredReason returns where the body begins in the first [AnsweredReason] of a text; -1 if there is none.
func answeredReason(text string) int {
	for _, at := range answered.FindAllStringSubmatchIndex(text, -1) {
		if status, err := strconv.Atoi(text[at[2]:at[3]]); err == nil && text[at[4]:at[5]] == statusName(status) {
			return at[1]
		}
	}
	return -1
}
